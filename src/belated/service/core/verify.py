"""Verify a journal: the rules that its events obey, all decisions made again, and a comparison with the snapshots."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from belated.errors import BelatedError, IncompatibleState, StateError
from belated.service.core.experiment import Experiment, restore
from belated.service.core.spec import ID, LONGEST_ID
from belated.service.storage.events import MOVED, Event, Kind
from belated.service.storage.journal import Journal, StoredExperiment
from belated.service.timestamps import EARLIEST, LATEST

_NEXT: dict[str | None, set[str]] = {
    None: {Kind.DECIDED},
    Kind.DECIDED: {Kind.OBSERVED, Kind.IMPUTED, Kind.CANCELLED},
    Kind.IMPUTED: {Kind.REPLACED, Kind.CANCELLED},
}
"""The kinds of events that may follow each kind, in the lifecycle of a decision."""
_WITHOUT_DECISION = {Kind.ARM_ADDED, Kind.STOPPED, Kind.RESUMED, Kind.UPGRADED}
_ID = re.compile(ID)


def _extras(**fields: Any) -> type[msgspec.Struct]:
    """What the extras of an event may hold; each is optional."""
    return msgspec.defstruct(
        "Extras", [(name, type, None) for name, type in fields.items()], forbid_unknown_fields=True
    )


_OTHER_EXTRAS = _extras(moved=bool)
_FEEDBACK_EXTRAS = _extras(observed_at=int | None, moved=bool)
_EXTRAS = {
    Kind.DECIDED: _extras(unit=str | None, metadata=dict[str, Any] | None, count=int | None, of=int | None, moved=bool),
    Kind.OBSERVED: _FEEDBACK_EXTRAS,
    Kind.REPLACED: _FEEDBACK_EXTRAS,
    Kind.ARM_ADDED: msgspec.defstruct("Extras", [("name", str)], forbid_unknown_fields=True),
    Kind.UPGRADED: msgspec.defstruct(
        "Extras", [("policy", str), ("version", Annotated[int, msgspec.Meta(ge=1)])], forbid_unknown_fields=True
    ),
}


class LifecycleChecker:
    """Checks the events of an experiment one after the other."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._pulls: dict[str, tuple[int | None, int | None, int | None]] = {}
        """(number, arm, rank) of each decision."""
        self.other_versions: dict[int, int] = {}
        """How many decisions each other version of the policy made; they are not made again."""

    def apply(self, event: Event, experiment: Experiment) -> None:
        """Check the next event of an experiment, and apply it. A decision is made again and must come out the same,
        unless another version of the policy made it."""
        self.check(event, experiment)
        experiment.apply(event)
        if experiment.differs_at == event.seq:
            raise StateError(
                f"decision {event.id!r} was arm {event.arm}, and this version of the policy decides differently: the "
                "journal was written by another version that does not say so, or is damaged."
            )
        if event.kind == Kind.DECIDED and experiment.decided_by_another_version:
            versions = self.other_versions
            versions[experiment.policy_version] = versions.get(experiment.policy_version, 0) + 1

    def check(self, event: Event, experiment: Experiment) -> None:
        """Raise unless the event can be the next one of the experiment, which has applied all before."""
        if event.at < experiment.at:
            raise StateError(f"event {event.seq} is older than the previous one.")
        _check_times(event, experiment)
        _check_extra(event)
        if event.id is None:
            if event.kind not in _WITHOUT_DECISION:
                raise StateError(f"event {event.seq} is {event.kind} and has no decision.")
            return
        if len(event.id) > LONGEST_ID or not _ID.fullmatch(event.id):
            raise StateError(f"event {event.seq} has the invalid id {event.id!r}.")
        before = self._kinds.get(event.id)
        if event.kind not in _NEXT.get(before, set()):
            raise StateError(f"event {event.seq}: decision {event.id!r} was {before} and cannot be {event.kind} next.")
        pull = (event.number, event.arm, event.rank)
        if pull != self._pulls.setdefault(event.id, pull):
            raise StateError(f"event {event.seq}: decision {event.id!r} had another arm or number before.")
        self._check_reward(event, experiment, before)
        self._kinds[event.id] = event.kind

    def _check_reward(self, event: Event, experiment: Experiment, before: str | None) -> None:
        silence = experiment.spec.silence
        imputed = silence.reward if silence is not None else None
        if event.kind in (Kind.OBSERVED, Kind.REPLACED):
            good = event.reward is not None and 0.0 <= event.reward <= 1.0
        elif Kind.IMPUTED in (event.kind, before):  # cancelled: the imputed reward is retracted
            good = imputed is not None and event.reward == imputed
        else:
            good = event.reward is None
        if not good:
            raise StateError(f"event {event.seq}: decision {event.id!r} cannot have the reward {event.reward!r} here.")


def _check_times(event: Event, experiment: Experiment) -> None:
    silence = experiment.spec.silence
    if not EARLIEST <= event.at <= LATEST:
        raise StateError(f"event {event.seq} has the invalid time {event.at}.")
    if event.kind == Kind.DECIDED and silence is not None and event.extra != MOVED:
        good = event.deadline is not None and EARLIEST <= event.deadline <= event.at + round(silence.after * 1e6)
    else:
        good = event.deadline is None
    if not good:
        raise StateError(f"event {event.seq} has the deadline {event.deadline}, which does not follow from silence.")


def _check_extra(event: Event) -> None:
    if event.extra is None:
        if event.kind in (Kind.ARM_ADDED, Kind.UPGRADED):
            raise StateError(f"event {event.seq} is {event.kind} and does not say what was.")
        return
    try:
        extras = msgspec.json.decode(event.extra, type=_EXTRAS.get(event.kind, _OTHER_EXTRAS))
    except msgspec.MsgspecError as error:
        raise StateError(f"event {event.seq} has the extras {event.extra!r}: {error}.") from error
    observed_at = getattr(extras, "observed_at", None)
    if observed_at is not None and not EARLIEST <= observed_at <= LATEST:
        raise StateError(f"event {event.seq} was observed at {observed_at}, which is not a valid time.")


# ---- a journal ----


@dataclass(frozen=True)
class VerifyResult:
    """The result for one experiment."""

    name: str
    events: int
    decisions: int
    error: str | None
    note: str | None = None
    """What could not be verified."""


def verify(journal: Journal) -> list[VerifyResult]:
    """Make all decisions again, from the first event of each experiment on, and compare with the journal and the
    snapshots; a server may be running."""
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
            checker.apply(event, experiment)
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
    return VerifyResult(
        stored.name, experiment.seq, experiment.learner.decisions, None, _note(experiment, checker.other_versions)
    )


def _note(experiment: Experiment, other_versions: dict[int, int]) -> str | None:
    policy = experiment.learner.policy
    made = ", ".join(f"{count:,} by version {version}" for version, count in sorted(other_versions.items()))
    if not made:
        return None
    return f"{policy.label} is version {policy.version} here; decisions of other versions were not made again: {made}."


def _check_snapshot(stored: StoredExperiment, data: bytes, experiment: Experiment) -> None:
    snapshot = Experiment(stored)
    try:
        snapshot.load(data)
    except IncompatibleState:
        return  # it will not be used
    if not snapshot.equals(experiment):
        raise StateError(f"the snapshot at event {experiment.seq} differs from a replay of the events before it.")
