"""From 0.1.0 to now, with real servers of both: one after the other on SQLite, both at once on PostgreSQL."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from postgres import fresh
from released import packages_path, released
from serving import PATIENCE, Server, serving

from belated.service.core.verify import verify
from belated.service.storage.journal import open_journal

OLD = "0.1.0"
ARMS = ["red", "green", "blue"]
POLICIES: dict[str, dict[str, Any]] = {
    "ucb": {"name": "UCB", "confidence": 1.0},
    "optimistic": {"name": "Optimistic-UCB", "confidence": 0.5},
    "patient": {"name": "PatientBandits", "alpha": 0.5, "horizon": 500},
    "se": {"name": "SE", "confidence": 0.1},
    "pse": {"name": "PSE", "confidence": 0.02},
    "opse": {"name": "OPSE", "confidence": 0.05},
    "prefix-se": {"name": "Prefix-SE", "confidence": 0.05},
    "prefix": {"name": "Prefix-UCB"},
    "prefix-spread": {"name": "Prefix-UCB", "confidence": 1.0, "spread": True},
    "pending": {"name": "Pending-UCB", "confidence": 1.0},
    "pending-patience": {"name": "Pending-UCB", "confidence": 0.5, "patience": 12},
    "thompson": {"name": "Thompson"},
    "uniform": {"name": "Uniform"},
}
SILENT = {f"silent-{name}": POLICIES[name] for name in ("ucb", "prefix-spread", "pending")}
CANCELS = {"ucb", "optimistic", "patient", "prefix", "pending", "thompson", "uniform", *SILENT}
CHANGED = ["prefix-se"]
"""Experiments whose policy decides otherwise than that of 0.1.0."""
SEEN = ("name", "policy", "seed", "silence", "status", "decisions", "pulls", "observed", "pending", "cancelled", "late")


def reward_of(id: str) -> float:
    return sum(id.encode()) % 5 / 4


def decide(http: httpx2.Client, name: str, first: int, count: int) -> list[str]:
    """Decisions one at a time, with feedback of two in three; their arms."""
    arms = []
    for number in range(first, first + count):
        id = f"{name}-{number}"
        made = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
        assert made.status_code == 201, made.text
        arms.append(made.json()["arm"])
        if number % 3:
            told = http.post(f"/v1/decisions/{id}/feedback", json={"reward": reward_of(id)})
            assert told.status_code == 201, told.text
    return arms


def live(http: httpx2.Client) -> None:
    """Experiments with every policy of 0.1.0: pending, observed, cancelled, imputed and replaced."""
    for name, policy in {**POLICIES, **SILENT}.items():
        silence = {"silence": {"after": 0.5, "reward": 0.25}} if name in SILENT else {}
        body = {"name": name, "arms": ARMS, "policy": policy, "seed": 7, **silence}
        assert http.post("/v1/experiments", json=body).status_code == 201
        decide(http, name, 0, 24)
        if name in CANCELS:
            assert http.post(f"/v1/decisions/{name}-21/cancel").status_code in (201, 409)
            http.post(f"/v1/experiments/{name}/decisions", json={"id": f"{name}-gone"}).raise_for_status()
            assert http.post(f"/v1/decisions/{name}-gone/cancel").status_code == 201
    end = time.monotonic() + PATIENCE
    while any(http.get(f"/v1/experiments/{name}").json()["pending"] for name in SILENT):
        assert time.monotonic() < end
        time.sleep(0.1)
    for name in SILENT:
        assert http.post(f"/v1/decisions/{name}-0/feedback", json={"reward": 1}).status_code == 201


def seen(http: httpx2.Client) -> dict[str, Any]:
    """What a server tells of all experiments."""
    found = http.get("/v1/experiments").json()
    assert found["damaged"] == []
    counts = ("arm", "pulls", "observed", "pending", "mean", "active", "eliminated_at")
    return {
        each["name"]: [
            {key: each[key] for key in SEEN if key != "policy"},
            [{key: arm[key] for key in counts} for arm in each["arms"]],
            http.get(f"/v1/experiments/{each['name']}/events?limit=100000").text,
        ]
        for each in found["experiments"]
    }


@pytest.mark.slow
def test_a_database_of_0_1_0_goes_on_as_it_would_have(tmp_path: Path) -> None:
    """Stop the old, start the new: the same state, and the same decisions as the old one makes on a copy."""
    db, copy = str(tmp_path / "bandits.db"), str(tmp_path / "copy.db")
    with released(OLD, db) as server, server.client() as http:
        live(http)
        before = seen(http)
    shutil.copy(db, copy)
    names = [name for name in before if name not in SILENT]  # in those the time matters
    with released(OLD, copy) as server, server.client() as http:
        expected = {name: decide(http, name, 100, 30) for name in names}
    with serving(db) as server, server.client() as http:
        assert seen(http) == before
        assert {name: decide(http, name, 100, 30) for name in names} == expected
        assert http.post("/v1/decisions/ucb-0/feedback", json={"reward": 1}).status_code == 201
        assert http.post("/v1/decisions/ucb-gone/feedback", json={"reward": 1}).status_code == 409
        assert http.post("/v1/decisions/silent-ucb-3/feedback", json={"reward": 1}).json()["late"] is True
        kinds = {name: {kind_of(line) for line in events_of(http, name)} for name in before}
    assert [name for name in before if "upgraded" in kinds[name]] == CHANGED
    assert set().union(*kinds.values()) == {"decided", "observed", "imputed", "replaced", "cancelled", "upgraded"}
    told = [line for line in server.lines if "differently" in line or "policy changed" in line]
    assert [name for name in before if any(f'"{name}"' in line for line in told)] == CHANGED, told
    with closing(open_journal(db)) as journal:
        found = verify(journal)
    assert [each.error for each in found] == [None] * len(before)
    assert {each.name: each.note for each in found if each.note is not None} == {
        "prefix-se": "Prefix-SE is version 2 here; decisions of other versions were not made again: 24 by version 1."
    }
    assert len(list(tmp_path.glob("bandits.db.schema2.*.backup"))) == 1


def kind_of(line: str) -> str:
    return str(json.loads(line)["kind"])


def events_of(http: httpx2.Client, name: str) -> list[str]:
    return http.get(f"/v1/experiments/{name}/events?limit=100000").text.splitlines()


class Load:
    """Clients that decide and report until they are told to end, each at one server."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = threading.Event()
        self.made: dict[str, str] = {}
        self.wrong: list[str] = []
        self.threads: list[threading.Thread] = []

    def on(self, server: Server, who: str) -> None:
        self.threads.append(threading.Thread(target=self._work, args=(server, who), daemon=True))
        self.threads[-1].start()

    def _work(self, server: Server, who: str) -> None:
        with server.client() as http:
            number = 0
            while not self.ended.is_set() and not self.wrong:
                id = f"{who}-{number}"
                made = http.post(f"/v1/experiments/{self.name}/decisions", json={"id": id})
                told = http.post(f"/v1/decisions/{id}/feedback", json={"reward": reward_of(id)}) if number % 3 else made
                if (made.status_code, told.status_code) != (201, 201):
                    self.wrong.append(f"{id}: {made.status_code} {made.text}, {told.status_code} {told.text}")
                    return
                self.made[id] = made.json()["arm"]
                number += 1

    def reached(self, who: str, count: int) -> None:
        """Wait until a client has made decisions."""
        end = time.monotonic() + PATIENCE
        while not self.wrong and f"{who}-{count}" not in self.made:
            assert time.monotonic() < end
            time.sleep(0.02)

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert self.wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("policy", [POLICIES["thompson"], POLICIES["prefix"], POLICIES["opse"]], ids=str)
def test_servers_of_both_versions_serve_together(postgres: str, policy: dict[str, Any]) -> None:
    """The new one starts on the database of the old one while that is busy; both go on; then the old one ends."""
    db, load = fresh(postgres), Load("e")
    with released(OLD, db) as old:
        with old.client() as http:
            spec = {"name": "e", "arms": ARMS, "policy": policy, "seed": 7}
            assert http.post("/v1/experiments", json=spec).status_code == 201
        load.on(old, "old-a")
        load.on(old, "old-b")
        load.reached("old-a", 20)
        with serving(db) as new:
            load.on(new, "new-a")
            load.on(new, "new-b")
            load.reached("new-a", 40)
            after = max(int(id.split("-")[2]) for id in list(load.made) if id.startswith("old-a"))
            load.reached("old-a", after + 40)
            load.end()
            with old.client() as first, new.client() as second:
                assert first.get("/readyz").status_code == 200
                states = [each.get("/v1/experiments/e").json() for each in (first, second)]
                assert [arm["pulls"] for arm in states[0]["arms"]] == [arm["pulls"] for arm in states[1]["arms"]]
                assert [each["decisions"] for each in states] == [len(load.made)] * 2
                for id, arm in load.made.items():
                    assert second.get(f"/v1/decisions/{id}").json()["arm"] == arm
                kinds = {kind_of(line) for line in events_of(second, "e")}
                assert kinds == {"decided", "observed"}
    with closing(open_journal(db)) as journal:
        assert [(each.error, each.note) for each in verify(journal)] == [(None, None)]
    command = [sys.executable, "-m", "belated", "serve", "--db", db, "--port", "0"]
    done = subprocess.run(command, env=packages_path(OLD), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "newer" in done.stderr
