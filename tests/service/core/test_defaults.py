"""What an experiment has that its request leaves out: confidence, seed; and experiments of 0.1.0, which stored none."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from serving import LocalServer, hosting

from belated import Bandit, Client
from belated.policies import UCB
from belated.service.core.experiment import Experiment
from belated.service.core.export import import_parquet, write_parquet
from belated.service.core.spec import checked_spec, is_well_formed, read_spec
from belated.service.storage.journal import open_journal

ARMS = ["red", "green"]
OF_0_1_0 = '{"arms":["red","green"],"policy":{"delta":0.05,"name":"UCB"},"seed":0,"silence":null}'
"""The stored spec of an experiment that was created with {"policy": {"name": "UCB"}}."""


def creates(server: LocalServer, name: str, **asked: Any) -> tuple[int, Any]:
    return ask(server, "POST", "/v1/experiments", {"name": name, "arms": ARMS, **asked})


def ask(server: LocalServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    with server.client() as http:
        response = http.request(method, path, json=body)
    return response.status_code, response.json()


@pytest.fixture
def upgraded(tmp_path: Path) -> str:
    """A database with an experiment of 0.1.0."""
    db = str(tmp_path / "old.db")
    with closing(open_journal(db)) as journal:
        journal.create("old", OF_0_1_0, 1_700_000_000_000_000)
    return db


def test_a_new_experiment_has_confidence_1_and_says_so(sqlite_server: LocalServer) -> None:
    status, found = creates(sqlite_server, "new", policy={"name": "UCB"})
    assert (status, found["policy"]) == (201, {"name": "UCB", "confidence": 1.0, "delta": 0.05})
    status, found = creates(sqlite_server, "theory", policy={"name": "UCB", "confidence": "theory"})
    assert (status, found["policy"]["confidence"]) == (201, "theory")
    status, same = creates(sqlite_server, "theory", policy={"name": "UCB", "confidence": None})
    assert (status, same["policy"]) == (200, found["policy"])
    assert creates(sqlite_server, "theory", policy={"name": "UCB"})[0] == 409
    assert creates(sqlite_server, "bad", policy={"name": "UCB", "confidence": "much"})[0] == 422


def test_without_a_seed_it_gets_a_fresh_one(sqlite_server: LocalServer) -> None:
    asked = {"policy": {"name": "Thompson"}}
    seeds = [creates(sqlite_server, f"fresh-{number}", **asked)[1]["seed"] for number in range(5)]
    assert len(set(seeds)) == 5
    assert all(0 <= seed < 2**53 for seed in seeds)
    again = [creates(sqlite_server, f"fresh-{number}", **asked) for number in range(5)]
    assert [(status, found["seed"]) for status, found in again] == [(200, seed) for seed in seeds]
    assert creates(sqlite_server, "fresh-0", **asked, seed=seeds[0])[0] == 200
    assert creates(sqlite_server, "fresh-0", **asked, seed=(seeds[0] + 1) % 2**53)[0] == 409
    with Client(sqlite_server.url) as client:
        arms = [client.create(f"client-{number}", ARMS, UCB()).choose().arm for number in range(2)]
    assert arms == ["red", "red"]


def test_an_experiment_of_0_1_0_goes_on_with_theory(upgraded: str, tmp_path: Path) -> None:
    bandit = Bandit(ARMS, UCB(confidence="theory"), seed=0)
    with hosting(upgraded) as server:
        found = ask(server, "GET", "/v1/experiments/old")[1]
        assert found["policy"] == {"name": "UCB", "confidence": "theory", "delta": 0.05}
        for number in range(60):
            arm = ask(server, "POST", "/v1/experiments/old/decisions", {"id": f"d{number}"})[1]["arm"]
            assert arm == bandit.choose().arm
            reward = float(arm == "green")
            ask(server, "POST", f"/v1/decisions/d{number}/feedback", {"reward": reward})
            bandit.observe(number, reward)
        bounds = [(arm["lower"], arm["upper"]) for arm in ask(server, "GET", "/v1/experiments/old")[1]["arms"]]
    assert bounds == [(arm.lower, arm.upper) for arm in bandit.summary()]
    path = tmp_path / "old.parquet"
    with closing(open_journal(upgraded)) as journal, write_parquet(journal, "old") as file:
        path.write_bytes(file.read())
    with closing(open_journal(str(tmp_path / "new.db"))) as journal:
        assert import_parquet(journal, path) == ("old", 120)
        stored = journal.experiment("old")
        assert stored is not None
        assert stored.spec == OF_0_1_0
        assert Experiment(stored).learner.policy == UCB(confidence="theory")


def test_an_application_that_creates_its_experiment_at_every_start_finds_it(upgraded: str) -> None:
    """The request of then is the same experiment, whether it names a seed or not; others are not."""
    with hosting(upgraded) as server:
        for asked in ({}, {"seed": 0}):
            status, found = creates(server, "old", policy={"name": "UCB"}, **asked)
            assert (status, found["policy"]["confidence"]) == (200, "theory")
        assert creates(server, "old", policy={"name": "UCB", "confidence": "theory"})[0] == 200
        for other in ({"name": "UCB", "confidence": 1.0}, {"name": "UCB", "delta": 0.1}, {"name": "SE"}, None):
            assert creates(server, "old", policy=other)[0] == 409, other
        assert creates(server, "old", policy={"name": "UCB"}, seed=1)[0] == 409


def test_a_history_without_confidence_is_of_0_1_0(sqlite_server: LocalServer) -> None:
    bandit = Bandit(ARMS, UCB(confidence="theory"), seed=9)
    for _ in range(20):
        bandit.observe(bandit.choose().id, 0.5)
    saved = bandit.to_dict()
    body = {key: saved[key] for key in ("arms", "seed", "decisions", "answers")}
    old = {**body, "policy": {"name": "UCB", "delta": 0.05}}
    status, found = ask(sqlite_server, "POST", "/v1/experiments/moved/history", old)
    assert (status, found["policy"]["confidence"]) == (201, "theory")
    with Client(sqlite_server.url) as client:
        moved = client.move(bandit, "moved")
        assert [decision.arm for decision in moved.choose(9)] == [decision.arm for decision in bandit.choose(9)]


def test_stored_specs() -> None:
    assert read_spec(OF_0_1_0).policy == {"name": "UCB", "confidence": "theory", "delta": 0.05}
    now = checked_spec(ARMS, {"name": "UCB"}, 0, None)
    assert json.loads(now.text())["policy"] == {"name": "UCB", "confidence": 1.0, "delta": 0.05}
    theory = checked_spec(ARMS, {"name": "UCB", "confidence": "theory"}, 0, None)
    assert read_spec(OF_0_1_0) == theory
    for text in (OF_0_1_0, now.text(), theory.text()):
        assert is_well_formed(text)
        assert read_spec(read_spec(text).text()) == read_spec(text)
    for text in (OF_0_1_0.replace('"delta":0.05,', ""), now.text().replace("1.0", "1"), OF_0_1_0 + " "):
        assert not is_well_formed(text)
