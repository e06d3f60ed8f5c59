"""What can follow what: events from a file, or from a database that may be damaged, are looked at before they are
lived again."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from belated.errors import StateError
from belated.service.api.messages import ID, LONGEST_ID
from belated.service.core.experiment import Experiment
from belated.service.core.timestamps import EARLIEST, LATEST
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

_AFTER: dict[str | None, set[str]] = {
    None: {DECIDED},
    DECIDED: {OBSERVED, IMPUTED, CANCELLED},
    IMPUTED: {REPLACED, CANCELLED},
}
"""What may follow what, in the life of a decision."""
_OF_AN_EXPERIMENT = {ARM_ADDED, STOPPED, RESUMED}
_ID = re.compile(ID)


class _BesideDecision(msgspec.Struct, forbid_unknown_fields=True):
    unit: str | None = None
    metadata: dict[str, Any] | None = None
    count: int | None = None
    of: int | None = None
    moved: bool = False


class _BesideAnswer(msgspec.Struct, forbid_unknown_fields=True):
    observed_at: int | None = None
    moved: bool = False


class _BesideArm(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _BesideOther(msgspec.Struct, forbid_unknown_fields=True):
    moved: bool = False


_BESIDE: dict[str, type[msgspec.Struct]] = {
    DECIDED: _BesideDecision,
    OBSERVED: _BesideAnswer,
    REPLACED: _BesideAnswer,
    ARM_ADDED: _BesideArm,
}
"""What may be written beside an event."""
Pull = tuple[int | None, int | None, int | None]
"""Number, arm and rank."""


class LifecycleChecker:
    """The decisions of an experiment, as far as its events were looked at."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._pulls: dict[str, Pull] = {}

    def check(self, event: Event, experiment: Experiment) -> None:
        """An error unless the event can be the next one of the experiment, which knows all those before."""
        if event.at < experiment.at:
            raise StateError(f"event {event.seq} is older than the one before it.")
        _check_times(event, experiment)
        _check_extra(event)
        if event.id is None:
            if event.kind not in _OF_AN_EXPERIMENT:
                raise StateError(f"event {event.seq} is {event.kind}, of no decision.")
            return
        if len(event.id) > LONGEST_ID or not _ID.fullmatch(event.id):
            raise StateError(f"event {event.seq} is of the decision {event.id!r}, which is no id.")
        before = self._kinds.get(event.id)
        if event.kind not in _AFTER.get(before, set()):
            raise StateError(f"event {event.seq}: decision {event.id!r} was {before}, and is {event.kind} then.")
        pull = (event.number, event.arm, event.rank)
        if pull != self._pulls.setdefault(event.id, pull):
            raise StateError(f"event {event.seq}: decision {event.id!r} was another arm, or in another place.")
        self._check_reward(event, experiment, before)
        self._kinds[event.id] = event.kind

    def _check_reward(self, event: Event, experiment: Experiment, before: str | None) -> None:
        silence = experiment.spec.silence
        silent = silence.reward if silence is not None else None
        if event.kind in (OBSERVED, REPLACED):
            good = event.reward is not None and 0.0 <= event.reward <= 1.0
        elif IMPUTED in (event.kind, before):  # cancelled: what silence had given is taken back
            good = silent is not None and event.reward == silent
        else:
            good = event.reward is None
        if not good:
            raise StateError(f"event {event.seq}: the reward of decision {event.id!r} is {event.reward!r} here.")


def _check_times(event: Event, experiment: Experiment) -> None:
    silence = experiment.spec.silence
    if not EARLIEST <= event.at <= LATEST:
        raise StateError(f"event {event.seq} is of the time {event.at}, which is none.")
    if event.kind == DECIDED and silence is not None and event.extra != MOVED:
        good = event.deadline is not None and EARLIEST <= event.deadline <= event.at + round(silence.after * 1e6)
    else:
        good = event.deadline is None
    if not good:
        raise StateError(f"event {event.seq} has the deadline {event.deadline}, which silence does not give it.")


def _check_extra(event: Event) -> None:
    if event.extra is None:
        if event.kind == ARM_ADDED:
            raise StateError(f"event {event.seq} adds an arm without a name.")
        return
    try:
        found = msgspec.json.decode(event.extra, type=_BESIDE.get(event.kind, _BesideOther))
    except msgspec.MsgspecError as error:
        raise StateError(f"event {event.seq} has {event.extra!r} beside it: {error}.") from error
    seen = getattr(found, "observed_at", None)
    if seen is not None and not EARLIEST <= seen <= LATEST:
        raise StateError(f"event {event.seq} was observed at {seen}, which is no time.")
