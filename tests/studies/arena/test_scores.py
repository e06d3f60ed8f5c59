"""What regrets come to, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from belated.errors import InvalidParameter
from belated.studies.arena import Scenario, Scores

RATIOS = [[4.0, 1.0, 2.0], [1.0, 1.0, 2.0], [8.0, 1.0, 2.0], [1.25, 1.0, 4.0], [2.0, 4.0, 1.0]]


def test_a_ratio_is_a_regret_over_the_least_of_its_row(scores: Scores) -> None:
    assert scores.ratio.tolist() == RATIOS


def test_a_ratio_to_some_policies_may_be_below_one(scores: Scores) -> None:
    part = replace(scores, reference=("A", "B")).select(lambda row: row.name in ("four", "five"))
    assert part.ratio.tolist() == [[1.25, 1.0, 4.0], [1.0, 2.0, 0.5]]
    assert part.max_rel_error == pytest.approx(14.0 / 300.0)  # the error over a regret is 1/300, the largest divisor 14


def test_geometric_means(scores: Scores) -> None:
    assert scores.geometric_mean("A") == pytest.approx(80.0**0.2, rel=1e-12)  # 4 x 1 x 8 x 1.25 x 2
    assert scores.geometric_mean("B") == pytest.approx(4.0**0.2, rel=1e-12)
    assert scores.geometric_mean("C") == pytest.approx(32.0**0.2, rel=1e-12)
    assert scores.of_kind("lost").geometric_mean("A") == pytest.approx(math.sqrt(2.5), rel=1e-12)
    assert scores.select(lambda row: row.held_out).geometric_mean("C") == pytest.approx(math.sqrt(8.0), rel=1e-12)
    assert math.isnan(scores.select(lambda row: False).geometric_mean("A"))


def test_the_worst_row_is_that_with_the_largest_ratio(scores: Scores) -> None:
    assert [scores.worst(label) for label in "ABC"] == [("three", 8.0), ("five", 4.0), ("four", 4.0)]
    assert scores.of_kind("independent").worst("C") == ("one", 2.0)  # the first of equals


def test_rows_above_a_limit_are_above_and_not_at_it(scores: Scores) -> None:
    assert scores.above("A") == ["one", "three", "five"]  # four has 1.25, which is not above it
    assert scores.above("B") == ["five"]
    assert scores.above("A", 4.0) == ["three"]


def test_the_best_policy_is_first(scores: Scores) -> None:
    assert scores.ranked() == ["B", "C", "A"]
    assert scores.of_kind("lost").ranked() == ["A", "B", "C"]  # B and C are equal, and stay in their order
    assert scores.select(lambda row: row.name == "five").ranked() == ["C", "A", "B"]


def test_rows_of_a_kind_bring_all_that_is_theirs(scores: Scores) -> None:
    assert scores.kinds == ["independent", "reward-dependent", "lost"]
    part = scores.of_kind("lost")
    assert [row.name for row in part.scenarios] == ["four", "five"]
    assert part.kinds == ["lost"]
    assert part.labels == scores.labels
    assert part.runs.tolist() == [[3840] * 3, [100] * 3]
    for name in ("regret", "stderr", "error", "losing", "ratio"):
        assert np.array_equal(getattr(part, name), getattr(scores, name)[3:])
    assert scores.of_kind("nonsense").scenarios == ()


def test_parts_are_joined_in_their_order(scores: Scores) -> None:
    parts = [scores.select(lambda row, name=name: row.name == name) for name in ("four", "one", "five")]  # type: ignore[misc]
    joined = Scores.joined(parts)
    assert [row.name for row in joined.scenarios] == ["four", "one", "five"]
    for name in ("regret", "stderr", "error", "losing", "ratio", "runs"):
        assert np.array_equal(getattr(joined, name), getattr(scores, name)[[3, 0, 4]])


def test_scores_of_one_row(row: Callable[..., Scenario]) -> None:
    final = np.array([[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]])
    found = Scores.of(row("one"), ["A", "B"], final, np.array([[True, False, True], [False] * 3]))
    assert found.losing.tolist() == [[2.0 / 3.0, 0.0]]
    assert found.regret.tolist() == [[4.0, 2.0]]
    assert found.stderr[0] == pytest.approx([2.0 / math.sqrt(3.0), 1.0 / math.sqrt(3.0)])
    assert found.error.tolist() == [[0.0, 0.0]]  # run by run twice the other: the ratio is known for certain
    assert found.runs.tolist() == [[3, 3]]
    assert found.max_rel_error == 0.0


def test_what_is_known_of_a_ratio_is_what_a_bootstrap_of_paired_runs_says() -> None:
    rng = np.random.default_rng(1)
    runs, draws = 600, 4000
    common = np.exp(rng.normal(0.0, 0.8, runs))  # hard runs are hard for all
    final = np.stack([common * factor * np.exp(rng.normal(0.0, spread, runs)) for factor, spread in FORMS])
    means = final.mean(axis=1)
    picked = rng.integers(runs, size=(draws, runs))
    again = np.stack([final[:, one].mean(axis=1) for one in picked])
    ratios = again / again[:, [means.argmin()]]
    expected = ratios.std(axis=0) / (means / means.min())
    found = Scores.of(Scenario("x", "", 1, False, False, False, {}), "ABCD", final, final < 0.0)
    assert (found.error / found.ratio)[0] == pytest.approx(expected, rel=0.08)
    assert found.max_rel_error == pytest.approx(expected.max(), rel=0.08)
    alone = final.std(axis=1) / means / math.sqrt(runs)
    assert np.all(np.hypot(alone, alone[means.argmin()])[1:] > 1.5 * expected[1:])  # as if the runs were not paired


@pytest.mark.parametrize("counts", [(900, 300), (300, 900), (300, 301)])
def test_errors_of_ratios_with_different_numbers_of_runs(row: Callable[..., Scenario], counts: tuple[int, int]) -> None:
    """Against what 3,000 repetitions come to."""
    rng = np.random.default_rng(8)
    ratios, errors = [], []
    for _ in range(3000):
        common = np.exp(rng.normal(0.0, 0.8, max(counts)))
        final = [
            factor * common[:count] * np.exp(rng.normal(0.0, 0.3, count))
            for factor, count in zip((1.0, 2.0), counts, strict=True)
        ]
        found = Scores.of(row("one"), ["A", "B"], final, [regrets < 0.0 for regrets in final])
        ratios.append(found.ratio[0, 1])
        errors.append(found.error[0, 1])
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(ratios), rel=0.08)


FORMS = ((1.0, 0.1), (1.5, 0.2), (6.0, 0.3), (1.02, 0.1))
"""Of policies: how much worse each is, and how far its runs are from the common."""


@pytest.mark.parametrize("regrets", [[0.0, 0.0], [0.0, 3.0]])
def test_a_policy_without_regret_is_refused_and_named(row: Callable[..., Scenario], regrets: list[float]) -> None:
    final = np.array([[regret] * 4 for regret in regrets])
    with pytest.raises(
        InvalidParameter, match=r"row 'one': the regret of A( and of B)? is 0, .*; give arms that differ"
    ):
        Scores.of(row("one"), ["A", "B"], final, final < 0.0)
