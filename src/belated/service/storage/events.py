"""Events: everything that can happen to an experiment."""

from __future__ import annotations

from typing import Any

import msgspec


class Kind:
    """The kinds of events."""

    DECIDED, OBSERVED, IMPUTED, REPLACED, CANCELLED = "decided", "observed", "imputed", "replaced", "cancelled"
    ARM_ADDED, STOPPED, RESUMED, UPGRADED = "arm-added", "stopped", "resumed", "upgraded"


KINDS = {value for name, value in vars(Kind).items() if name.isupper()}
MOVED = '{"moved":true}'
"""The extras of events that happened elsewhere, before their bandit was imported; their time is that of the import."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the journal. Times are microseconds since 1970, UTC."""

    seq: int
    """1, 2, ... within the experiment."""
    kind: str
    at: int
    """When it was written; never before the previous event."""
    id: str | None = None
    """Id of the decision."""
    number: int | None = None
    """decided: number of decisions made before."""
    arm: int | None = None
    """decided: index of the arm."""
    rank: int | None = None
    """decided: number of pulls of the arm before."""
    reward: float | None = None
    """observed, imputed, replaced."""
    deadline: int | None = None
    """decided: when silence counts as feedback."""
    extra: str | None = None
    """JSON: unit and metadata of a decision, observed_at of feedback, the name of an arm, the version of the policy."""

    def extras(self) -> dict[str, Any]:
        """``extra``, decoded."""
        extras: dict[str, Any] = msgspec.json.decode(self.extra) if self.extra else {}
        return extras


COLUMNS = Event.__struct_fields__
event_row = msgspec.structs.astuple
"""An event as a database row, in the order of :data:`COLUMNS`."""


def encode_extras(values: dict[str, Any]) -> str | None:
    """Values that are not None as JSON; None if there are none."""
    kept = {key: value for key, value in values.items() if value is not None}
    return msgspec.json.encode(kept, order="deterministic").decode() if kept else None
