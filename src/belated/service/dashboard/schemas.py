"""What a page shows, as data: the JSON version of a page; its HTML is rendered from the same."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from belated.service.api.messages import DelaysAnswer, ExperimentAnswer


class Feedback(msgspec.Struct):
    """Feedback that had no effect, since the server started."""

    duplicates: Annotated[int, Meta(description="Repeated feedback, since the server started.")]
    conflicts: Annotated[int, Meta(description="Feedback refused with 409, since the server started.")]


class Series(msgspec.Struct):
    """The decisions of an arm per interval of time; ``arm`` is None for all other arms together."""

    arm: Annotated[str | None, Meta(description="The arm; null for all other arms together.")]
    place: Annotated[int | None, Meta(description="Its index; null for all other arms together.")]
    decisions: Annotated[list[int], Meta(description="Its decisions in each interval.")]


class Traffic(msgspec.Struct):
    """Decisions over time, in intervals with about the same number of decisions."""

    begin: Annotated[list[str], Meta(description="The start of each interval.")]
    end: Annotated[list[str], Meta(description="The end of each interval.")]
    series: Annotated[list[Series], Meta(description="The decisions in each interval, arm by arm.")]


class Bracket(msgspec.Struct):
    """The mean of an arm if everything pending fails (reward 0), and if it succeeds (reward 1)."""

    arm: Annotated[str, Meta(description="The arm.")]
    all_fail: Annotated[
        float | None, Meta(description="Its mean if everything pending fails; null before its first decision.")
    ]
    all_succeed: Annotated[float | None, Meta(description="Its mean if everything pending succeeds.")]


class Elimination(msgspec.Struct):
    """When and why an arm was eliminated: the bounds just before that decision."""

    arm: Annotated[str, Meta(description="The arm.")]
    place: Annotated[int, Meta(description="Its index.")]
    decision: Annotated[
        int,
        Meta(description="The first decision (1, 2, ...) that could no longer choose this arm: `eliminated_at`."),
    ]
    at: Annotated[str, Meta(description="When that decision was made.")]
    upper: Annotated[float, Meta(description="The upper bound of the arm at that time.")]
    by: Annotated[str, Meta(description="The arm with the largest lower bound at that time.")]
    lower: Annotated[float, Meta(description="That lower bound.")]
    sentence: Annotated[str, Meta(description="The same in words.")]


class Ages(msgspec.Struct):
    """Pending decisions by age in seconds: from ``edges[i]`` to ``edges[i + 1]``, the last open-ended."""

    at: Annotated[str, Meta(description="When this was computed.")]
    edges: Annotated[list[float], Meta(description="The start of each bin, in seconds; the last is open-ended.")]
    pending: Annotated[list[int], Meta(description="Pending decisions in each bin.")]
    oldest: Annotated[float | None, Meta(description="Age of the oldest in seconds; null if nothing is pending.")]


class Page(msgspec.Struct):
    """Everything on the page of an experiment."""

    experiment: Annotated[ExperimentAnswer, Meta(description="The current state of the experiment.")]
    counted: Annotated[
        int,
        Meta(
            description="Traffic, eliminations and ages cover the events up to this one: the last, or an earlier one "
            "while a long journal is still being read."
        ),
    ]
    feedback: Annotated[Feedback, Meta(description="Feedback that had no effect.")]
    traffic: Annotated[Traffic, Meta(description="Decisions over time.")]
    brackets: Annotated[list[Bracket], Meta(description="The best and the worst case for the mean of each arm.")]
    eliminated: Annotated[list[Elimination], Meta(description="When and why arms were eliminated.")]
    pending_by_age: Annotated[Ages, Meta(description="Pending decisions by age.")]
    delays: Annotated[DelaysAnswer, Meta(description="The delay curves.")]
    events: Annotated[list[dict[str, Any]], Meta(description="The newest events, newest first.")]
