"""Every operation is done once, however bad the network, and whoever else asks for the same at the same time.

The full size is ``python torture/proxy.py``."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from bad_proxy import FAULTS, bad_proxy
from once import ARMS, anomalies, clients_at_work, miscounts, patience, verified, work_without_ids
from postgres import fresh
from serving import PATIENCE, LocalServer, Server, hosting, serving

CLIENTS = 64


@pytest.fixture
def servers(db: str) -> Iterator[list[LocalServer]]:
    """One server on SQLite, two on one database of PostgreSQL, in this process."""
    with ExitStack() as stack:
        yield [stack.enter_context(hosting(db)) for _ in range(2 if "://" in db else 1)]


def operations(db: str) -> int:
    return 1_000 if "://" in db else 2_000


# ---- through a bad proxy ----


@pytest.fixture
def processes(db: str) -> Iterator[list[Server]]:
    """The same, each in a process of its own."""
    with ExitStack() as stack:
        yield [stack.enter_context(serving(db)) for _ in range(2 if "://" in db else 1)]


@pytest.mark.slow
def test_every_operation_is_done_once(db: str, processes: list[Server]) -> None:
    servers = processes
    with bad_proxy(*(server.url for server in servers), seed=1, longest=0.6) as proxy:
        timeout = patience(servers[0].url, 0.3)
        believed = clients_at_work(proxy.url, operations(db), clients=16, seed=1, timeout=timeout, retries=40)
    assert believed.operations >= operations(db)
    assert min(proxy.counts[fault] for fault in FAULTS) >= 5, f"too few faults to say anything: {proxy.counts}"
    assert not believed.given_up
    assert not anomalies(db, believed)
    assert not miscounts(servers[-1].url, believed)
    done = verified(db)
    assert done.returncode == 0, done.stderr
    assert ": correct" in done.stdout


def test_who_gives_up_knows_what_was_given_up(db: str, servers: list[LocalServer]) -> None:
    """With two attempts many operations get no answer; all that the clients do not know of are these."""
    with bad_proxy(*(server.url for server in servers), seed=3, rate=1.5, longest=0.6) as proxy:
        believed = clients_at_work(proxy.url, 300, clients=8, seed=3, timeout=0.3, retries=1)
    assert len(believed.given_up) >= 10, len(believed.given_up)
    assert not anomalies(db, believed)
    alone = replace(believed, given_up=set())
    assert anomalies(db, alone), "some of them were done"


def test_a_few_operations_are_done_once(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    with hosting(db) as server, bad_proxy(server.url, seed=1, longest=0.6) as proxy:
        timeout = patience(server.url, 0.3)
        believed = clients_at_work(proxy.url, 200, clients=8, seed=1, timeout=timeout, retries=40)
        assert believed.operations >= 200
        assert not believed.given_up
        assert not anomalies(db, believed)
        assert not miscounts(server.url, believed)


def test_the_control_without_ids_doubles(db: str, servers: list[LocalServer]) -> None:
    """The same retries without an id: a lost answer becomes a second decision, and the same look at the journal finds
    it."""
    with bad_proxy(*(server.url for server in servers), seed=1, longest=0.6) as proxy:
        timeout = patience(servers[0].url, 0.3)
        believed = work_without_ids(proxy.url, 200, clients=8, seed=1, timeout=timeout, retries=40)
    found = anomalies(db, believed)
    assert len(believed.arms) == 200
    assert len(found) >= 20
    assert all("no client knows of it" in each for each in found)
    assert miscounts(servers[0].url, believed)


# ---- all at once ----


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def crowded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of the servers of a database, one on SQLite, two on PostgreSQL; at the end it is verified."""
    if request.param == "sqlite":
        db = str(tmp_path_factory.mktemp("crowded") / "bandits.db")
    else:
        url: Any = request.getfixturevalue("postgres")
        db = fresh(url)
    with ExitStack() as stack:
        count = 1 if request.param == "sqlite" else 2
        yield [stack.enter_context(hosting(db)).url for _ in range(count)]
    assert verified(db).returncode == 0


@pytest.fixture
def crowd(crowded: list[str]) -> Iterator[Crowd]:
    """A crowd before a new experiment."""
    with httpx2.Client(timeout=PATIENCE) as http:
        found = Crowd(crowded, http, f"e{uuid.uuid4().hex}")
        assert http.post(f"{crowded[0]}/v1/experiments", json=found.asked).status_code == 201
        yield found


@dataclass
class Crowd:
    """Many clients that ask at the same moment, each over its own connection."""

    urls: list[str]
    http: httpx2.Client
    name: str

    @property
    def asked(self) -> dict[str, Any]:
        return {"name": self.name, "arms": ARMS, "policy": {"name": "UCB"}}

    def ask(self, path: str, bodies: list[dict[str, Any]]) -> list[httpx2.Response]:
        """The answers, in the order in which they came."""
        barrier = threading.Barrier(len(bodies))
        found: list[httpx2.Response] = []
        errors: list[Exception] = []

        def one(url: str, body: dict[str, Any]) -> None:
            try:  # with a new client: the server closes connections that were idle for some seconds
                with httpx2.Client(timeout=PATIENCE, verify=False) as http:
                    with http.stream("GET", f"{url}/livez") as answer:
                        barrier.wait()  # all have a connection
                        answer.read()
                    barrier.wait()
                    found.append(http.post(f"{url}{path}", json=body))
            except Exception as error:
                errors.append(error)
                barrier.abort()  # nobody waits for this one

        urls = [self.urls[place % len(self.urls)] for place in range(len(bodies))]
        threads = [threading.Thread(target=one, args=each) for each in zip(urls, bodies, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        return found

    def state(self) -> dict[str, Any]:
        """What the last server says of the experiment."""
        found: dict[str, Any] = self.http.get(f"{self.urls[-1]}/v1/experiments/{self.name}").json()
        return found

    def decide(self) -> str:
        """The id of a new decision."""
        made = self.http.post(f"{self.urls[0]}/v1/experiments/{self.name}/decisions")
        return str(made.json()["id"])


@pytest.mark.parametrize("count", [None, 5])
def test_one_id_from_many_clients_is_one_decision(crowd: Crowd, count: int | None) -> None:
    for turn in range(3):
        asked = {"id": f"{crowd.name}-{turn}", **({} if count is None else {"count": count})}
        answers = crowd.ask(f"/v1/experiments/{crowd.name}/decisions", [asked] * CLIENTS)
        assert Counter(each.status_code for each in answers) == {201: 1, 200: CLIENTS - 1}
        assert len({each.text for each in answers}) == 1
    assert crowd.state()["pulls"] == 3 * (count or 1)


def test_the_same_feedback_from_many_clients_counts_once(crowd: Crowd) -> None:
    answers = crowd.ask(f"/v1/decisions/{crowd.decide()}/feedback", [{"reward": 0.5}] * CLIENTS)
    assert Counter(each.status_code for each in answers) == {201: 1, 200: CLIENTS - 1}
    found = crowd.state()
    assert (found["pulls"], found["observed"], found["pending"]) == (1, 1, 0)


def test_of_conflicting_feedbacks_one_wins(crowd: Crowd) -> None:
    bodies = [{"reward": place % 8 / 8} for place in range(CLIENTS)]
    answers = crowd.ask(f"/v1/decisions/{crowd.decide()}/feedback", bodies)
    alike = CLIENTS // 8
    assert Counter(each.status_code for each in answers) == {201: 1, 200: alike - 1, 409: CLIENTS - alike}
    (winner,) = {each.json()["reward"] for each in answers if each.status_code < 300}
    found = crowd.state()
    assert found["observed"] == 1
    assert {arm["mean"] for arm in found["arms"]} == {winner, None}


def test_many_clients_make_the_same_experiment(crowd: Crowd) -> None:
    asked = {**crowd.asked, "name": f"{crowd.name}.2"}
    answers = crowd.ask("/v1/experiments", [asked] * CLIENTS)
    assert Counter(each.status_code for each in answers) == {201: 1, 200: CLIENTS - 1}
