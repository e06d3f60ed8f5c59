"""Delay curves: Kaplan-Meier by hand, and what is left out of them."""

from __future__ import annotations

from contextlib import closing
from unittest import mock

import pytest
from serving import LocalServer

from belated.errors import ApiError
from belated.service import timestamps
from belated.service.api import monitoring
from belated.service.api.messages import CurveAnswer, DelaysAnswer
from belated.service.api.monitoring import delay_curves
from belated.service.core import operations
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import Operation
from belated.service.core.writer import Writer
from belated.service.storage.journal import open_journal

SECOND = 1_000_000
BEGIN = 1_700_000_000 * SECOND


def by_hand(waited: list[tuple[float, bool]]) -> tuple[list[float], list[float]]:
    """(times of answers, share answered by then): the product over those still out."""
    still, times, shares = 1.0, [], []
    for time in sorted({seconds for seconds, came in waited if came}):
        out = sum(seconds >= time for seconds, _ in waited)
        still *= 1.0 - sum(came and seconds == time for seconds, came in waited) / out
        times.append(time)
        shares.append(1.0 - still)
    return times, shares


def curves_of(db: str, arms: list[str], name: str = "e") -> DelaysAnswer:
    with closing(open_journal(db)) as journal:
        return delay_curves(journal, name, arms)


class Clock:
    def __init__(self) -> None:
        self.time = BEGIN

    def __call__(self) -> int:
        return self.time


def test_the_curve_is_kaplan_and_meiers(db: str) -> None:
    clock = Clock()
    with mock.patch.object(timestamps, "now", clock):
        writer = Writer(lambda: open_journal(db))
        writer.start()
        writer.run(operations.create("e", checked_spec(["a"], {"name": "UCB"}, 0, Silence(500.0, 0.0))))
        delays = [5, 3, None, 3, 8, None, 13, 1, "cancelled", 400]
        decided = []
        for delay in delays:
            decided.append((clock.time, writer.run(operations.decide("e", (), 1, {}))[0][0][1].event.id, delay))
            clock.time += 10 * SECOND
        last = clock.time
        for at, id, delay in decided:
            if delay == "cancelled":
                writer.run(operations.cancel(id))
            elif isinstance(delay, int):
                writer.run(
                    operations.feedback(id, 1.0, at + delay * SECOND)
                )  # as the caller says, not as it was written
        clock.time = last + 700 * SECOND
        assert writer.run(operations.impute("e")) == 2  # silence is no answer here: it is pending still
        writer.stop()
        found = curves_of(db, ["a"])
    lives = [
        (float(delay), True) if isinstance(delay, int) else ((clock.time - at) / SECOND, False)
        for at, _, delay in decided
        if delay != "cancelled"
    ]
    times, shares = by_hand(lives)
    [curve] = found.curves
    assert (curve.arm, curve.observed, curve.pending, found.decisions) == ("a", 7, 2, 9)
    assert curve.seconds == times
    assert curve.answered == pytest.approx(shares, abs=1e-12)
    for lower, share, upper in zip(curve.lower, curve.answered, curve.upper, strict=True):
        assert lower is None or 0.0 <= lower <= share
        assert upper is None or share <= upper <= 1.0


def test_arms_without_answers_have_no_curve(db: str) -> None:
    writer = Writer(lambda: open_journal(db))
    writer.start()
    writer.run(operations.create("e", checked_spec(["a", "b"], {"name": "UCB"}, 0, None)))
    found = writer.run(operations.decide("e", (), 4, {}))[0]
    first = found[0][1].event
    writer.run(operations.feedback(first.id, 1.0, first.at - 5 * SECOND))  # seen before it was decided: at once
    writer.stop()
    answer = curves_of(db, ["a", "b"])
    assert answer.curves[1] == CurveAnswer("b", 0, answer.curves[1].pending, [], [], [], [])
    assert answer.curves[0].seconds == [0.0]
    assert sum(curve.observed + curve.pending for curve in answer.curves) == 4
    assert len(curves_of(db, ["a"]).curves) == 1  # an arm that was added just now is left out
    with pytest.raises(ApiError):
        curves_of(db, ["a"], "nobody")


def test_long_curves_are_thinned(db: str) -> None:
    writer = Writer(lambda: open_journal(db))
    writer.start()
    writer.run(operations.create("e", checked_spec(["a"], {"name": "UCB"}, 0, None)))
    made = [decision.event for _, decision in writer.run(operations.decide("e", (), 700, {}))[0]]
    told = [operations.feedback(each.id, 1.0, each.at + (n + 1) * SECOND) for n, each in enumerate(made) if n % 7]
    writer.run(Operation(lambda tx: [each.act(tx) for each in told], (), tuple((None, each.id) for each in made)))
    writer.stop()
    with mock.patch.object(timestamps, "now", return_value=1 << 57):
        [curve] = curves_of(db, ["a"]).curves
    assert curve.observed == 600
    assert (
        len(curve.seconds) == len(curve.answered) == len(curve.lower) == len(curve.upper) == monitoring.MAX_CURVE_POINTS
    )
    assert (curve.seconds[0], curve.seconds[-1]) == (2.0, 700.0)
    assert curve.answered == sorted(curve.answered)
    assert curve.answered[-1] == pytest.approx(600 / 700)


def test_over_http(served: LocalServer) -> None:
    with served.client() as http:
        http.post("/v1/experiments", json={"name": "e", "arms": ["a", "b"], "policy": {"name": "UCB"}})
        assert all(curve["seconds"] == [] for curve in http.get("/v1/experiments/e/delays").json()["curves"])
        http.post("/v1/experiments/e/decisions", json={"id": "d", "count": 6})
        for number in range(4):
            http.post(f"/v1/decisions/d.{number}/feedback", json={"reward": number % 2})
        found = http.get("/v1/experiments/e/delays").json()
        assert (found["experiment"], found["decisions"]) == ("e", 6)
        assert sum(curve["observed"] for curve in found["curves"]) == 4
        assert sum(curve["pending"] for curve in found["curves"]) == 2
