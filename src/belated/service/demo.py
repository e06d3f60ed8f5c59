"""A demo server with simulated traffic: three experiments with late feedback, drawn from the package's delay laws.

The journal starts with a history of some hours; from then on simulated visitors send requests over HTTP."""

from __future__ import annotations

import heapq
import random
import sched
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import httpx2
import numpy as np

from belated.delays import ByReward, LogNormal, Mixture, Never, Pareto
from belated.delays._base import DelayLaw
from belated.engine.environment import Environment
from belated.errors import ConfigurationError
from belated.problem import Problem
from belated.rewards import Bernoulli
from belated.service import timestamps
from belated.service.core.experiment import Experiment, event_pull
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import ExperimentCache, Transaction
from belated.service.serve import listen, serve
from belated.service.settings import Settings
from belated.service.storage.database import without_password
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal, open_journal

MAX_DELAY = 30 * 86_400
"""Longer delays, in seconds, count as never."""
MEAN_PAUSE = 4.0
"""Mean time in seconds between two visitors of an experiment."""


@dataclass(frozen=True)
class DemoScenario:
    """An experiment and its environment; delays are in seconds."""

    name: str
    arms: tuple[str, ...]
    policy: dict[str, Any] | None
    """None: the default, with or without silence."""
    means: tuple[float, ...]
    delay: DelayLaw
    silence: Silence | None = None
    reports_failure: bool = True
    cancels: float = 0.0
    """The share of decisions that are never shown, and cancelled."""


def demo_scenarios() -> tuple[DemoScenario, ...]:
    """The three scenarios: the default policy on delays that depend on rewards, the default with silence, and an
    elimination."""
    checkout = DemoScenario(
        "checkout",
        ("one page", "three steps", "express", "guest first", "with voucher"),
        None,
        (0.54, 0.40, 0.61, 0.47, 0.57),
        ByReward({0: LogNormal(8.0, 1.0), 1: LogNormal(2_400.0, 0.8)}),
    )
    newsletter = DemoScenario(
        "newsletter",
        ("question", "number", "first name", "plain"),
        None,
        (0.34, 0.30, 0.40, 0.24),
        Mixture([(0.72, LogNormal(240.0, 1.0)), (0.13, LogNormal(3_600.0, 0.7)), (0.15, Never())]),
        Silence(1_800.0, 0.0),
        reports_failure=False,
        cancels=0.015,
    )
    rng = np.random.default_rng(24)
    pictures = DemoScenario(
        "front-page",
        tuple(f"picture {number:02d}" for number in range(1, 25)),
        {"name": "OPSE"},
        tuple(float(mean) for mean in np.round(np.sort(rng.uniform(0.08, 0.5, 24)), 3)[rng.permutation(24)]),
        Pareto(0.45, 3.0),
    )
    return checkout, newsletter, pictures


class Visitors:
    """The simulated visitors of a scenario: a function of the seed, the arm and the id of the decision, and so the same
    after a restart."""

    def __init__(self, scenario: DemoScenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        problem = Problem([Bernoulli(mean) for mean in scenario.means], scenario.delay)
        self._environment = Environment(problem, horizon=MAX_DELAY, seed=seed, run=0)

    def outcome(self, id: str, arm: int) -> tuple[float, float | None]:
        """(reward, delay in seconds) of a decision; the delay is None if it is never reported."""
        reward, delay = self._environment.pull(arm, zlib.crc32(id.encode()), now=1)
        if delay is None or (reward == 0.0 and not self.scenario.reports_failure):
            return reward, None
        return reward, delay + self.chance(id, "moment")  # the fraction of a second

    def is_cancelled(self, id: str) -> bool:
        """Whether a decision is cancelled."""
        return self.chance(id, "cancelled") < self.scenario.cancels

    def chance(self, id: str, what: str) -> float:
        """A pseudorandom number in [0, 1) for anything else."""
        return zlib.crc32(f"{what} {id}".encode()) / 2**32


# ---- the history ----

HOURS = 8.0
"""Length of the history."""
MICRO = 1_000_000
BATCH = 2_000
"""Events in a transaction."""


def write_history(db: str, seed: int, hours: float = HOURS) -> None:
    """Write the history of the experiments that do not exist yet; raises if the database has keys."""
    with closing(open_journal(db)) as journal:
        if journal.all_keys():
            raise ConfigurationError(
                f"db is {without_password(db)!r}, which has keys; the demo needs one without. Give another --db."
            )
        for index, scenario in enumerate(demo_scenarios()):
            if journal.experiment(scenario.name) is None:
                rng = np.random.default_rng([seed, index])
                _simulate(journal, Visitors(scenario, seed), hours, rng)


def _simulate(journal: Journal, visitors: Visitors, hours: float, rng: np.random.Generator) -> None:
    """Simulate an experiment up to now."""
    scenario, end = visitors.scenario, timestamps.now()
    begin = end - round(hours * 3600 * MICRO)
    spec = checked_spec(list(scenario.arms), scenario.policy, visitors.seed, scenario.silence)
    with journal.database.transaction():
        journal.create(scenario.name, spec.text(), begin)
    pauses = rng.exponential(MEAN_PAUSE * MICRO, round(1.2 * hours * 3600 / MEAN_PAUSE) + 10)
    arrivals = begin + np.cumsum(pauses).astype(np.int64)
    order = count()
    # (time, tie-breaker, kind, fields of the decision)
    schedule: list[Any] = [(at, next(order), Kind.DECIDED, {}) for at in arrivals[arrivals < end].tolist()]
    experiments, seen = ExperimentCache(), set[str]()
    while schedule and schedule[0][0] < end:
        with journal.database.transaction():
            tx = Transaction(journal, experiments, [])
            experiment = tx.experiment(scenario.name)
            for _ in range(BATCH):
                if not schedule or schedule[0][0] >= end:
                    break
                at, _, kind, fields = heapq.heappop(schedule)
                if kind == Kind.DECIDED:
                    for then, kind, fields in _decide(tx, experiment, visitors, at):
                        heapq.heappush(schedule, (then, next(order), kind, fields))
                elif fields["id"] not in seen:
                    tx.write(experiment, kind, at=at, **fields)
                    seen.add(fields["id"])
                elif kind != Kind.IMPUTED:  # a reward was imputed before
                    tx.write(experiment, Kind.REPLACED, at=at, **fields)
            journal.append(tx.events)
            journal.save_snapshot(experiment.id, experiment.seq, experiment.save())


def _decide(
    tx: Transaction, experiment: Experiment, visitors: Visitors, at: int
) -> list[tuple[int, str, dict[str, Any]]]:
    """Make a decision; (time, kind, fields) of the events that follow from it."""
    number, arm, rank = experiment.decide()
    fields: dict[str, Any] = {"id": f"{experiment.name}-{number}", "number": number, "arm": arm, "rank": rank}
    silence = visitors.scenario.silence
    deadline = at + round(silence.after * MICRO) if silence is not None else None
    tx.write(experiment, Kind.DECIDED, applied=True, at=at, deadline=deadline, **fields)
    if visitors.is_cancelled(fields["id"]):
        return [(at + 2 * MICRO, Kind.CANCELLED, fields)]
    reward, delay = visitors.outcome(fields["id"], arm)
    schedule = []
    if delay is not None:
        schedule.append((at + round(delay * MICRO), Kind.OBSERVED, {**fields, "reward": reward}))
    if silence is not None and deadline is not None:
        schedule.append((deadline, Kind.IMPUTED, {**fields, "reward": silence.reward}))
    return schedule


# ---- live traffic ----

RECENT = 100_000
"""Events of an experiment that are searched for pending decisions."""
REPEATED, CONFLICTING = 0.02, 0.005
"""The share of feedback that is sent twice, and that contradicts itself."""
RETRY_SECONDS = 1.0


class DemoTraffic:
    """A thread that sends scheduled requests."""

    def __init__(self, db: str, seed: int) -> None:
        self._db = db
        self._visitors = [Visitors(scenario, seed) for scenario in demo_scenarios()]
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="visitors", daemon=True)
        self._schedule = sched.scheduler(time.time)

    def start(self, address: str) -> None:
        """Start sending to a server."""
        self._http = httpx2.Client(base_url=address, timeout=10.0)
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run(self) -> None:
        """Send the feedback of pending decisions, and the requests of new visitors."""
        with closing(open_journal(self._db, create=False)) as journal:
            for visitors in self._visitors:
                self._restore(journal, visitors)
        with self._http:
            while not self._stopped.is_set():
                wait = self._schedule.run(blocking=False)  # sends what is due
                self._stopped.wait(RETRY_SECONDS if wait is None else min(wait, RETRY_SECONDS))

    def _later(self, at: float, send: Callable[[], object]) -> None:
        self._schedule.enterabs(at, 0, self._try, (send,))

    def _try(self, send: Callable[[], object]) -> None:
        if not self._stopped.is_set():
            try:
                send()  # refusals are expected: conflicts, and cancelled decisions
            except httpx2.HTTPError:  # the server is busy, or about to end
                self._later(time.time() + RETRY_SECONDS, send)

    def _restore(self, journal: Journal, visitors: Visitors) -> None:
        """Schedule the feedback of pending decisions, and the next visitor."""
        stored = journal.experiment(visitors.scenario.name)
        assert stored is not None
        pending: dict[str, tuple[int, int]] = {}
        decisions = 0
        for event in journal.events(stored.id, max(journal.last(stored.id) - RECENT, 0)):
            if event.kind == Kind.DECIDED:
                arm, _, number = event_pull(event)
                pending[str(event.id)] = arm, event.at
                decisions = number + 1
            elif event.id is not None and event.kind != Kind.IMPUTED:
                pending.pop(event.id, None)
        for id, (arm, at) in pending.items():
            self._schedule_feedback(visitors, id, arm, at / 1e6)
        self._schedule_visitor(visitors, decisions)

    def _schedule_feedback(self, visitors: Visitors, id: str, arm: int, at: float) -> None:
        """Schedule what happens to a decision."""
        if visitors.is_cancelled(id):
            self._later(at + 2.0, partial(self._http.post, f"/v1/decisions/{id}/cancel", json={}))
            return
        reward, delay = visitors.outcome(id, arm)
        if delay is None:
            return
        post = partial(self._http.post, f"/v1/decisions/{id}/feedback")
        self._later(at + delay, partial(post, json={"reward": reward}))
        if visitors.chance(id, "twice") < REPEATED:
            self._later(at + delay + 5.0, partial(post, json={"reward": reward}))
        if visitors.chance(id, "otherwise") < CONFLICTING:
            self._later(at + delay + 8.0, partial(post, json={"reward": 1.0 - reward}))

    def _schedule_visitor(self, visitors: Visitors, number: int) -> None:
        pause = self._random.expovariate(1 / MEAN_PAUSE)
        self._later(time.time() + pause, partial(self._visit, visitors, number))

    def _visit(self, visitors: Visitors, number: int) -> None:
        name, id = visitors.scenario.name, f"{visitors.scenario.name}-{number}"
        response = self._http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
        self._schedule_visitor(visitors, number + 1)
        if response.is_success:
            arm = visitors.scenario.arms.index(response.json()["arm"])
            self._schedule_feedback(visitors, id, arm, time.time())


def run_demo(settings: Settings, seed: int, on_ready: Callable[[str], None]) -> None:
    """Serve the demo until a signal; ``on_ready`` is called with the address."""
    with listen(settings) as listener:  # first, so that a port in use is reported at once
        write_history(settings.db, seed)
        traffic = DemoTraffic(settings.db, seed)

        def start(address: str) -> None:
            traffic.start(address)
            on_ready(address)

        try:
            serve(settings, start, listener)
        finally:
            traffic.stop()
