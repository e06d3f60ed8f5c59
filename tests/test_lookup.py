"""Smooth laws are looked up where that pays off: the delays are those of the formula, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import ByReward, Geometric, LogNormal, Mixture, Pareto
from belated.delays.base import DelayLaw
from belated.engine import encode
from belated.engine.laws import BEYOND, FINE, UNSURE
from belated.engine.quantile import quantile
from belated.kernel import entry, quietly
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli
from same import assert_same_bits

ENOUGH = encode.ROUNDS_OF_A_LOOKUP
LAWS: list[DelayLaw] = [
    Pareto(1.0),
    Pareto(0.2),
    Pareto(3.0, scale=50.0),
    Pareto(40.0),
    Pareto(0.01),
    LogNormal(200, 1.0),
    LogNormal(0.5, 0.3),
    LogNormal(1e6, 0.01),
    LogNormal(3.0, 9.0),
]
HORIZONS = [1, 1000, 10**8]


@entry
def _at(laws: Any, row: Any, u: Any, delays: Any) -> None:
    for place in range(u.shape[0]):
        delays[place] = quantile(laws, np.uint32(row), u[place])


def _rows(law: DelayLaw, horizon: int, runs: int) -> Any:
    """The laws of a problem with one arm: its delay is in row 1."""
    return encode.encode([Problem([Bernoulli(0.5)], law)], horizon, runs)[0]


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_both_ends_of_every_cell(law: DelayLaw, horizon: int) -> None:
    """The first and the last uniform of a cell, and one within: no other delay can lie between two that are alike."""
    laws = _rows(law, horizon, ENOUGH)
    assert laws.hi[1] == FINE
    cells = laws.whole[laws.lo[1] :][:FINE]
    half_step = 2.0**-53
    first = np.arange(FINE) / FINE
    within = np.random.default_rng(1).uniform(half_step, 1 / FINE - half_step, FINE)
    for u in (first + half_step, first + 1 / FINE - half_step, first + within):
        delays = np.zeros(FINE, np.int64)
        with quietly():
            _at(laws, 1, u, delays)
        sure = cells != UNSURE
        assert np.array_equal(np.minimum(cells, horizon + 1)[sure], np.minimum(delays, horizon + 1)[sure])
        assert (delays[cells == BEYOND] > horizon).all()


def test_most_cells_are_sure() -> None:
    """Else it would not pay off."""
    unsure = {law: (_rows(law, 20_000, ENOUGH).whole[:FINE] == UNSURE).mean() for law in LAWS[:2] + LAWS[5:6]}
    assert list(unsure.values()) == pytest.approx([0.016, 0.17, 0.1], abs=0.03)


def test_where_it_pays_off() -> None:
    """One lookup for so many rounds of a problem, whoever has them: few runs, and each with laws of its own, get
    none."""
    assert _rows(LAWS[0], 1000, ENOUGH // 1000).hi[1] == 0
    assert _rows(LAWS[0], 1000, ENOUGH // 1000 + 1).hi[1] == FINE
    several = Problem([Bernoulli(0.5)] * 4, [Pareto(1.0 + arm) for arm in range(4)])
    assert encode.encode([several], 1000, 2 * ENOUGH // 1000 + 1)[0].hi[4:8].tolist() == [FINE, FINE, 0, 0]
    assert not encode.board([several] * 9, 1000).laws.hi[36:].any()


MIXED = Mixture([(0.4, Pareto(0.7)), (0.4, LogNormal(30, 1.5)), (0.2, Geometric(9))])


@pytest.mark.parametrize("law", [Pareto(0.4), LogNormal(30, 1.5), MIXED, ByReward({0.0: Pareto(1.0), 1.0: MIXED})])
def test_a_simulation_has_the_same_bits_without(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.6)], law)
    policies = [UCB(confidence=0.5), SuccessiveElimination(confidence=0.5)]
    found = []
    made: list[Any] = []
    smooth = encode.LawsBuilder.smooth
    monkeypatch.setattr(encode.LawsBuilder, "smooth", lambda *given: made.append(smooth(*given)) or made[-1])
    for rounds in (1, 1 << 60):
        monkeypatch.setattr(encode, "ROUNDS_OF_A_LOOKUP", rounds)
        found.append(simulate(problem, policies, horizon=3000, runs=20, seed=3))
    assert {row[-1] for row in made} == {0, FINE}
    assert_same_bits(*found)
