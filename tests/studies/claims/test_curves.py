"""Flat stretches and slopes of curves, against a second text of each that goes step by step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.simulation.simulate import rounds_of
from belated.studies.claims import Status
from belated.studies.claims.runs import Flat, SameSlope, Straight, flat_shares, flat_stretches, rising_slopes
from strategies import examples
from synthetic import Numbers, evidence, result, stairs

PATTERNS = st.text("0002", min_size=1, max_size=12)


def heights(curve: Numbers) -> list[float]:
    """What each step adds, up to the last that adds something; all steps where none does."""
    added = np.diff(curve, prepend=0.0).tolist()
    last = max((place for place, height in enumerate(added) if height), default=len(added) - 1)
    return added[: last + 1]


def stretches(curve: Numbers) -> list[int]:
    """Lengths of the flat stretches before the last rise."""
    if not curve.any():
        return []
    marks = "".join("x" if height else "." for height in heights(curve))
    return [len(part) for part in marks.split("x") if part]


@examples(200)
@given(PATTERNS, st.integers(1, 5))
def test_flat_parts_step_by_step(pattern: str, least: int) -> None:
    curves = stairs(pattern, runs=1)
    steps = heights(curves[0])
    assert flat_shares(curves) == pytest.approx([steps.count(0.0) / len(steps)])
    assert flat_stretches(curves, least).tolist() == [sum(length >= least for length in stretches(curves[0]))]
    rising = [height for height in steps if height]
    assert rising_slopes(curves, 10) == pytest.approx([sum(rising) / (10 * max(len(rising), 1))])


def test_runs_do_not_mix() -> None:
    patterns = ("1011", "0000", "0001", "1000", "3140")
    curves = stairs(*patterns, runs=5)
    for place, pattern in enumerate(patterns):
        alone = stairs(pattern, runs=1)
        assert flat_shares(curves)[place] == flat_shares(alone)[0]
        assert flat_stretches(curves, 1)[place] == flat_stretches(alone, 1)[0]
        assert rising_slopes(curves, 5)[place] == rising_slopes(alone, 5)[0]


def test_a_run_without_regret_is_flat() -> None:
    curves = stairs("000", runs=2)
    assert flat_shares(curves).tolist() == [1.0, 1.0]
    assert flat_stretches(curves, 1).tolist() == [0, 0]
    assert rising_slopes(curves, 5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("pattern", "ratio", "note"),
    [
        ("12", 2, "1 at round 500, 3 at the end"),
        ("1112", 3 / 2, "2 at round 500, 5 at the end"),
        ("110100", 1 / 2, "2 at round 500, 3 at the end"),
        ("1000000001", 1, "1 at round 500, 2 at the end"),
    ],
)
def test_the_first_half_ends_at_half_of_the_horizon(pattern: str, ratio: float, note: str) -> None:
    found = Straight("A").judge(evidence(lambda: result({"A": stairs(pattern)})), 0.1).findings[0]
    assert found.value == pytest.approx(ratio)
    assert found.note == note


@pytest.mark.parametrize("horizon", [1000, 1001, 10])
@pytest.mark.parametrize("checkpoints", [2, 4, 10])
def test_half_of_the_horizon_is_a_checkpoint(horizon: int, checkpoints: int) -> None:
    """Of an even number that a simulation spaces evenly."""
    rounds = rounds_of(checkpoints, horizon).tolist()
    regret = np.broadcast_to(rounds, (8, checkpoints))
    shown = evidence(lambda: result({"A": regret}, rounds=rounds))
    Straight("A").check(shown.study)
    half = (horizon + 1) // 2
    assert half in rounds
    assert Straight("A").judge(shown, 0.1).findings[0].value == pytest.approx((horizon - half) / half)


def test_runs_that_are_all_alike_may_be_unlike_others() -> None:
    """No flat stretch in 50 runs: of others, the share is up to 0.141 with this risk on either side."""
    shown = evidence(lambda: result({"A": stairs("1111")}))
    most = 1.0 - 0.0005 ** (1 / 50)
    assert Flat("A").judge(shown, 0.001).findings[0].interval == (0.0, pytest.approx(most))
    for times, status in ((0.999, Status.UNDECIDED), (1.001, Status.HOLDS)):
        assert Flat("A", high=most * times).judge(shown, 0.001).status is status


def test_slopes_are_for_each_round() -> None:
    found = SameSlope("A", "B", 0.0, 9.0).judge(
        evidence(lambda: result({"A": stairs("50"), "B": stairs("55")}, rounds=(100, 200))), 0.1
    )
    assert found.findings[0].note == "0.05 and 0.05 a round"
