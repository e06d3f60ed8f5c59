"""What a page shows, as data: the JSON version of a page; its HTML is rendered from the same."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from belated.service.api.messages import DelaysAnswer, ExperimentAnswer, doc


class Feedback(msgspec.Struct):
    """Feedback that had no effect, since the server started."""

    duplicates: Annotated[int, doc("Repeated feedback, since the server started.")]
    conflicts: Annotated[int, doc("Feedback refused with 409, since the server started.")]


class Series(msgspec.Struct):
    """The decisions of an arm per interval of time; ``arm`` is None for all other arms together."""

    arm: Annotated[str | None, doc("The arm; null for all other arms together.")]
    place: Annotated[int | None, doc("Its index; null for all other arms together.")]
    decisions: Annotated[list[int], doc("Its decisions in each interval.")]


class Traffic(msgspec.Struct):
    """Decisions over time, in intervals with about the same number of decisions."""

    begin: Annotated[list[str], doc("The start of each interval.")]
    end: Annotated[list[str], doc("The end of each interval.")]
    series: Annotated[list[Series], doc("The decisions in each interval, arm by arm.")]


class Bracket(msgspec.Struct):
    """The mean of an arm if everything pending fails (reward 0), and if it succeeds (reward 1)."""

    arm: Annotated[str, doc("The arm.")]
    all_fail: Annotated[float | None, doc("Its mean if everything pending fails; null before its first decision.")]
    all_succeed: Annotated[float | None, doc("Its mean if everything pending succeeds.")]


class Elimination(msgspec.Struct):
    """When and why an arm was eliminated: the bounds just before that decision."""

    arm: Annotated[str, doc("The arm.")]
    place: Annotated[int, doc("Its index.")]
    decision: Annotated[
        int, doc("The first decision (1, 2, ...) that could no longer choose this arm: `eliminated_at`.")
    ]
    at: Annotated[str, doc("When that decision was made.")]
    upper: Annotated[float, doc("The upper bound of the arm at that time.")]
    by: Annotated[str, doc("The arm with the largest lower bound at that time.")]
    lower: Annotated[float, doc("That lower bound.")]
    sentence: Annotated[str, doc("The same in words.")]


class Ages(msgspec.Struct):
    """Pending decisions by age in seconds: from ``edges[i]`` to ``edges[i + 1]``, the last open-ended."""

    at: Annotated[str, doc("When this was computed.")]
    edges: Annotated[list[float], doc("The start of each bin, in seconds; the last is open-ended.")]
    pending: Annotated[list[int], doc("Pending decisions in each bin.")]
    oldest: Annotated[float | None, doc("Age of the oldest in seconds; null if nothing is pending.")]


class Page(msgspec.Struct):
    """Everything on the page of an experiment."""

    experiment: Annotated[ExperimentAnswer, doc("The current state of the experiment.")]
    counted: Annotated[
        int,
        doc(
            "Traffic, eliminations and ages cover the events up to this one: the last, or an earlier one "
            "while a long journal is still being read."
        ),
    ]
    feedback: Annotated[Feedback, doc("Feedback that had no effect.")]
    traffic: Annotated[Traffic, doc("Decisions over time.")]
    brackets: Annotated[list[Bracket], doc("The best and the worst case for the mean of each arm.")]
    eliminated: Annotated[list[Elimination], doc("When and why arms were eliminated.")]
    pending_by_age: Annotated[Ages, doc("Pending decisions by age.")]
    delays: Annotated[DelaysAnswer, doc("The delay curves.")]
    events: Annotated[list[dict[str, Any]], doc("The newest events, newest first.")]
