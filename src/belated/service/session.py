"""One transaction: experiments that are up to date, decisions that are known, events that will be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from belated.errors import Refused
from belated.journal.events import Event
from belated.journal.journal import Journal, Stored
from belated.service.clock import now
from belated.service.decision import Decision, decision_of
from belated.service.experiment import Experiment, restored
from belated.service.spec import read_spec


class Operation(msgspec.Struct, frozen=True):
    """Something to be done within a transaction. ``act`` refuses before it changes anything, or not at all."""

    act: Callable[[Session], Any]
    names: tuple[str, ...] = ()
    """The experiments that it is about, as far as they are known."""
    ids: tuple[str, ...] = ()
    """The decisions that it asks for."""


class Experiments:
    """The experiments in memory, by name and by number."""

    def __init__(self) -> None:
        self.by_name: dict[str, Experiment] = {}

    def forget(self, names: set[str]) -> None:
        """These are read from the journal again when somebody asks for them."""
        for name in names:
            self.by_name.pop(name, None)


class Session:
    """What operations see of a transaction."""

    def __init__(self, journal: Journal, experiments: Experiments, operations: list[Operation]) -> None:
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
        experiments = self._experiments.by_name
        if name not in self._current:
            self.touched.add(name)
            if name in experiments:
                experiment = experiments[name]
                for event in self._journal.newer(experiment.id, experiment.seq):
                    experiment.take_in(event)
            else:
                stored = self._journal.experiment(name)
                if stored is None:
                    return None
                experiments[name] = restored(self._journal, stored)
            self._current.add(name)
        return experiments[name]

    def experiment(self, name: str) -> Experiment:
        """The same, or an error if there is none."""
        found = self.find(name)
        if found is None:
            raise Refused(
                404,
                "unknown-experiment",
                f"there is no experiment {name!r}; create it with POST /v1/experiments, or list them with GET.",
            )
        return found

    def all(self) -> list[Experiment]:
        """Every experiment, the oldest first."""
        return [self.experiment(stored.name) for stored in self._journal.experiments()]

    def silent(self) -> list[str]:
        """The names of experiments in which silence is an answer."""
        return [each.name for each in self._journal.experiments() if read_spec(each.spec).silence is not None]

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

    def pending(self, experiment: Experiment, after: int, limit: int) -> list[Event]:
        """Decisions without an answer, as far as they were written before this transaction."""
        found = self._journal.pending(experiment.id, after, limit + len(self.events))
        answered = {event.id for _, event in self.events}
        return [event for event in found if event.id not in answered][:limit]

    def written(self, experiment: Experiment) -> int:
        """The last event that was written before this transaction."""
        return experiment.seq - sum(number == experiment.id for number, _ in self.events)

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
