"""Events: all that can happen to an experiment."""

from __future__ import annotations

from typing import Any

import msgspec

DECIDED, OBSERVED, IMPUTED, REPLACED, CANCELLED = "decided", "observed", "imputed", "replaced", "cancelled"
ARM_ADDED, STOPPED, RESUMED = "arm-added", "stopped", "resumed"
KINDS = (DECIDED, OBSERVED, IMPUTED, REPLACED, CANCELLED, ARM_ADDED, STOPPED, RESUMED)


MOVED = '{"moved":true}'
"""Beside every event that happened elsewhere, before its bandit moved here: the time is that of the move."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the journal. Times are microseconds since 1970, UTC."""

    seq: int
    """1, 2, ... in the experiment."""
    kind: str
    at: int
    """When it was written; never before the event in front of it."""
    id: str | None = None
    """The decision's."""
    number: int | None = None
    """decided: how many decisions were made before."""
    arm: int | None = None
    """decided: the arm's place among the names."""
    rank: int | None = None
    """decided: how often the arm was pulled before."""
    reward: float | None = None
    """observed, imputed, replaced."""
    deadline: int | None = None
    """decided: when silence becomes an answer."""
    extra: str | None = None
    """JSON: unit and metadata of a decision, observed_at of an answer, the name of an arm."""

    def more(self) -> dict[str, Any]:
        """What ``extra`` says."""
        found: dict[str, Any] = msgspec.json.decode(self.extra) if self.extra else {}
        return found


COLUMNS = ("seq", "kind", "at", "id", "number", "arm", "rank", "reward", "deadline", "extra")


def row_of(event: Event) -> tuple[Any, ...]:
    """An event as a row of the database, in the order of the columns."""
    return msgspec.structs.astuple(event)


def extra_of(values: dict[str, Any]) -> str | None:
    """Values that are not None as JSON, or None if there is none."""
    kept = {key: value for key, value in values.items() if value is not None}
    return msgspec.json.encode(kept, order="deterministic").decode() if kept else None
