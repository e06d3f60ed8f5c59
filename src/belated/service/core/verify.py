"""Everything computed anew from the journal, and compared with what is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass

from belated.errors import BelatedError, IncompatibleState, StateError
from belated.service.core.event_rules import LifecycleChecker
from belated.service.core.experiment import Experiment, restored
from belated.service.storage.journal import Journal, Stored


@dataclass(frozen=True)
class Verified:
    """What was found of one experiment."""

    name: str
    events: int
    decisions: int
    error: str | None


def verify(journal: Journal) -> list[Verified]:
    """Live all experiments again from their first event, and compare with their snapshots; a server may be at work
    meanwhile."""
    found = []
    for stored in journal.experiments():
        with journal.database.unchanging():
            found.append(_verified(journal, stored))
    return found


def _verified(journal: Journal, stored: Stored) -> Verified:
    try:
        experiment = Experiment(stored)
    except (BelatedError, ValueError) as error:
        return Verified(stored.name, 0, 0, f"what it is cannot be read: {error}")
    try:
        kept = journal.snapshot(stored.id)
        lives = LifecycleChecker()
        for event in journal.events(stored.id):
            lives.check(event, experiment)
            experiment.take_in(event)
            if kept is not None and event.seq == kept[0]:
                _compare(stored, kept[1], experiment)
        if kept is not None and kept[0] > experiment.seq:
            raise StateError(f"there is a snapshot at event {kept[0]}, and there are {experiment.seq} events.")
        again = restored(journal, stored)
        if not again.same_as(experiment):
            raise StateError("what a restart makes of it is not what the events make of it.")
        if journal.due(stored.id, 0, again.swept, 1):
            raise StateError("the snapshot has passed over a decision whose silence is still to become an answer.")
    except (BelatedError, AssertionError, LookupError, ValueError, TypeError) as error:
        return Verified(stored.name, experiment.seq, experiment.learner.decisions, str(error) or repr(error))
    return Verified(stored.name, experiment.seq, experiment.learner.decisions, None)


def _compare(stored: Stored, data: bytes, experiment: Experiment) -> None:
    saved = Experiment(stored)
    try:
        saved.load(data)
    except IncompatibleState:
        return  # it will not be used
    if not saved.same_as(experiment):
        raise StateError(f"the snapshot at event {experiment.seq} is not what the events before it make.")
