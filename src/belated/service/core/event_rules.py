"""Rules that events obey: events from a file, or from a database that may be damaged, are checked before they are
replayed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from belated.errors import StateError
from belated.service.core.experiment import Experiment
from belated.service.core.spec import ID, LONGEST_ID
from belated.service.storage.events import (
    ARM_ADDED,
    CANCELLED,
    DECIDED,
    IMPUTED,
    MOVED,
    OBSERVED,
    REPLACED,
    RESUMED,
    STOPPED,
    Event,
)
from belated.service.timestamps import EARLIEST, LATEST

_NEXT: dict[str | None, set[str]] = {
    None: {DECIDED},
    DECIDED: {OBSERVED, IMPUTED, CANCELLED},
    IMPUTED: {REPLACED, CANCELLED},
}
"""The kinds of events that may follow each kind, in the lifecycle of a decision."""
_WITHOUT_DECISION = {ARM_ADDED, STOPPED, RESUMED}
_ID = re.compile(ID)


class _DecisionExtras(msgspec.Struct, forbid_unknown_fields=True):
    unit: str | None = None
    metadata: dict[str, Any] | None = None
    count: int | None = None
    of: int | None = None
    moved: bool = False


class _FeedbackExtras(msgspec.Struct, forbid_unknown_fields=True):
    observed_at: int | None = None
    moved: bool = False


class _ArmExtras(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _OtherExtras(msgspec.Struct, forbid_unknown_fields=True):
    moved: bool = False


_EXTRAS: dict[str, type[msgspec.Struct]] = {
    DECIDED: _DecisionExtras,
    OBSERVED: _FeedbackExtras,
    REPLACED: _FeedbackExtras,
    ARM_ADDED: _ArmExtras,
}
"""What the extras of an event may hold."""
Pull = tuple[int | None, int | None, int | None]
"""Number, arm and rank."""


class LifecycleChecker:
    """Checks the events of an experiment one after the other."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._pulls: dict[str, Pull] = {}

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
        if event.kind in (OBSERVED, REPLACED):
            good = event.reward is not None and 0.0 <= event.reward <= 1.0
        elif IMPUTED in (event.kind, before):  # cancelled: the imputed reward is retracted
            good = imputed is not None and event.reward == imputed
        else:
            good = event.reward is None
        if not good:
            raise StateError(f"event {event.seq}: decision {event.id!r} cannot have the reward {event.reward!r} here.")


def _check_times(event: Event, experiment: Experiment) -> None:
    silence = experiment.spec.silence
    if not EARLIEST <= event.at <= LATEST:
        raise StateError(f"event {event.seq} has the invalid time {event.at}.")
    if event.kind == DECIDED and silence is not None and event.extra != MOVED:
        good = event.deadline is not None and EARLIEST <= event.deadline <= event.at + round(silence.after * 1e6)
    else:
        good = event.deadline is None
    if not good:
        raise StateError(f"event {event.seq} has the deadline {event.deadline}, which does not follow from silence.")


def _check_extra(event: Event) -> None:
    if event.extra is None:
        if event.kind == ARM_ADDED:
            raise StateError(f"event {event.seq} adds an arm without a name.")
        return
    try:
        extras = msgspec.json.decode(event.extra, type=_EXTRAS.get(event.kind, _OtherExtras))
    except msgspec.MsgspecError as error:
        raise StateError(f"event {event.seq} has the extras {event.extra!r}: {error}.") from error
    observed_at = getattr(extras, "observed_at", None)
    if observed_at is not None and not EARLIEST <= observed_at <= LATEST:
        raise StateError(f"event {event.seq} was observed at {observed_at}, which is not a valid time.")
