"""Bounds in a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from belated import Problem, Result, simulate, theory
from belated.delays import ByReward, Fixed, PacketLoss
from belated.errors import BelatedWarning, InvalidParameter
from belated.policies import OptimisticPessimisticElimination, PrefixUCB, SuccessiveElimination, UniformChoice
from belated.rewards import Bernoulli

PROBLEM = Problem([Bernoulli(0.7), Bernoulli(0.3)], Fixed(20))
POLICIES = [SuccessiveElimination(confidence="theory"), UniformChoice()]


NO_THEOREM = r"^no bound is drawn for Uniform \(belated has no theorem about it\)\.$"


def drawn(result: Result, **options: Any) -> dict[str, Any]:
    """The lines of a plot by their labels."""
    axes = result.plot(**options).axes[0]
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.get_lines()}


def test_a_bound_is_a_line_at_its_value(tmp_path: Path) -> None:
    result = simulate(PROBLEM, POLICIES, horizon=300, runs=3)
    assert set(drawn(result)) == {"SE", "Uniform"}
    with pytest.warns(BelatedWarning, match=NO_THEOREM):
        lines = drawn(result, bounds=True)
    assert set(lines) == {"SE", "Uniform", "SE: Theorem 2"}
    assert set(lines["SE: Theorem 2"]) == {theory.successive_elimination(PROBLEM, 300).value}
    assert result.plot(policies="SE", bounds=True).axes[0].get_yscale() == "log"
    result.save(tmp_path / "kept.npz")
    again = drawn(Result.load(tmp_path / "kept.npz"), policies="SE", bounds=True)
    assert np.array_equal(again["SE: Theorem 2"], lines["SE: Theorem 2"])


def test_an_infinite_bound_is_not_drawn() -> None:
    lost = Problem([Bernoulli(0.7), Bernoulli(0.3)], PacketLoss(0.0))
    result = simulate(lost, POLICIES, horizon=50, runs=2)
    with pytest.warns(BelatedWarning, match=r"SE \(the SE bound guarantees nothing: some arm's feedback never comes\)"):
        assert set(drawn(result, bounds=True)) == {"SE", "Uniform"}


@pytest.mark.parametrize("own_axes", [False, True])
def test_one_warning_says_which_bounds_are_missing_and_why(own_axes: bool) -> None:
    dependent = Problem([Bernoulli(0.7), Bernoulli(0.3)], ByReward({0: Fixed(3), 1: Fixed(20)}))
    policies = [
        OptimisticPessimisticElimination(),
        PrefixUCB(confidence=0.5),
        PrefixUCB(confidence="theory", horizon=900),
        SuccessiveElimination(confidence="theory"),
        SuccessiveElimination(),
        UniformChoice(),
    ]
    result = simulate(dependent, policies, horizon=50, runs=2)
    labels = result.labels
    with pytest.warns(BelatedWarning) as caught:
        picture = result.plot(Figure().subplots() if own_axes else None, bounds=True)
    assert [str(warning.message) for warning in caught] == [
        f'no bound is drawn for {labels[0]} (the theorems are for confidence="theory", not for 1); '
        f'{labels[1]} (the theorems are for confidence="theory", not for 0.5); '
        f"{labels[2]} (its horizon is 900, not 50; leave it out); "
        f"{labels[3]}, {labels[4]} (its theorem assumes delays that do not depend on the reward); "
        f"{labels[5]} (belated has no theorem about it)."
    ]
    assert caught[0].filename == __file__
    axes = picture if own_axes else picture.axes[0]
    assert axes.get_title(loc="left") == (
        "" if own_axes else "mean of 2 runs, bands of 4 standard errors; no bound applies"
    )


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
