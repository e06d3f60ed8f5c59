"""Verify a journal: replay all events and compare with the snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from belated.errors import BelatedError, IncompatibleState, StateError
from belated.service.core.event_rules import LifecycleChecker
from belated.service.core.experiment import Experiment, restore
from belated.service.storage.journal import Journal, StoredExperiment


@dataclass(frozen=True)
class VerifyResult:
    """The result for one experiment."""

    name: str
    events: int
    decisions: int
    error: str | None


def verify(journal: Journal) -> list[VerifyResult]:
    """Replay all experiments from their first event, and compare with their snapshots; a server may be running."""
    results = []
    for stored in journal.experiments():
        with journal.database.snapshot_read():
            results.append(_verify_experiment(journal, stored))
    return results


def _verify_experiment(journal: Journal, stored: StoredExperiment) -> VerifyResult:
    try:
        experiment = Experiment(stored)
    except (BelatedError, ValueError) as error:
        return VerifyResult(stored.name, 0, 0, f"its spec cannot be read: {error}")
    try:
        saved = journal.snapshot(stored.id)
        checker = LifecycleChecker()
        for event in journal.events(stored.id):
            checker.check(event, experiment)
            experiment.apply(event)
            if saved is not None and event.seq == saved[0]:
                _check_snapshot(stored, saved[1], experiment)
        if saved is not None and saved[0] > experiment.seq:
            raise StateError(f"there is a snapshot at event {saved[0]}, but only {experiment.seq} events.")
        restarted = restore(journal, stored)
        if not restarted.equals(experiment):
            raise StateError("the state after a restart differs from a replay of all events.")
        if journal.due(stored.id, 0, restarted.swept, 1):
            raise StateError("the snapshot skips a decision whose reward is still to be imputed.")
    except (BelatedError, AssertionError, LookupError, ValueError, TypeError) as error:
        return VerifyResult(stored.name, experiment.seq, experiment.learner.decisions, str(error) or repr(error))
    return VerifyResult(stored.name, experiment.seq, experiment.learner.decisions, None)


def _check_snapshot(stored: StoredExperiment, data: bytes, experiment: Experiment) -> None:
    snapshot = Experiment(stored)
    try:
        snapshot.load(data)
    except IncompatibleState:
        return  # it will not be used
    if not snapshot.equals(experiment):
        raise StateError(f"the snapshot at event {experiment.seq} differs from a replay of the events before it.")
