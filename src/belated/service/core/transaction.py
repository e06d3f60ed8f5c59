"""One transaction: experiments that are up to date, decisions that are known, events that will be written."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
import structlog

from belated.errors import ApiError, StorageError
from belated.service.core.decision import Decision, decision_of
from belated.service.core.errors import unknown_experiment
from belated.service.core.experiment import Experiment, restored
from belated.service.core.spec import read_spec
from belated.service.core.timestamps import now
from belated.service.storage.events import Event
from belated.service.storage.journal import Journal, Stored

log = structlog.get_logger()


class Operation(msgspec.Struct, frozen=True):
    """Something to be done within a transaction. ``act`` refuses before it changes anything, or not at all."""

    act: Callable[[Transaction], Any]
    names: tuple[str, ...] = ()
    """The experiments that it is about, as far as they are known."""
    ids: tuple[str, ...] = ()
    """The decisions that it asks for."""


class ExperimentCache:
    """The experiments in memory, and those that cannot be read."""

    def __init__(self) -> None:
        self.by_name: dict[str, Experiment] = {}
        self.damaged: dict[str, tuple[int, str]] = {}
        """(its last event, what is wrong) of those that cannot be read; they are not tried again before there are
        more events."""

    def forget(self, names: set[str]) -> None:
        """These are read from the journal again when somebody asks for them."""
        for name in names:
            self.by_name.pop(name, None)


class Transaction:
    """What operations see of a transaction."""

    def __init__(self, journal: Journal, experiments: ExperimentCache, operations: list[Operation]) -> None:
        self._journal = journal
        self._experiments = experiments
        self._current: set[str] = set()
        self._stored: dict[int, Stored] = {}
        self.touched: set[str] = set()
        self.events: list[tuple[int, Event]] = []
        ids = [id for operation in operations for id in operation.ids]
        if journal.database.several_writers:
            self._lock(operations, ids)
        self._known = journal.of_decisions(ids)

    def _lock(self, operations: list[Operation], ids: list[str]) -> None:
        """Lock all experiments that the operations are about, at once."""
        names = {name for operation in operations for name in operation.names}
        for events in self._journal.of_decisions(ids).values():
            if events:
                names.add(self._stored_as(events[0][0]).name)
        self._journal.database.lock_experiments(names)

    def _stored_as(self, number: int) -> Stored:
        if number not in self._stored:
            self._stored[number] = self._journal.experiment_of(number)
        return self._stored[number]

    def find(self, name: str) -> Experiment | None:
        """The experiment of this name, as it is now."""
        if name not in self._current:
            self.touched.add(name)
            known = self._experiments.by_name.get(name)
            stored = self._journal.experiment(name) if known is None else None
            if known is None and stored is None:
                return None
            number = known.id if known is not None else stored.id if stored is not None else 0
            last, wrong = self._experiments.damaged.get(name, (-1, ""))
            if last >= 0 and last == self._journal.last(number):
                raise _damaged(name, wrong)
            try:
                self._experiments.by_name[name] = self._brought_up(known, stored)
            except StorageError:
                raise
            except Exception as error:  # what is written may be damaged in any way
                self._experiments.by_name.pop(name, None)
                self._experiments.damaged[name] = self._journal.last(number), str(error) or repr(error)
                log.error("experiment cannot be read", experiment=name, detail=str(error) or repr(error))
                raise _damaged(name, str(error) or repr(error)) from error
            self._experiments.damaged.pop(name, None)
            self._current.add(name)
        return self._experiments.by_name[name]

    def _brought_up(self, known: Experiment | None, stored: Stored | None) -> Experiment:
        """An experiment with all events that others wrote."""
        if known is None:
            assert stored is not None
            return restored(self._journal, stored)
        for event in self._journal.newer(known.id, known.seq):
            known.take_in(event)
        return known

    def experiment(self, name: str) -> Experiment:
        """The same, or an error if there is none."""
        found = self.find(name)
        if found is None:
            raise unknown_experiment(name)
        return found

    def all(self) -> tuple[list[Experiment], list[str]]:
        """(every experiment that can be read, the names of those that cannot), the oldest first."""
        found, damaged = [], []
        for stored in self._journal.experiments():
            try:
                found.append(self.experiment(stored.name))
            except ApiError:
                damaged.append(stored.name)
        return found, damaged

    def silent(self) -> list[str]:
        """The names of experiments in which silence is an answer."""
        return [each.name for each in self._journal.experiments() if _has_silence(each.spec)]

    def create(self, name: str, spec: str) -> Experiment:
        """A new experiment."""
        self.touched.add(name)
        made = Experiment(self._journal.create(name, spec, now()))
        self._experiments.by_name[name] = made
        self._current.add(name)
        return made

    def decision(self, id: str) -> Decision | None:
        """The decision of this id, with all that happened to it so far."""
        if id not in self._known:
            self._known.update(self._journal.of_decisions([id]))
        return decision_of(self._known[id])

    def last_event_of(self, id: str) -> Event:
        """The last thing that happened to a decision that is known."""
        return self._known[id][-1][1]

    def experiment_of(self, decision: Decision) -> Experiment:
        """The experiment that made a decision."""
        return self.experiment(self._stored_as(decision.experiment).name)

    def touch(self) -> None:
        """Write something that says nothing, to see whether that can be done."""
        self._journal.touch(now())

    def due(self, experiment: Experiment, time: int, limit: int) -> tuple[list[Event], int]:
        """(decisions whose deadline is not behind a time and that have no answer, the time up to which these are all).
        Decisions of this transaction are left to the next."""
        asked = limit + len(self.events)
        found = self._journal.due(experiment.id, experiment.swept, time, asked)
        answered = {event.id for _, event in self.events}
        due = [event for event in found if event.id not in answered][:limit]
        own = [event.deadline for number, event in self.events if number == experiment.id and event.deadline]
        more = [event.deadline for event in (due[limit - 1 :] or found[asked - 1 :]) if event.deadline]
        return due, min([time, *(deadline - 1 for deadline in (*own, *more))])

    def write(
        self, experiment: Experiment, kind: str, *, made: bool = False, at: int | None = None, **fields: Any
    ) -> Event:
        """An event happens, now or ``at`` a time; ``made`` if the learner knows of it already."""
        event = Event(experiment.seq + 1, kind, max(now(), experiment.at) if at is None else at, **fields)
        if made:
            experiment.decided(event)
        else:
            experiment.take_in(event)
        self.events.append((experiment.id, event))
        if event.id is not None:
            self._known.setdefault(event.id, []).append((experiment.id, event))
        return event


def _damaged(name: str, wrong: str) -> ApiError:
    return ApiError(
        500,
        "experiment-damaged",
        f"the experiment {name!r} cannot be read: {wrong} Others are not concerned; belated verify says more.",
    )


@lru_cache(10_000)
def _has_silence(spec: str) -> bool:
    try:
        return read_spec(spec).silence is not None
    except msgspec.MsgspecError:  # damaged
        return False
