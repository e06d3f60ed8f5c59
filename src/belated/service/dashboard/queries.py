"""Looking at experiments: what the pages show, read from the writer's memory and from the journal."""

from __future__ import annotations

import re
import threading
import time
from typing import Any, cast

import structlog

from belated.errors import StorageError
from belated.service.api.messages import ExperimentAnswer, ExperimentsAnswer
from belated.service.api.views import experiment_view, experiments_view
from belated.service.core.delay_curves import delay_curves
from belated.service.core.errors import no_storage, unknown_experiment
from belated.service.core.export import event_line
from belated.service.core.service import Service
from belated.service.core.spec import NAME
from belated.service.core.timestamps import now
from belated.service.core.transaction import Operation, Transaction
from belated.service.dashboard.aggregates import ages, brackets, traffic
from belated.service.dashboard.counters import Tally
from belated.service.dashboard.elimination_reasons import explained
from belated.service.dashboard.schemas import Elimination, Feedback, Page
from belated.service.dashboard.ttl_cache import Fresh
from belated.service.storage.database import Database

log = structlog.get_logger()

TAIL = 14
"""Events of the live tail."""
AT_ONCE = 20_000
"""Events that are counted at a time."""
MOMENT = 0.5
"""Seconds of a look that are spent on counting."""


class Watched:
    """What is kept of an experiment between two looks."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.eliminated: list[Elimination] = []
        self.lock = threading.Lock()

    def take_along(self, database: Database, experiment: ExperimentAnswer) -> None:
        """Count what is new, as far as that goes within a moment: a long journal takes several looks."""
        self.tally.make_room(len(experiment.arms), experiment.decisions)
        end = time.monotonic() + MOMENT
        while self.tally.seq < experiment.last_event:
            until = min(self.tally.seq + AT_ONCE, experiment.last_event)
            self.eliminated += explained(database, self.tally, experiment, until)
            self.tally.advance(database, until)
            if time.monotonic() > end:
                break


class Look:
    """The eyes of the dashboard."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fresh = Fresh()
        self._watched: dict[int, Watched] = {}

    async def experiments(self) -> ExperimentsAnswer:
        """All experiments."""
        found = await self._fresh.get("experiments", lambda: self._service.writer.run(Operation(experiments_view)))
        return cast("ExperimentsAnswer", found)

    async def page(self, name: str) -> Page:
        """All about one experiment."""
        if not re.fullmatch(NAME, name):
            raise unknown_experiment(name)
        try:
            delays = await self._fresh.get(("delays", name), lambda: self._delays(name), rest=10.0)
            page: Page = await self._fresh.get(("page", name), lambda: self._page(name, delays), rest=2.0)
        except StorageError as error:
            log.error("storage", detail=str(error))
            raise no_storage() from error
        return page

    # ---- in another thread ----

    def _viewed(self, name: str) -> tuple[int, ExperimentAnswer]:
        def act(session: Transaction) -> tuple[int, ExperimentAnswer]:
            experiment = session.experiment(name)
            return experiment.id, experiment_view(experiment)

        found: tuple[int, ExperimentAnswer] = self._service.writer.run(Operation(act, (name,)))
        return found

    def _delays(self, name: str) -> Any:
        _, experiment = self._viewed(name)
        with self._service.reading() as journal:
            return delay_curves(journal, name, [arm.arm for arm in experiment.arms])

    def _page(self, name: str, delays: Any) -> Page:
        number, experiment = self._viewed(name)
        names = [arm.arm for arm in experiment.arms]
        silence = experiment.silence.reward if experiment.silence is not None else None
        watched = self._watched.setdefault(number, Watched(Tally(number, len(names), silence)))
        with watched.lock, self._service.reading() as journal:
            watched.take_along(journal.database, experiment)
            tail = journal.newer(number, experiment.last_event - TAIL)
            return Page(
                experiment=experiment,
                counted=watched.tally.seq,
                feedback=self._feedback(name),
                traffic=traffic(watched.tally, experiment.arms),
                brackets=brackets(experiment.arms),
                eliminated=list(watched.eliminated),
                pending_by_age=ages(journal.database, watched.tally, now()),
                delays=delays,
                events=[event_line(event, names) for event in tail[: -TAIL - 1 : -1] if _known(event.arm, names)],
            )

    def _feedback(self, name: str) -> Feedback:
        counted = {
            sample.labels["result"]: int(sample.value)
            for metric in self._service.metrics.feedback.collect()
            for sample in metric.samples
            if sample.labels.get("experiment") == name and sample.name.endswith("_total")
        }
        return Feedback(counted.get("duplicate", 0), counted.get("conflict", 0))


def _known(arm: int | None, names: list[str]) -> bool:
    """Whether an arm was there when the names were read; the tail may be a little newer."""
    return arm is None or arm < len(names)
