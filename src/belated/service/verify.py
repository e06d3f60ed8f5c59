"""Everything computed anew from the journal, and compared with what is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass

from belated.errors import BelatedError, StateError
from belated.journal.events import CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED, Event
from belated.journal.journal import Journal, Stored
from belated.service.experiment import Experiment, restored

_AFTER: dict[str | None, set[str]] = {
    None: {DECIDED},
    DECIDED: {OBSERVED, IMPUTED, CANCELLED},
    IMPUTED: {REPLACED, CANCELLED},
}
"""What may follow what, in the life of a decision."""


@dataclass(frozen=True)
class Verified:
    """What was found of one experiment."""

    name: str
    events: int
    decisions: int
    error: str | None


def verify(journal: Journal) -> list[Verified]:
    """Live all experiments again from their first event, and compare with their snapshots."""
    return [_verified(journal, stored) for stored in journal.experiments()]


def _verified(journal: Journal, stored: Stored) -> Verified:
    experiment = Experiment(stored)
    try:
        kept = journal.snapshot(stored.id)
        lives: dict[str, str] = {}
        for event in journal.events(stored.id):
            _check(event, experiment, lives)
            experiment.take_in(event)
            if kept is not None and event.seq == kept[0]:
                _compare(stored, kept[1], experiment)
        if not restored(journal, stored).same_as(experiment):
            raise StateError("what a restart makes of it is not what the events make of it.")
    except (BelatedError, AssertionError, IndexError, KeyError, ValueError) as error:
        return Verified(stored.name, experiment.seq, experiment.learner.decisions, str(error) or repr(error))
    return Verified(stored.name, experiment.seq, experiment.learner.decisions, None)


def _check(event: Event, experiment: Experiment, lives: dict[str, str]) -> None:
    if event.at < experiment.at:
        raise StateError(f"event {event.seq} is older than the one before it.")
    if event.id is not None:
        before = lives.get(event.id)
        if event.kind not in _AFTER.get(before, set()):
            raise StateError(f"event {event.seq}: decision {event.id!r} was {before}, and is {event.kind} then.")
        lives[event.id] = event.kind


def _compare(stored: Stored, data: bytes, experiment: Experiment) -> None:
    saved = Experiment(stored)
    try:
        saved.load(data)
    except StateError as error:
        if "other code" in str(error):
            return  # not of this version: it will not be used
        raise
    if not saved.same_as(experiment):
        raise StateError(f"the snapshot at event {experiment.seq} is not what the events before it make.")
