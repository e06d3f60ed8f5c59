"""A transaction: up-to-date experiments, known decisions, and the events to be written."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import msgspec
import structlog

from belated.errors import ApiError, StorageError
from belated.service import timestamps
from belated.service.core.experiment import DecisionState, Experiment, decision_state, restore
from belated.service.core.spec import read_spec
from belated.service.problem_types import ProblemType, unknown_experiment
from belated.service.storage.events import Event
from belated.service.storage.journal import Journal, StoredExperiment

log = structlog.get_logger()


class Operation(msgspec.Struct, frozen=True):
    """A unit of work within a transaction. ``act`` refuses before it changes anything, or not at all."""

    act: Callable[[Transaction], Any]
    names: tuple[str, ...] = ()
    """The experiments it uses, as far as known."""
    ids: tuple[str, ...] = ()
    """The decisions it looks up."""


class ExperimentCache:
    """The experiments in memory, and those that cannot be read."""

    def __init__(self) -> None:
        self.by_name: dict[str, Experiment] = {}
        self.damaged: dict[str, tuple[int, str]] = {}
        """(last event, what is wrong) of damaged experiments; they are not read again until there are more events."""


class Transaction:
    """What operations see of a transaction."""

    def __init__(self, journal: Journal, experiments: ExperimentCache, operations: list[Operation]) -> None:
        self.journal = journal
        self._experiments = experiments
        self._current: set[str] = set()
        self._stored_experiment = cache(journal.experiment_by_id)
        self.touched: set[str] = set()
        self.events: list[tuple[int, Event]] = []
        ids = [id for operation in operations for id in operation.ids]
        if journal.database.several_writers:
            names = {name for operation in operations for name in operation.names}
            found = journal.events_of_decisions(ids).values()
            names |= {self._stored_experiment(events[0][0]).name for events in found if events}
            journal.database.lock_experiments(names)  # all that the operations use, at once
        self._events_of = journal.events_of_decisions(ids)

    def find(self, name: str) -> Experiment | None:
        """The experiment with this name, up to date; None if there is none."""
        if name not in self._current:
            self.touched.add(name)
            known = self._experiments.by_name.get(name) or self.journal.experiment(name)
            if known is None:
                return None
            last, reason = self._experiments.damaged.get(name, (-1, ""))
            if last >= 0 and last == self.journal.last(known.id):
                raise _damaged(name, reason)
            try:
                if isinstance(known, StoredExperiment):
                    known = restore(self.journal, known)
                else:
                    for event in self.journal.events_after(known.id, known.seq):  # that other processes wrote
                        known.apply(event)
                self._experiments.by_name[name] = known
            except StorageError:
                raise
            except Exception as error:  # the journal may be damaged in any way
                reason = str(error) or repr(error)
                self._experiments.by_name.pop(name, None)
                self._experiments.damaged[name] = self.journal.last(known.id), reason
                log.error("experiment cannot be read", experiment=name, detail=reason)
                raise _damaged(name, reason) from error
            self._experiments.damaged.pop(name, None)
            self._current.add(name)
        return self._experiments.by_name[name]

    def experiment(self, name: str) -> Experiment:
        """The experiment with this name, or an error if there is none."""
        experiment = self.find(name)
        if experiment is None:
            raise unknown_experiment(name)
        return experiment

    def all(self) -> tuple[list[Experiment], list[str]]:
        """(every readable experiment, the names of damaged ones), oldest first."""
        experiments, damaged = [], []
        for stored in self.journal.experiments():
            try:
                experiments.append(self.experiment(stored.name))
            except ApiError:
                damaged.append(stored.name)
        return experiments, damaged

    def names_with_silence(self) -> list[str]:
        """The names of experiments that impute rewards."""
        return [each.name for each in self.journal.experiments() if _has_silence(each.spec)]

    def create(self, name: str, spec: str) -> Experiment:
        """Create an experiment."""
        self.touched.add(name)
        experiment = Experiment(self.journal.create(name, spec, timestamps.now()))
        self._experiments.by_name[name] = experiment
        self._current.add(name)
        return experiment

    def decision(self, id: str) -> DecisionState | None:
        """The current state of a decision; None if it is unknown."""
        if id not in self._events_of:
            self._events_of.update(self.journal.events_of_decisions([id]))
        return decision_state(self._events_of[id])

    def last_event_of(self, id: str) -> Event:
        """The last event of a known decision."""
        return self._events_of[id][-1][1]

    def experiment_of(self, decision: DecisionState) -> Experiment:
        """The experiment that a decision belongs to."""
        return self.experiment(self._stored_experiment(decision.experiment).name)

    def due(self, experiment: Experiment, time: int, limit: int) -> tuple[list[Event], int]:
        """(pending decisions with a deadline up to ``time``, the time up to which the list is complete). Decisions of
        this transaction are left to the next."""
        asked = limit + len(self.events)
        candidates = self.journal.due(experiment.id, experiment.swept, time, asked)
        written = {event.id for _, event in self.events}
        due = [event for event in candidates if event.id not in written][:limit]
        own = [event.deadline for number, event in self.events if number == experiment.id and event.deadline]
        more = [event.deadline for event in (due[limit - 1 :] or candidates[asked - 1 :]) if event.deadline]
        return due, min([time, *(deadline - 1 for deadline in (*own, *more))])

    def write(
        self, experiment: Experiment, kind: str, *, applied: bool = False, at: int | None = None, **fields: Any
    ) -> Event:
        """Append an event, now or ``at`` a time; ``applied`` if the learner already knows it."""
        event = Event(experiment.seq + 1, kind, max(timestamps.now(), experiment.at) if at is None else at, **fields)
        if applied:
            experiment.record(event)
        else:
            experiment.apply(event)
        self.events.append((experiment.id, event))
        if event.id is not None:
            self._events_of.setdefault(event.id, []).append((experiment.id, event))
        return event


def _damaged(name: str, reason: str) -> ApiError:
    return ProblemType.EXPERIMENT_DAMAGED.error(
        f"the experiment {name!r} cannot be read: {reason} Others are not affected; run belated verify for details."
    )


@lru_cache(10_000)
def _has_silence(spec: str) -> bool:
    try:
        return read_spec(spec).silence is not None
    except msgspec.MsgspecError:  # damaged
        return False
