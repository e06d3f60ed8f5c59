"""A transaction: up-to-date experiments, known decisions, and the events to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec
import structlog

from belated.errors import ApiError, StorageError
from belated.service import timestamps
from belated.service.core.experiment import DecisionState, Experiment, decision_state, log_differences, restore
from belated.service.core.spec import read_spec
from belated.service.problem_types import ProblemType, ambiguous_id, unknown_experiment
from belated.service.storage.events import Event, Kind, encode_extras
from belated.service.storage.journal import Journal, StoredExperiment

log = structlog.get_logger()


class Operation(msgspec.Struct, frozen=True):
    """A unit of work within a transaction. ``act`` refuses before it changes anything, or not at all."""

    act: Callable[[Transaction], Any]
    names: tuple[str, ...] = ()
    """The experiments it uses, as far as known."""
    ids: tuple[tuple[str | None, str], ...] = ()
    """The decisions it looks up: (name of the experiment, or None if it is not known, id)."""


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
        self.writes = False
        """Whether something else was written, too."""
        self._events_of: dict[tuple[int, str], list[tuple[int, Event]]] = {}
        """The events of decisions that were looked up: experiment, id."""
        self._holders: dict[str, set[int]] = {}
        """The experiments with a decision of an id, of ids that were looked up in all experiments."""
        asked = [pair for operation in operations for pair in operation.ids]
        ids = [id for name, id in asked if name is None]
        if journal.database.several_writers:
            names = {name for operation in operations for name in operation.names}
            self._look_up(ids)
            names |= {self._stored_experiment(number).name for held in self._holders.values() for number in held}
            journal.database.lock_experiments(names)  # all that the operations use, at once
        self._look_up(ids)
        numbers = {name: self._number_of(name) for name in {name for name, _ in asked if name is not None}}
        named = [(number, id) for name, id in asked if (number := numbers.get(name or "")) is not None]
        if named:
            found = journal.events_of_decisions([id for _, id in named], sorted({number for number, _ in named}))
            for number, id in named:
                self._events_of[number, id] = [pair for pair in found[id] if pair[0] == number]

    def _number_of(self, name: str) -> int | None:
        """The number of an experiment; None if there is none with this name."""
        known = self._experiments.by_name.get(name) or self.journal.experiment(name)
        return None if known is None else known.id

    def _look_up(self, ids: Sequence[str]) -> None:
        """Read the events of the decisions with these ids, in all experiments, and add what this transaction wrote."""
        written = self.events
        for id, stored in self.journal.events_of_decisions(ids).items():
            events = stored + [(number, event) for number, event in written if event.id == id]
            self._holders[id] = {number for number, _ in events}
            for holder in self._holders[id]:
                self._events_of[holder, id] = [pair for pair in events if pair[0] == holder]

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
                    log_differences(known)
                else:
                    known.catch_up(self.journal)  # with what other processes wrote
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
        self.writes = True
        experiment = Experiment(self.journal.create(name, spec, timestamps.now()))
        self._experiments.by_name[name] = experiment
        self._current.add(name)
        return experiment

    def touch(self) -> None:
        """Write the time, to see whether the database accepts writes."""
        self.writes = True
        self.journal.touch(timestamps.now())

    def decision(self, id: str, experiment: str | None = None) -> DecisionState | None:
        """The current state of a decision; None if it is unknown. An error if decisions of several experiments have the
        id, and none of them is named."""
        if experiment is not None:
            number = self.experiment(experiment).id
            if (number, id) not in self._events_of:
                self._look_up([id])
            return decision_state(self._events_of.get((number, id), []))
        if id not in self._holders:
            self._look_up([id])
        holders = self._holders[id]
        if len(holders) > 1:
            raise ambiguous_id(id, [self._stored_experiment(number).name for number in holders])
        return decision_state([pair for number in holders for pair in self._events_of[number, id]])

    def last_event_of(self, decision: DecisionState) -> Event:
        """The last event of a known decision."""
        return self._events_of[decision.experiment, str(decision.event.id)][-1][1]

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
        if kind == Kind.DECIDED and experiment.decided_by_another_version:
            policy = experiment.learner.policy
            self.write(
                experiment,
                Kind.UPGRADED,
                at=at,
                extra=encode_extras({"policy": policy.label, "version": policy.version}),
            )
        event = Event(experiment.seq + 1, kind, max(timestamps.now(), experiment.at) if at is None else at, **fields)
        if applied:
            experiment.record(event)
        else:
            experiment.apply(event)
        self.events.append((experiment.id, event))
        if event.id is not None:
            if kind == Kind.DECIDED:
                self._events_of.setdefault((experiment.id, event.id), [])
            if (experiment.id, event.id) in self._events_of:
                self._events_of[experiment.id, event.id].append((experiment.id, event))
            if event.id in self._holders:
                self._holders[event.id].add(experiment.id)
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
