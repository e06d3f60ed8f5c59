"""A bandit moves from a notebook to a server, and goes on there with the same bits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from bad_proxy import bad_proxy
from once import patience, verified
from refusals import for_each
from serving import PATIENCE, LocalServer, hosting

from belated import Bandit, Client
from belated.client import messages
from belated.client.messages import history_payloads
from belated.errors import ApiError, ConflictingFeedback, StateError, UnknownDecision
from belated.policies import UCB, Policy, ThompsonSampling
from transcript import PLAYERS

ARMS = ["red", "green", "blue"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, LocalServer]]:
    """A database and its server."""
    db = str(tmp_path_factory.mktemp("moving") / "bandits.db")
    with hosting(db) as found:
        yield db, found


@pytest.fixture
def client(place: tuple[str, LocalServer]) -> Iterator[Client]:
    with Client(place[1].url, timeout=PATIENCE, retries=1) as found:
        yield found


def played(policy: Policy, rounds: int, seed: int = 3) -> Bandit:
    """A bandit in the middle of its life: some answers came, late and in any order, some are out."""
    bandit = Bandit(ARMS, policy, seed=seed)
    chance = np.random.default_rng(seed)
    waiting: list[int] = []
    for _ in range(rounds):
        waiting.append(bandit.choose().id)
        chance.shuffle(waiting)
        while waiting and chance.random() < 0.45:
            bandit.observe(waiting.pop(), float(chance.random()))
    return bandit


def unanswered(bandit: Bandit) -> list[int]:
    answered = {id for _, id, _ in bandit.to_dict()["answers"]}
    return [number for number in range(bandit.decisions) if number not in answered]


def go_on(bandit: Bandit, client: Client, rounds: int) -> None:
    """Both are given the same answers, and choose the same arms; old decisions are known by their numbers."""
    chance = np.random.default_rng(1)
    late = unanswered(bandit)
    for _ in range(rounds):
        mine, theirs = bandit.choose(), client.choose()
        assert mine.arm == theirs.arm
        reward = float(chance.random())
        if chance.random() < 0.5:
            bandit.observe(mine.id, reward)
            client.observe(theirs.id, reward)
        elif late:
            number = late.pop()
            bandit.observe(number, reward)
            client.observe(number, reward)
    assert client.summary() == bandit.summary()
    client.observe_many(dict.fromkeys(late, 0.5))
    bandit.observe_many(dict.fromkeys(late, 0.5))
    assert [each.arm for each in client.choose(40)] == [each.arm for each in bandit.choose(40)]
    assert client.summary() == bandit.summary()


def test_it_goes_on_with_the_same_bits(client: Client) -> None:
    def check(policy: Policy) -> None:
        bandit = played(policy, 150)
        moved = client.move(bandit, f"e{uuid.uuid4().hex}")
        assert moved.summary() == bandit.summary()
        assert (moved.arms, moved.decisions, moved.pending) == (bandit.arms, bandit.decisions, bandit.pending)
        go_on(bandit, moved, 40)

    for_each(PLAYERS, check)


def test_on_both_databases_in_parts_through_a_bad_proxy(
    db: str, served: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "HISTORY_BATCH", 17)
    bandit = played(ThompsonSampling(), 300)
    with (
        bad_proxy(served.url, seed=2, longest=0.3) as proxy,
        Client(proxy.url, timeout=patience(served.url, 0.5), retries=40, wait=0.01) as any,
    ):
        moved = any.move(bandit, "notebook")
        assert moved.summary() == bandit.summary()
        go_on(bandit, moved, 10)
    assert verified(db).returncode == 0


def test_a_large_one_takes_several_requests(client: Client) -> None:
    bandit = played(UCB(), 9_000)
    assert len(list(history_payloads(bandit))) == 2
    moved = client.move(bandit, f"e{uuid.uuid4().hex}")
    assert moved.summary() == bandit.summary()
    go_on(bandit, moved, 5)


@pytest.mark.parametrize("size", [1, 2, 7, 50, 10_000])
def test_the_parts_are_the_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "HISTORY_BATCH", size)
    bandit = played(UCB(), 60)
    whole = bandit.to_dict()
    parts = list(history_payloads(bandit))
    assert [arm for part in parts for arm in part["decisions"]] == whole["decisions"]
    assert [answer for part in parts for answer in part["answers"]] == whole["answers"]
    sizes = [len(part["decisions"]) + len(part["answers"]) for part in parts]
    assert all(0 < each <= size for each in sizes)
    assert [part["after"] for part in parts] == [sum(sizes[:place]) for place in range(len(parts))]
    assert [part["more"] for part in parts] == [True] * (len(parts) - 1) + [False]


def test_moving_again_is_fine(client: Client) -> None:
    name, bandit = f"e{uuid.uuid4().hex}", played(UCB(), 30)
    moved = client.move(bandit, name)
    number = unanswered(bandit)[0]
    moved.observe(number, 0.5)
    moved.choose(3)
    before = moved.summary()
    assert client.move(bandit, name).summary() == before
    assert client.move(bandit.to_dict(), name).summary() == before
    with pytest.raises(ConflictingFeedback):
        moved.observe(number, 0.25)
    with pytest.raises(UnknownDecision):
        moved.observe(30, 1.0)


def test_a_bandit_that_went_on_moves_on_as_long_as_nothing_else_happened(client: Client) -> None:
    name, bandit = f"e{uuid.uuid4().hex}", played(UCB(), 30)
    client.move(bandit, name)
    bandit.observe(bandit.choose().id, 0.5)
    moved = client.move(bandit, name)
    assert moved.summary() == bandit.summary()
    moved.choose()
    bandit.choose()
    with pytest.raises(ApiError, match="differs from this bandit") as refused:
        client.move(bandit, name)
    assert (refused.value.status, refused.value.kind) == (409, "history-differs")


def test_an_empty_one(client: Client) -> None:
    bandit = Bandit(ARMS, UCB())
    name = f"e{uuid.uuid4().hex}"
    go_on(bandit, client.move(client.move(bandit, name) and bandit, name), 5)


def test_between_two_parts_nothing_is_decided(
    place: tuple[str, LocalServer], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "HISTORY_BATCH", 20)
    name, bandit = f"e{uuid.uuid4().hex}", played(UCB(), 50)
    first, second, *_ = history_payloads(bandit)
    with place[1].client() as http:
        path = f"/v1/experiments/{name}/history"
        assert http.post(path, json=second).status_code == 409, "the first is missing"
        assert http.get(f"/v1/experiments/{name}").status_code == 404, "what is refused changes nothing"
        assert http.post(path, json=first).status_code == 201
        assert http.post(path, json=first).status_code == 200
    moving = client.experiment(name)
    with pytest.raises(ApiError, match="stopped"):
        moving.choose()
    moved = client.move(bandit, name)
    go_on(bandit, moved, 5)


CHANGES: list[tuple[str, Any]] = [
    ("another arm", lambda data: data["decisions"].__setitem__(7, 1 - min(data["decisions"][7], 1))),
    ("no such arm", lambda data: data["decisions"].__setitem__(7, 99)),
    ("answered twice", lambda data: data["answers"].append([30, data["answers"][0][1], 0.5])),
    ("answered too early", lambda data: data["answers"].__setitem__(0, [0, 0, 0.5])),
    ("no such decision", lambda data: data["answers"].append([30, 77, 0.5])),
    ("from the future", lambda data: data["answers"].append([31, 0, 0.5])),
    ("out of order", lambda data: data["answers"].reverse()),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES])
@pytest.mark.parametrize("known", [False, True])
def test_a_damaged_one_is_refused_and_changes_nothing(
    place: tuple[str, LocalServer], client: Client, change: Any, known: bool
) -> None:
    name, bandit = f"e{uuid.uuid4().hex}", played(UCB(), 30)
    if known:
        client.move(bandit, name)
    (data,) = history_payloads(bandit)
    change(data)
    with place[1].client() as http:
        before = http.get(f"/v1/experiments/{name}").text
        answer = http.post(f"/v1/experiments/{name}/history", json=data)
        assert answer.status_code == 409, answer.text
        assert answer.json()["type"].startswith("urn:belated:problem:history-")
        assert http.get(f"/v1/experiments/{name}").text == before
    with pytest.raises((StateError, ApiError)):
        client.move({**bandit.to_dict(), "decisions": data["decisions"], "answers": data["answers"]}, name)


def test_another_one_of_that_name(client: Client) -> None:
    name = f"e{uuid.uuid4().hex}"
    client.move(played(UCB(), 10), name)
    for other in (played(UCB(), 10, seed=4), played(UCB(horizon=100), 10), Bandit(["a", "b"], UCB())):
        with pytest.raises(ApiError, match="different experiment"):
            client.move(other, name)
    taken = f"e{uuid.uuid4().hex}"
    client.experiment(name).choose(id=f"{taken}.3")  # ids are those of an experiment
    assert client.move(played(UCB(), 10), taken).decisions == 10


def test_nobody_knows_how_late_the_answers_were_before(place: tuple[str, LocalServer], client: Client) -> None:
    moved = client.move(played(UCB(), 30), f"e{uuid.uuid4().hex}")
    later = moved.choose()
    moved.observe(later.id, 1.0)
    with place[1].client() as http:
        found = http.get(f"/v1/experiments/{moved._operations.experiment}/delays").json()
        lines = http.get(f"/v1/experiments/{moved._operations.experiment}/events?limit=2").text
    assert sum(curve["observed"] + curve["pending"] for curve in found["curves"]) == found["decisions"] == 1
    assert all('"moved":true' in line for line in lines.splitlines())


def test_all_of_it_is_as_it_should_be(place: tuple[str, LocalServer], client: Client) -> None:
    client.move(played(UCB(), 10), "last")
    done = verified(place[0])
    assert done.returncode == 0, done.stdout + done.stderr
