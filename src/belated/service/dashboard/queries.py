"""Queries behind the dashboard: pages from the writer's memory and from the journal."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from belated.live.learner import ArmCounts, Learner
from belated.service import timestamps
from belated.service.api.experiments import experiment_view, experiments_view
from belated.service.api.messages import ExperimentAnswer, ExperimentsAnswer
from belated.service.api.monitoring import delay_curves
from belated.service.core.experiment import Experiment
from belated.service.core.export import event_line
from belated.service.core.service import Service
from belated.service.core.spec import NAME, make_policy
from belated.service.core.transaction import Operation
from belated.service.dashboard.counters import Counters, Elimination, Feedback, Page, brackets, pending_ages, traffic
from belated.service.dashboard.formatting import distinguishable, grouped, truncate
from belated.service.problem_types import unknown_experiment
from belated.service.storage.journal import Journal
from belated.service.timestamps import isoformat

TAIL = 14
"""Events of the live tail."""
COUNT_BATCH = 20_000
"""Events counted at a time."""
COUNT_SECONDS = 0.5
"""Time per request that is spent on counting."""
FRESH_SECONDS, MAX_FRESH_SECONDS = 1.0, 60.0
"""How long cached values are fresh."""
MAX_CACHED = 256


class TTLCache:
    """Values by key, computed in another thread; concurrent requests for a key compute it once."""

    def __init__(self) -> None:
        self._values: dict[Any, tuple[float, Any]] = {}
        self._locks: dict[Any, asyncio.Lock] = {}

    async def get(self, key: Any, compute: Callable[[], Any], rest: float = 1.0) -> Any:
        """The value of a key; one that was slow to compute stays fresh ``rest`` times as long."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                expires, value = self._values.get(key, (0.0, None))
                begin = time.monotonic()
                if begin < expires:
                    return value
                value = await run_in_threadpool(compute)
                end = time.monotonic()
                self._values[key] = (end + min(max(FRESH_SECONDS, rest * (end - begin)), MAX_FRESH_SECONDS), value)
        finally:
            if key not in self._values:  # it failed; perhaps there is no such thing
                self._locks.pop(key, None)
        if len(self._values) > MAX_CACHED:
            for old in [key for key, (expires, _) in self._values.items() if expires < end]:
                del self._values[old]
                self._locks.pop(old, None)
        return value


class WatchedExperiment:
    """What is kept of an experiment between two requests."""

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.eliminated: list[Elimination] = []
        self.lock = threading.Lock()
        self._replay: Experiment | None = None
        """A replay, to explain eliminations by a policy that needs more than counts."""

    def advance(self, journal: Journal, experiment: ExperimentAnswer) -> None:
        """Count new events for a limited time: a long journal takes several requests."""
        self.counters.reserve(len(experiment.arms), experiment.decisions)
        end = time.monotonic() + COUNT_SECONDS
        while self.counters.seq < experiment.last_event:
            until = min(self.counters.seq + COUNT_BATCH, experiment.last_event)
            self.eliminated += self._explain(journal, experiment, until)
            self.counters.advance(journal, until)
            if time.monotonic() > end:
                break

    def _explain(self, journal: Journal, experiment: ExperimentAnswer, until: int) -> list[Elimination]:
        """Explain the eliminations between the counters and an event, by the policy's bounds just before them; advances
        the counters to the last of them."""
        policy, counters = make_policy(experiment.policy), self.counters
        gone = {index: arm.eliminated_at for index, arm in enumerate(experiment.arms) if arm.eliminated_at is not None}
        numbers = sorted({decision - 1 for decision in gone.values()})
        names = [arm.arm for arm in experiment.arms]
        explained = []
        for number, seq, at in journal.decisions_numbered(counters.experiment, numbers, counters.seq, until):
            counters.advance(journal, seq - 1)
            if policy.memory:
                learner = self._replayed(journal, seq - 1)
            else:
                counts = ArmCounts(counters.pulls, counters.observed, counters.total)
                learner = Learner.from_counts(policy, experiment.seed, counts, decisions=number)
            explained += _eliminations(learner, names, gone, at)
        decisions = self._replay.learner.decisions if self._replay is not None else 0
        more = len(gone) + 1 < len(names) or any(decision > decisions for decision in gone.values())
        if policy.memory and policy.shape().eliminates and more:
            self._replayed(journal, until)  # step by step, so that the next explanation is near
        return explained

    def _replayed(self, journal: Journal, until: int) -> Learner:
        """The learner after an event."""
        if self._replay is None:
            self._replay = Experiment(journal.experiment_by_id(self.counters.experiment))
        if until > self._replay.seq:
            for event in journal.events(self.counters.experiment, self._replay.seq, until - self._replay.seq):
                self._replay.apply(event)
        return self._replay.learner


def _eliminations(learner: Learner, names: list[str], gone: dict[int, int], at: int) -> list[Elimination]:
    """The arms that the next decision eliminates, each with its bound and the one above it."""
    decision = learner.decisions + 1
    active = [index for index in range(len(names)) if gone.get(index, decision) >= decision]
    bounds = {index: learner.bounds(index) for index in active}
    best = max(active, key=lambda index: bounds[index].lower)
    lower = bounds[best].lower
    eliminations = []
    for index in active:
        if gone.get(index) == decision:
            upper = bounds[index].upper
            high, low = distinguishable(upper, lower)
            sentence = (
                f"At decision {grouped(decision)} its upper bound, {high}, was below the lower bound of "
                f"{truncate(names[best])}, {low}."
            )
            eliminations.append(
                Elimination(names[index], index, decision, isoformat(at), upper, names[best], lower, sentence)
            )
    return eliminations


class Queries:
    """The data of the dashboard's pages."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._cache = TTLCache()
        self._watched: dict[int, WatchedExperiment] = {}

    async def experiments(self) -> ExperimentsAnswer:
        """All experiments."""
        run = self._service.writer.run
        view: ExperimentsAnswer = await self._cache.get("experiments", lambda: run(Operation(experiments_view)))
        return view

    async def page(self, name: str) -> Page:
        """The page of an experiment."""
        if not re.fullmatch(NAME, name):
            raise unknown_experiment(name)
        delays = await self._cache.get(("delays", name), lambda: self._delays(name), rest=10.0)
        page: Page = await self._cache.get(("page", name), lambda: self._page(name, delays), rest=2.0)
        return page

    def _view(self, name: str) -> tuple[int, ExperimentAnswer]:
        operation = Operation(lambda tx: (tx.experiment(name).id, experiment_view(tx.experiment(name))), (name,))
        view: tuple[int, ExperimentAnswer] = self._service.writer.run(operation)
        return view

    def _delays(self, name: str) -> Any:
        _, experiment = self._view(name)
        with self._service.reader() as journal:
            return delay_curves(journal, name, [arm.arm for arm in experiment.arms])

    def _page(self, name: str, delays: Any) -> Page:
        number, experiment = self._view(name)
        names = [arm.arm for arm in experiment.arms]
        silence = experiment.silence.reward if experiment.silence is not None else None
        watched = self._watched.setdefault(number, WatchedExperiment(Counters(number, len(names), silence)))
        with watched.lock, self._service.reader() as journal:
            watched.advance(journal, experiment)
            tail = journal.events_after(number, experiment.last_event - TAIL)
            return Page(
                experiment=experiment,
                counted=watched.counters.seq,
                feedback=self._feedback(name),
                traffic=traffic(watched.counters, experiment.arms),
                brackets=brackets(experiment.arms),
                eliminated=list(watched.eliminated),
                pending_by_age=pending_ages(journal, watched.counters, timestamps.now()),
                delays=delays,
                events=[
                    event_line(event, names)
                    for event in tail[: -TAIL - 1 : -1]
                    if event.arm is None or event.arm < len(names)  # the tail may be newer than the names
                ],
            )

    def _feedback(self, name: str) -> Feedback:
        counts = {
            sample.labels["result"]: int(sample.value)
            for metric in self._service.metrics.feedback.collect()
            for sample in metric.samples
            if sample.labels.get("experiment") == name and sample.name.endswith("_total")
        }
        return Feedback(counts.get("duplicate", 0), counts.get("conflict", 0))
