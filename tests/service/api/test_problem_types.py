"""Every route declares exactly the problem types that it refuses requests with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import LocalServer, hosting

from belated import Bandit
from belated.policies import UCB, OptimisticPessimisticElimination
from belated.service.api import ROUTES
from belated.service.api.messages import MAX_BODY
from belated.service.api.routing import ANY_REQUEST, KEYED
from belated.service.core.spec import MOST_ARMS
from belated.service.storage.journal import open_journal

EXPERIMENT, DECISION = "/v1/experiments/{name}", "/v1/decisions/{id}"
SPEC = {"name": "new", "arms": ["red", "green"], "policy": {"name": "UCB"}}
ARMS = [str(number) for number in range(MOST_ARMS)]
BODIES: dict[str, dict[str, Any]] = {
    "malformed-json": {"content": b"{", "headers": {"Content-Type": "application/json"}},
    "too-large": {"content": b" " * (MAX_BODY + 1), "headers": {"Content-Type": "application/json"}},
    "not-json": {"content": b"{}", "headers": {"Content-Type": "text/plain"}},
    "invalid-body": {"json": {"unknown": 1}},
}
Case = tuple[str, str, str, dict[str, Any]]
"""A route, a problem type, and the path and the rest of a request that is refused with it."""


def history(**changes: Any) -> dict[str, Any]:
    """A bandit of two decisions, the first with feedback."""
    bandit = Bandit(["red", "green"], UCB(), seed=3)
    bandit.observe(bandit.choose().id, 1.0)
    bandit.choose()
    saved = bandit.to_dict()
    body = {key: saved[key] for key in ("arms", "seed", "decisions", "answers")}
    return {**body, "policy": {"name": "UCB", "confidence": 1.0}, **changes}


def spec_cases(route: str, path: str, body: dict[str, Any]) -> Iterator[Case]:
    yield route, "invalid-experiment", path, {"json": {**body, "arms": ["red", "red"]}}
    yield route, "unknown-policy", path, {"json": {**body, "policy": {"name": "nobody"}}}
    yield route, "unknown-parameter", path, {"json": {**body, "policy": {"name": "UCB", "hope": 1}}}
    yield route, "invalid-policy", path, {"json": {**body, "policy": {"name": "UCB", "confidence": -1}}}


def cases() -> Iterator[Case]:
    for route in ROUTES:
        name, path = f"{route.method} {route.path}", route.path.format(name="colours", id="pending")
        if route.request is not None:
            for kind, request in BODIES.items():
                yield name, kind, path, request
        if route.query is not None:
            yield name, "invalid-query", f"{path}?surprise=1", {}
        good = {"ArmRequest": {"arm": "x"}, "FeedbackRequest": {"reward": 1}}.get(
            getattr(route.request, "__name__", "")
        )
        body = {} if good is None else {"json": good}
        if "{name}" in route.path and not route.path.endswith("/history"):
            yield name, "unknown-experiment", route.path.format(name="nobody"), body
            yield name, "experiment-damaged", route.path.format(name="damaged"), body
        if "{id}" in route.path:
            yield name, "unknown-decision", route.path.format(id="nobody"), body
            yield name, "experiment-damaged", route.path.format(id="damaged-1"), body
            yield name, "ambiguous-id", route.path.format(id="shared"), body
            yield name, "unknown-experiment", f"{route.path.format(id='shared')}?experiment=nobody", body
    create = "POST /v1/experiments"
    yield from spec_cases(create, "/v1/experiments", SPEC)
    silent = {**SPEC, "silence": {"after": 1, "reward": 0}}
    for policy in ("OPSE", "Imputed-UCB"):
        yield create, "cannot-replace", "/v1/experiments", {"json": {**silent, "policy": {"name": policy}}}
    yield create, "experiment-exists", "/v1/experiments", {"json": {**SPEC, "name": "colours", "seed": 9}}
    yield create, "experiment-damaged", "/v1/experiments", {"json": {**SPEC, "name": "damaged"}}
    arms = f"POST {EXPERIMENT}/arms"
    yield arms, "arm-exists", "/v1/experiments/colours/arms", {"json": {"arm": "red"}}
    yield arms, "policy-is-closed", "/v1/experiments/closed/arms", {"json": {"arm": "blue"}}
    yield arms, "invalid-arms", "/v1/experiments/many/arms", {"json": {"arm": "blue"}}
    imported, path = f"POST {EXPERIMENT}/history", "/v1/experiments/moved/history"
    yield from spec_cases(imported, path, history())
    yield imported, "invalid-name", "/v1/experiments/-/history", {"json": history()}
    yield imported, "experiment-exists", "/v1/experiments/colours/history", {"json": history()}
    yield imported, "experiment-damaged", "/v1/experiments/damaged/history", {"json": history(seed=0)}
    yield imported, "experiment-stopped", "/v1/experiments/stopped/history", {"json": history()}
    yield imported, "history-differs", path, {"json": history(decisions=[1, 1])}
    yield imported, "history-out-of-order", path, {"json": history(answers=[[5, 0, 1.0]])}
    decide = f"POST {EXPERIMENT}/decisions"
    yield decide, "id-in-use", "/v1/experiments/colours/decisions", {"json": {"id": "pending", "unit": "another"}}
    yield decide, "experiment-stopped", "/v1/experiments/stopped/decisions", {"json": {}}
    feedback = f"POST {DECISION}/feedback"
    yield feedback, "conflicting-feedback", "/v1/decisions/observed/feedback", {"json": {"reward": 0}}
    yield feedback, "decision-cancelled", "/v1/decisions/cancelled/feedback", {"json": {"reward": 0}}
    yield feedback, "invalid-time", "/v1/decisions/pending/feedback", {"json": {"reward": 0, "observed_at": "now"}}
    yield f"POST {DECISION}/cancel", "decision-observed", "/v1/decisions/observed/cancel", {}
    yield f"POST {DECISION}/cancel", "cannot-take-back", "/v1/decisions/closed-1/cancel", {}
    yield f"GET {EXPERIMENT}/events", "cursor-ahead", "/v1/experiments/colours/events?cursor=999", {}


def prepare(http: httpx2.Client) -> None:
    for name, more in {
        "colours": {},
        "damaged": {},
        "closed": {"policy": {"name": "OPSE"}},
        "many": {"arms": ARMS},
        "stopped": {"seed": 3},
    }.items():
        assert http.post("/v1/experiments", json={**SPEC, "name": name, **more}).status_code == 201
    ids = {
        "colours": ["pending", "observed", "cancelled", "shared"],
        "damaged": ["damaged-1"],
        "closed": ["closed-1", "shared"],
    }
    for name, each in ids.items():
        for id in each:
            assert http.post(f"/v1/experiments/{name}/decisions", json={"id": id}).status_code == 201
    assert http.post("/v1/decisions/observed/feedback", json={"reward": 1}).status_code == 201
    assert http.post("/v1/decisions/cancelled/cancel").status_code == 201
    assert http.post("/v1/experiments/stopped/stop").status_code == 200


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A server with decisions and experiments in every state, one of them damaged."""
    monkeypatch.setattr(
        OptimisticPessimisticElimination, "supports_retraction", False
    )  # as a policy of a user's own may have it
    db = str(tmp_path / "bandits.db")
    with hosting(db) as first, first.client() as http:
        prepare(http)
    with closing(open_journal(db)) as journal, journal.database.transaction():
        number = journal.database.execute("SELECT id FROM belated_experiments WHERE name = 'damaged'")[0][0]
        journal.database.execute("DELETE FROM belated_snapshots")
        journal.database.execute("UPDATE belated_experiments SET spec = 'nonsense' WHERE id = ?", (number,))
    with hosting(db) as second:
        yield second


def test_every_declared_problem_type_can_be_met_and_no_other(server: LocalServer) -> None:
    met: dict[str, set[str]] = {f"{route.method} {route.path}": set() for route in ROUTES}
    wrong = []
    with server.client() as http:
        for route, kind, path, request in cases():
            answer = http.request(route.partition(" ")[0], path, **request)
            found = answer.json().get("type", "").rpartition(":")[2]
            if found == kind:
                met[route].add(kind)
            else:
                wrong.append((route, kind, found or answer.status_code))
    assert not wrong, "\n".join(map(str, wrong))
    anywhere = {each.name for each in (*ANY_REQUEST, *KEYED)} - {"too-large"}
    for route in ROUTES:
        declared = {each.kind for each in route.problem_types}
        assert met[f"{route.method} {route.path}"] == declared, f"{route.method} {route.path}"
        assert not declared & anywhere
