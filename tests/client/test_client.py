"""The client against a real server: the verbs of a bandit, its errors, its choices."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from serving import PATIENCE, LocalServer, hosting, serving, start

from belated import AsyncClient, Bandit, Client, Decision
from belated.errors import (
    ApiError,
    ConflictingFeedback,
    InvalidParameter,
    InvalidReward,
    ServiceUnavailable,
    UnknownDecision,
)
from belated.policies import (
    UCB,
    ImputedUCB,
    OptimisticPessimisticElimination,
    PendingUCB,
    PrefixElimination,
    PrefixUCB,
    ThompsonSampling,
)

ARMS = ["red", "green", "blue"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """One server for the tests that do not ask for more."""
    with hosting(str(tmp_path_factory.mktemp("client") / "bandits.db")) as found:
        yield found


@pytest.fixture
def client(server: LocalServer) -> Iterator[Client]:
    """A client with an experiment of its own."""
    with Client(server.url, timeout=PATIENCE, retries=1) as found:
        yield found.create(f"e{uuid.uuid4().hex}", ARMS, UCB())


# ---- as a bandit ----


@pytest.mark.parametrize(
    "policy",
    [
        None,
        UCB(),
        OptimisticPessimisticElimination(confidence=0.1),
        ThompsonSampling(),
        PrefixUCB(confidence=0.3),
        PrefixElimination(confidence=0.05),
        PendingUCB(confidence=0.3, patience=20),
        ImputedUCB(confidence="anytime"),
    ],
    ids=repr,
)
def test_client_equals_bandit(served: LocalServer, policy: Any) -> None:
    bandit = Bandit(ARMS, policy, seed=5)
    chance = np.random.default_rng(0)
    with Client(served.url, timeout=PATIENCE) as http:
        client = http.create(f"e{uuid.uuid4().hex}", ARMS, policy, seed=5)
        ids: dict[str, int] = {}
        waiting: list[str] = []
        for turn in range(60):
            made = [client.choose()] if turn % 5 else client.choose(4)
            own = [bandit.choose()] if turn % 5 else bandit.choose(4)
            assert [each.arm for each in made] == [each.arm for each in own]
            assert all(isinstance(each, Decision) and isinstance(each.id, str) for each in made)
            for mine, theirs in zip(made, own, strict=True):
                ids[mine.id] = theirs.id
                waiting.append(mine.id)
            chance.shuffle(waiting)
            if turn % 3 == 0:
                several = [(waiting.pop(), float(chance.random())) for _ in range(len(waiting) // 2)]
                assert client.observe_many(several) == len(several)
                bandit.observe_many([(ids[id], reward) for id, reward in several])
            else:
                id, reward = waiting.pop(), float(chance.random())
                client.observe(id, reward)
                bandit.observe(ids[id], reward)
        assert client.summary() == bandit.summary()
        assert all(
            (arm.corrected_mean is not None) == isinstance(bandit.policy, ImputedUCB) for arm in client.summary()
        )
        assert (client.arms, client.decisions, client.pending) == (bandit.arms, bandit.decisions, bandit.pending)


def test_many_decisions_take_several_requests(client: Client) -> None:
    made = client.choose(2500)
    assert len({each.id for each in made}) == 2500
    assert client.decisions == 2500
    again = client.choose(1200, id="batch")
    assert client.choose(1200, id="batch") == again
    assert client.decisions == 3700
    assert client.observe_many({each.id: 1.0 for each in made}) == 2500
    assert client.observe_many({each.id: 1.0 for each in made}) == 0
    assert client.pending == 1200
    assert client.choose(0) == []
    assert client.observe_many({}) == 0


@pytest.mark.parametrize("first", [None, 1, 500, 1000, 1001, 2000, 2500])
def test_same_id_with_another_n_is_refused(client: Client, first: Any) -> None:
    id = uuid.uuid4().hex
    made = client.choose(first, id=id)
    decisions = client.decisions
    for other in (None, 1, 500, 1000, 1001, 1500, 2000, 2500, 3000):
        if other != first:
            with pytest.raises(ApiError, match="belongs to another request") as refused:
                client.choose(other, id=id)
            assert (refused.value.status, refused.value.kind) == (409, "id-in-use")
    assert client.choose(first, id=id) == made
    assert client.decisions == decisions


def test_the_longest_ids_of_several_decisions(client: Client) -> None:
    id = uuid.uuid4().hex * 4
    assert len(id) == 128
    made = client.choose(1000, id=id)
    last = made[999].id
    assert last == f"{id}.999"
    assert client.decision(last).status == "pending"
    client.observe(last, 1.0)
    assert client.observe_many({made[998].id: 1.0}) == 1
    client.cancel(made[997].id)
    assert client.pending == 997
    with pytest.raises(InvalidParameter, match="1 to 112 characters"):
        client.choose(1001, id=id)
    assert len(client.choose(1001, id=id[:112])) == 1001
    for nobody in ("x" * 132, "x" * 133):
        with pytest.raises(UnknownDecision):
            client.observe(nobody, 1.0)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3"])
def test_bad_n(client: Client, n: Any) -> None:
    with pytest.raises(InvalidParameter, match="whole number"):
        client.choose(n)


def test_custom_ids(client: Client) -> None:
    odd = ["50 % off?", "a#b&c=d", "naïve-雪", "x" * 128, "%2F", "a b+c"]
    for id in (f"{each}{uuid.uuid4().hex}"[-128:] for each in odd):
        made = client.choose(id=id, unit="someone", metadata={"page": 3})
        assert made.id == id
        assert client.choose(id=id, unit="someone", metadata={"page": 3}) == made
        client.observe(id, 0.25, observed_at=datetime(2026, 1, 31, 12, tzinfo=UTC))
        found = client.decision(id)
        assert (found.id, found.arm, found.status, found.reward) == (id, made.arm, "observed", 0.25)
        assert (found.unit, found.metadata, found.observed_at) == (
            "someone",
            {"page": 3},
            "2026-01-31T12:00:00.000000Z",
        )
        with pytest.raises(ApiError, match="belongs to another request") as refused:
            client.choose(id=id)
        assert (refused.value.status, refused.value.kind) == (409, "id-in-use")
    assert client.decisions == len(odd)


@pytest.mark.parametrize("id", ["", "a/b", "a\nb", "ab\n", "..", "..\n", "x" * 129, 3, "\ud800"])
def test_bad_ids(client: Client, id: Any) -> None:
    with pytest.raises(InvalidParameter, match="1 to 128 characters"):
        client.choose(id=id)
    assert client.decisions == 0
    with pytest.raises(UnknownDecision):
        client.observe(id, 1.0)


def test_cancel(client: Client) -> None:
    made = client.choose()
    client.cancel(made.id)
    client.cancel(made.id)
    assert client.decision(made.id).status == "cancelled"
    assert (client.decisions, client.pending) == (1, 0)
    with pytest.raises(ApiError, match="was cancelled"):
        client.observe(made.id, 1.0)


# ---- mistakes ----


def test_errors_are_those_of_a_bandit(client: Client) -> None:
    made = client.choose()
    for bad in (math.nan, math.inf, -0.1, 1.1, "1", None):
        with pytest.raises(InvalidReward, match=f"the reward of decision {made.id} is"):
            client.observe(made.id, bad)  # type: ignore[arg-type]
    client.observe(made.id, True)
    client.observe(made.id, 1.0)
    with pytest.raises(ConflictingFeedback, match=r"already has the reward 1\.0"):
        client.observe(made.id, 0.0)
    for nobody in ("nobody", 17, -1, True, None, 1.5, "a/b"):
        with pytest.raises(UnknownDecision):
            client.observe(nobody, 1.0)  # type: ignore[arg-type]
        with pytest.raises(UnknownDecision):
            client.decision(nobody)  # type: ignore[arg-type]


def test_observe_many_accepts_the_valid_ones(client: Client) -> None:
    first, second, third = client.choose(3)
    client.observe(second.id, 1.0)
    with pytest.raises(ConflictingFeedback):
        client.observe_many([(first.id, 1.0), (second.id, 0.0), (third.id, 0.5)])
    assert client.pending == 0
    with pytest.raises(ConflictingFeedback, match="two rewards in one call"):
        client.observe_many([(first.id, 1.0), (first.id, 0.0)])
    with pytest.raises(UnknownDecision, match="nobody"):
        client.observe_many({"nobody": 1.0})
    with pytest.raises(InvalidReward):
        client.observe_many({first.id: 2.0})
    for bad in (3, [3], [(1, 2, 3)]):
        with pytest.raises(InvalidParameter, match="feedback"):
            client.observe_many(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"url": "localhost:8000"},
        {"url": "ftp://localhost"},
        {"url": "http://"},
        {"url": "http://localhost:99999999"},
        {"url": "http://localhost/?a=b"},
        {"url": None},
        {"timeout": 0},
        {"timeout": math.nan},
        {"retries": -1},
        {"retries": 1.5},
        {"wait": -1.0},
        {"key": "a b"},
        {"key": "schlüssel"},
        {"key": "a\nb"},
        {"key": ""},
        {"experiment": 3},
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_bad_arguments_of_a_client(kind: Any, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as error:
        kind(**{"url": "http://127.0.0.1:8000", **given})
    assert next(iter(given)) in str(error.value)


def test_unserializable_arguments(client: Client) -> None:
    with pytest.raises(InvalidParameter, match="JSON"):
        client.choose(metadata={"x": math.nan})
    with pytest.raises(InvalidParameter, match="JSON"):
        client.choose(metadata={"x": object()})
    with pytest.raises(InvalidParameter, match="time zone"):
        client.observe("x", 1.0, observed_at=datetime(2026, 1, 1))


# ---- experiments ----


def test_default_experiment(tmp_path: Path) -> None:
    with hosting(str(tmp_path / "bandits.db")) as server, Client(server.url, timeout=PATIENCE) as client:
        with pytest.raises(InvalidParameter, match="has none yet"):
            client.choose()
        with pytest.raises(ApiError, match="no experiment 'other'"):
            client.experiment("other").choose()
        client.create("one", ARMS, {"name": "UCB", "horizon": 1000}, silence={"after": 3600, "reward": 0})
        assert client.choose().arm == "red"
        client.create("two", ARMS, UCB())
        assert client.decisions == 1, "it goes on with the one that it knows"
        with Client(server.url, timeout=PATIENCE) as another, pytest.raises(InvalidParameter, match="has 2: one, two"):
            another.choose()
        with Client(server.url, "two", timeout=PATIENCE) as another:
            assert another.decisions == 0
            assert another.experiment("one").decisions == 1


def test_create_is_idempotent(client: Client) -> None:
    name = f"e{uuid.uuid4().hex}"
    assert client.create(name, ARMS, UCB()).choose().arm == "red"
    assert client.create(name, ARMS, {"name": "UCB"}).decisions == 1
    with pytest.raises(ApiError, match="different experiment") as refused:
        client.create(name, ARMS, UCB(), seed=1)
    assert refused.value.status == 409
    for arms, policy in (("red", UCB()), (ARMS, UCB), (ARMS, "UCB")):
        with pytest.raises(InvalidParameter):
            client.create("x", arms, policy)  # type: ignore[arg-type]


def test_keys(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    make = [sys.executable, "-m", "belated", "keys", "create", "--role", "writer", "--db", db]
    key = subprocess.run(make, capture_output=True, text=True, check=True).stdout.strip()
    with hosting(db) as server:
        with Client(server.url, key=key, timeout=PATIENCE) as client:
            assert client.create("colours", ARMS, UCB()).choose().arm == "red"
            assert key not in repr(client)
            assert "colours" in repr(client.experiment("colours"))
        for wrong in (None, "bel_other"):
            with (
                Client(server.url, "colours", key=wrong, timeout=PATIENCE) as client,
                pytest.raises(ApiError) as refused,
            ):
                client.choose()
            assert refused.value.status == 401


# ---- a server that is away ----


def test_unreachable_server() -> None:
    with Client("http://127.0.0.1:9", "x", retries=2, wait=0.01) as client:
        with pytest.raises(ServiceUnavailable, match=r"3 attempts: ConnectError") as error:
            client.choose()
        assert error.value.id


def test_server_restart(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    server = start(db)
    with Client(server.url, timeout=PATIENCE, retries=60) as client:
        own = client.create("colours", ARMS, UCB())
        before = own.choose()
        server.kill()
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append((own.choose(), own.observe(before.id, 1.0))))
        asking.start()
        with serving(db, "--port", server.url.rpartition(":")[2]):
            asking.join()
            assert found[0][0].arm == "green"
            assert (own.decisions, own.pending) == (2, 1)


# ---- awaiting ----


def test_asyncio_client(server: LocalServer) -> None:
    async def play() -> None:
        async with AsyncClient(server.url, timeout=PATIENCE, retries=1) as any_of_them:
            client = await any_of_them.create(f"e{uuid.uuid4().hex}", ARMS, UCB())
            made = await client.choose()
            assert made.arm == "red"
            several = await client.choose(3)
            await client.observe(made.id, 1.0)
            assert await client.observe_many({several[0].id: 0.5}) == 1
            await client.cancel(several[1].id)
            assert (await client.decision(several[1].id)).status == "cancelled"
            with pytest.raises(ConflictingFeedback):
                await client.observe(made.id, 0.0)
            assert (await client.arms, await client.decisions, await client.pending) == (tuple(ARMS), 4, 1)
            assert sum(arm.pulls for arm in await client.summary()) == 3
            many = await asyncio.gather(*(client.choose() for _ in range(50)))
            assert len({each.id for each in many}) == 50
            moved = await client.move(Bandit(ARMS, UCB()), f"e{uuid.uuid4().hex}")
            assert (await moved.choose()).arm == "red"
        async with AsyncClient("http://127.0.0.1:9", "x", retries=1, wait=0.01) as nobody:
            with pytest.raises(ServiceUnavailable):
                await nobody.choose()

    asyncio.run(play())


def test_both_clients_have_the_same_operations() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert verbs(Client) == verbs(AsyncClient)
    assert verbs(Bandit) - {"from_dict", "to_dict"} <= verbs(Client)


# ---- what is not needed is not loaded ----


@pytest.mark.parametrize("name", [3, "", b"ads"])
def test_the_name_of_an_experiment_is_checked_wherever_it_is_given(server: LocalServer, name: Any) -> None:
    with Client(server.url) as client, pytest.raises(InvalidParameter, match="give its name"):
        client.experiment(name)
    with pytest.raises(InvalidParameter, match="give its name"):
        Client(server.url, name)


def test_a_response_that_cannot_be_decoded_is_retried_and_then_an_error_of_ours() -> None:
    requests = []

    def broken(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx2.ByteStream(b"no gzip"))

    with Client("http://127.0.0.1:1", "ads", retries=1, wait=0.001) as client:
        client._http = httpx2.Client(base_url=client.url, transport=httpx2.MockTransport(broken))
        with pytest.raises(ServiceUnavailable, match="DecodingError"):
            client.choose()
    assert len(requests) == 2
