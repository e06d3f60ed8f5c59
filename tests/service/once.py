"""Exactly once: threads that decide and answer through a proxy, and what the journal says afterwards."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx2
from serving import PATIENCE

from belated import Client
from belated.client.protocol import RETRY_STATUSES
from belated.errors import ServiceUnavailable
from belated.policies import UCB
from belated.service.storage.journal import open_journal

ARMS = ["red", "green", "blue"]
NAME = "once"
ASKED_FOR = ("decided", "observed", "cancelled")


@dataclass
class Believed:
    """What the clients believe to have done; each operation is noted when its call has returned."""

    arms: dict[str, str] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    """The ids of operations that got no answer: nobody knows whether they were done."""
    operations: int = 0

    def merge(self, other: Believed) -> None:
        """What another client believes."""
        assert not self.arms.keys() & other.arms.keys(), "two clients have the same decision"
        self.arms |= other.arms
        self.rewards |= other.rewards
        self.cancelled |= other.cancelled
        self.given_up |= other.given_up
        self.operations += other.operations


def work(client: Client, operations: int, seed: int) -> Believed:
    """So many operations by one client: decisions, alone and several at once, answers, late and in any order, and now
    and then a decision that is taken back. Rewards are eighths, so that their sums are exact."""
    chance = random.Random(seed)
    done = Believed()
    waiting: list[str] = []
    while done.operations < operations:
        kind = chance.random()
        asked: list[str] = []
        try:
            if kind < 0.45 or len(waiting) < 8:
                made = [client.choose()] if kind < 0.35 else client.choose(chance.randrange(1, 6))
                for decision in made:
                    assert decision.id not in done.arms, f"{decision.id} was made twice"
                    done.arms[decision.id] = decision.arm
                    waiting.append(decision.id)
                done.operations += len(made)
                continue
            chance.shuffle(waiting)
            if kind < 0.75:
                asked, reward = [waiting.pop()], chance.randrange(9) / 8
                client.observe(asked[0], reward)
                done.rewards[asked[0]] = reward
            elif kind < 0.95:
                several = {waiting.pop(): chance.randrange(9) / 8 for _ in range(chance.randrange(1, 6))}
                asked = list(several)
                client.observe_many(several)
                done.rewards |= several
                done.operations += len(several) - 1
            else:
                asked = [waiting.pop()]
                client.cancel(asked[0])
                done.cancelled.add(asked[0])
            done.operations += 1
        except ServiceUnavailable as gone:
            done.given_up.update(asked if gone.id is None else [gone.id])
    return done


def together(tasks: list[Callable[[], Believed]]) -> Believed:
    """What all believe, each in a thread of its own."""
    found: list[Believed] = []
    errors: list[BaseException] = []

    def run(task: Callable[[], Believed]) -> None:
        try:
            found.append(task())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    whole = Believed()
    for each in found:
        whole.merge(each)
    return whole


def patience(url: str, least: float) -> float:
    """A timeout for clients that is short, and long enough for this machine as busy as it is."""
    with httpx2.Client(base_url=url, timeout=PATIENCE) as http:
        times = [_until_answered(lambda: http.get("/livez")).elapsed.total_seconds() for _ in range(20)]
    return max(least, 80.0 * sorted(times)[10])


def clients_at_work(url: str, operations: int, clients: int, seed: int, *, timeout: float, retries: int) -> Believed:
    """An experiment, and clients that share one pool of connections and the operations."""
    with Client(url, timeout=timeout, retries=40, wait=0.01) as patient:
        patient.create(NAME, ARMS, UCB(), seed=seed)
    with Client(url, NAME, timeout=timeout, retries=retries, wait=0.01) as own:
        shares = [operations // clients + (place < operations % clients) for place in range(clients)]
        return together(
            [
                lambda share=share, place=place: work(own, share, seed * 1000 + place)
                for place, share in enumerate(shares)
            ]
        )


def work_without_ids(url: str, operations: int, clients: int, seed: int, *, timeout: float, retries: int) -> Believed:
    """The control: decisions with the same retries, and no id. ``seed`` and ``retries`` are there for the likeness."""
    with httpx2.Client(base_url=url, timeout=timeout) as http:
        asked = {"name": NAME, "arms": ARMS, "policy": {"name": "UCB"}}
        _until_answered(lambda: http.post("/v1/experiments", json=asked))

        def decide() -> Believed:
            done = Believed()
            for _ in range(operations // clients):
                made = _until_answered(lambda: http.post(f"/v1/experiments/{NAME}/decisions")).json()
                done.arms[made["id"]] = made["arm"]
                done.operations += 1
            return done

        return together([decide] * clients)


def _until_answered(ask: Callable[[], httpx2.Response]) -> httpx2.Response:
    while True:
        try:
            found = ask()
        except httpx2.TransportError:
            continue
        if found.status_code not in RETRY_STATUSES:
            return found


def anomalies(db: str, believed: Believed) -> list[str]:
    """All in which the journal differs from what the clients believe."""
    journal = open_journal(db, create=False)
    try:
        stored = journal.experiment(NAME)
        assert stored is not None
        events = list(journal.events(stored.id))
    finally:
        journal.close()
    found = [
        f"{event.kind} {event.id!r} is in the journal, and nobody asks for such"
        for event in events
        if event.kind not in ASKED_FOR
    ]
    arms = {str(event.id): ARMS[event.arm or 0] for event in events if event.kind == "decided"}
    rewards = {str(event.id): event.reward for event in events if event.kind == "observed"}
    cancelled = {str(event.id) for event in events if event.kind == "cancelled"}
    unsure = believed.given_up
    found += _apart("decided", arms, believed.arms, unsure)
    found += _apart("observed", rewards, believed.rewards, unsure)
    found += _apart("cancelled", dict.fromkeys(cancelled), dict.fromkeys(believed.cancelled), unsure)
    return found


def _apart(kind: str, here: Mapping[str, object], there: Mapping[str, object], unsure: set[str]) -> list[str]:
    unknown = [id for id in here.keys() - there.keys() if not {id, id.rpartition(".")[0]} & unsure]
    return (
        [f"{kind} {id!r} is in the journal, and no client knows of it" for id in unknown]
        + [f"{kind} {id!r} is believed, and not in the journal" for id in there.keys() - here.keys()]
        + [f"{kind} {id!r} is {here[id]}, believed {there[id]}" for id in here.keys() & there if here[id] != there[id]]
    )


def miscounts(url: str, believed: Believed) -> list[str]:
    """All in which the server's counts differ from those of what the clients believe."""
    shown = believed.arms.keys() - believed.cancelled
    pulls = Counter(believed.arms[id] for id in shown)
    answered = Counter(believed.arms[id] for id in believed.rewards)
    found = []
    with Client(url, NAME, timeout=PATIENCE) as client:
        if client.decisions != len(believed.arms):
            found.append(f"the server counts {client.decisions} decisions, the clients {len(believed.arms)}")
        for arm in client.summary():
            total = math.fsum(reward for id, reward in believed.rewards.items() if believed.arms[id] == arm.arm)
            mean = total / answered[arm.arm] if answered[arm.arm] else None
            mine = (pulls[arm.arm], answered[arm.arm], pulls[arm.arm] - answered[arm.arm], mean)
            if (arm.pulls, arm.observed, arm.pending, arm.mean) != mine:
                found.append(f"{arm} is believed to be (pulls, observed, pending, mean) = {mine}")
    return found


def verified(db: str) -> subprocess.CompletedProcess[str]:
    """What ``belated verify`` says."""
    command = [sys.executable, "-m", "belated", "verify", "--db", db]
    return subprocess.run(command, capture_output=True, text=True, check=False)
