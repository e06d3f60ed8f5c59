"""What a page shows, as data: the JSON twins are these, and the HTML is drawn from them."""

from __future__ import annotations

from typing import Any

import msgspec

from belated.service.api.messages import DelaysAnswer, ExperimentAnswer


class Feedback(msgspec.Struct):
    """Feedback that changed nothing, since the server started."""

    duplicates: int
    conflicts: int


class Series(msgspec.Struct):
    """The decisions for an arm in each stretch of time; ``arm`` is None for all other arms together."""

    arm: str | None
    place: int | None
    decisions: list[int]


class Traffic(msgspec.Struct):
    """Decisions over time. Each stretch, from one time to another, holds about as many as the others."""

    begin: list[str]
    end: list[str]
    series: list[Series]


class Bracket(msgspec.Struct):
    """An arm's mean if all that is pending fails (reward 0), and if all of it succeeds (reward 1); None before the
    first decision."""

    arm: str
    all_fail: float | None
    all_succeed: float | None


class Elimination(msgspec.Struct):
    """When and why an arm was eliminated: from the counts in the journal just before that decision."""

    arm: str
    place: int
    decision: int
    """The first (1, 2, ...) that could no longer be this arm."""
    at: str
    upper: float
    """The arm's upper bound then."""
    by: str
    """The arm whose lower bound was the largest then."""
    lower: float
    """That lower bound."""
    sentence: str


class Ages(msgspec.Struct):
    """How many pending decisions are how old, in seconds: from ``edges[i]`` up to ``edges[i + 1]``, the last without
    an end."""

    at: str
    edges: list[float]
    pending: list[int]
    oldest: float | None


class Page(msgspec.Struct):
    """All that the page of an experiment shows."""

    experiment: ExperimentAnswer
    counted: int
    """Traffic, eliminations and ages are of the events up to this one: the last, or an earlier one while a long journal
    is being read."""
    feedback: Feedback
    traffic: Traffic
    brackets: list[Bracket]
    eliminated: list[Elimination]
    pending_by_age: Ages
    delays: DelaysAnswer
    events: list[dict[str, Any]]
    """The newest, the newest first."""
