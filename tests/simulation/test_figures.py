"""Bounds in a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Problem, Result, simulate, theory
from belated.delays import Fixed, PacketLoss
from belated.errors import InvalidParameter
from belated.policies import SuccessiveElimination, UniformChoice
from belated.rewards import Bernoulli

PROBLEM = Problem([Bernoulli(0.7), Bernoulli(0.3)], Fixed(20))
POLICIES = [SuccessiveElimination(confidence="theory"), UniformChoice()]


def drawn(result: Result, **options: Any) -> dict[str, Any]:
    """The lines of a plot by their labels."""
    axes = result.plot(**options).axes[0]
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.get_lines()}


def test_a_bound_is_a_line_at_its_value(tmp_path: Path) -> None:
    result = simulate(PROBLEM, POLICIES, horizon=300, runs=3)
    assert set(drawn(result)) == {"SE", "Uniform"}
    lines = drawn(result, bounds=True)
    assert set(lines) == {"SE", "Uniform", "SE: Theorem 2"}  # no theorem is about uniform choice
    assert set(lines["SE: Theorem 2"]) == {theory.successive_elimination(PROBLEM, 300).value}
    assert result.plot(bounds=True).axes[0].get_yscale() == "log"
    result.save(tmp_path / "kept.npz")
    again = drawn(Result.load(tmp_path / "kept.npz"), bounds=True)
    assert np.array_equal(again["SE: Theorem 2"], lines["SE: Theorem 2"])


def test_an_infinite_bound_is_not_drawn() -> None:
    lost = Problem([Bernoulli(0.7), Bernoulli(0.3)], PacketLoss(0.0))
    assert set(drawn(simulate(lost, POLICIES, horizon=50, runs=2), bounds=True)) == {"SE", "Uniform"}


def test_a_family_has_no_bounds() -> None:
    def family(rng: np.random.Generator) -> Problem:
        return Problem([Bernoulli(m) for m in rng.uniform(0.2, 0.8, 2)], Fixed(3))

    result = simulate(family, POLICIES, horizon=50, runs=2)
    with pytest.raises(InvalidParameter, match="each run has its own"):
        result.plot(bounds=True)


def test_the_band_is_four_standard_errors_wide() -> None:
    result = simulate(PROBLEM, [UniformChoice()], horizon=200, runs=9, seed=2)
    band = result.plot().axes[0].collections[0].get_paths()[0].vertices
    for rounds, mean, stderr in zip(result.rounds, result.mean[0], result.stderr[0], strict=True):
        edges = band[band[:, 0] == rounds][:, 1]
        assert edges.min() == pytest.approx(mean - 4 * stderr)
        assert edges.max() == pytest.approx(mean + 4 * stderr)
