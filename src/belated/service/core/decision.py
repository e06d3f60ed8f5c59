"""A decision and what became of it, read from its events."""

from __future__ import annotations

from typing import Any, NamedTuple

from belated.service.storage.events import CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED, Event

PENDING = "pending"


class Decision(NamedTuple):
    """The life of a decision: pending, then observed, imputed (and perhaps observed after all), or cancelled."""

    experiment: int
    event: Event
    """That it was made."""
    status: str
    """pending, observed, imputed or cancelled."""
    reward: float | None = None
    observed_at: int | None = None
    """When it was seen, as the caller says; else when it was written."""
    late: bool = False
    """The true answer came after silence had been taken for one."""

    @property
    def asked(self) -> dict[str, Any]:
        """Unit and metadata, as they were given."""
        return self.event.more()


def decision_of(events: list[tuple[int, Event]]) -> Decision | None:
    """The decision that these events tell of, if it was made."""
    if not events:
        return None
    experiment, first = events[0]
    assert first.kind == DECIDED
    found = Decision(experiment, first, PENDING)
    for _, event in events[1:]:
        if event.kind == CANCELLED:
            found = found._replace(status=CANCELLED, reward=None, observed_at=None, late=False)
        else:
            seen = event.more().get("observed_at", event.at)
            status = IMPUTED if event.kind == IMPUTED else OBSERVED
            late = event.kind == REPLACED
            found = found._replace(status=status, reward=event.reward, observed_at=seen, late=late)
    return found
