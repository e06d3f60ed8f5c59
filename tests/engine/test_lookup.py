"""Smooth laws are looked up where that pays off: the delays are those of the formula, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import ByReward, Geometric, LogNormal, Mixture, Pareto
from belated.delays._base import DelayLaw
from belated.engine import encode
from belated.engine.runner import Plan
from belated.engine.sampling import KINDS, delay_of
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.law_table import BEYOND, LOOKUP_CELLS, UNSURE, LawRow, LawTableBuilder, row_at
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli
from belated.simulation.simulate import _chunks
from same import assert_same_bits

ENOUGH = encode.ROUNDS_OF_A_LOOKUP
LAWS: list[DelayLaw] = [
    Pareto(1.0),
    Pareto(0.2),
    Pareto(3.0, scale=50.0),
    Pareto(40.0),
    Pareto(0.01),
    Pareto(0.003, scale=1e-303),
    Pareto(1.0, scale=1.0972219286e304),
    LogNormal(200, 1.0),
    LogNormal(0.5, 0.3),
    LogNormal(1e6, 0.01),
    LogNormal(3.0, 9.0),
    LogNormal(1e-3, 300.0),
]
HORIZONS = [1, 1000, 10**8]


@entry
def _at(laws: Any, row: Any, u: Any, delays: Any) -> None:
    for place in range(u.shape[0]):
        delays[place] = delay_of(row_at(laws, np.uint32(row)), laws, u[place])


def _rows(law: DelayLaw, horizon: int, runs: int) -> Any:
    """The laws of a problem with one arm: its delay is in row 1."""
    return encode.encode_laws([Problem([Bernoulli(0.5)], law)], horizon, runs)[0]


class _Always(LawTableBuilder):
    """Every lookup is kept, however much it leaves to the formula."""

    def formula(self, *given: Any, max_unsure: float) -> LawRow:
        return super().formula(*given, max_unsure=1.0)


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_both_ends_of_every_cell(law: DelayLaw, horizon: int) -> None:
    """The first and the last uniform of a cell, and one within: no other delay can lie between two that are alike."""
    builder = _Always(horizon, KINDS, reserved=1, lookups=1)
    with np.errstate(all="raise"):
        builder.place(0, law.encode(builder, Bernoulli(0.5)))
    laws = builder.build()
    assert laws.j[0] == LOOKUP_CELLS
    cells = laws.whole
    half_step = 2.0**-53
    first = np.arange(LOOKUP_CELLS) / LOOKUP_CELLS
    within = np.random.default_rng(1).uniform(half_step, 1 / LOOKUP_CELLS - half_step, LOOKUP_CELLS)
    for u in (first + half_step, first + 1 / LOOKUP_CELLS - half_step, first + within):
        delays = np.zeros(LOOKUP_CELLS, np.int64)
        with ignore_overflow():
            _at(laws, 0, u, delays)
        sure = cells != UNSURE
        assert np.array_equal(np.minimum(cells, horizon + 1)[sure], np.minimum(delays, horizon + 1)[sure])
        assert (delays[cells == BEYOND] > horizon).all()


def test_most_cells_are_sure() -> None:
    """Else there is no lookup."""
    unsure = [(_rows(law, 20_000, ENOUGH).whole == UNSURE).mean() for law in (LAWS[0], LAWS[1], LogNormal(200, 1.0))]
    assert unsure == pytest.approx([0.016, 0.17, 0.1], abs=0.03)
    for law in (Pareto(2.0, scale=5000.0), LogNormal(10_000, 0.5)):
        laws = _rows(law, 20_000, ENOUGH)
        assert laws.j[1] == laws.whole.size == 0


def test_where_it_pays_off() -> None:
    """One lookup for so many rounds of a problem, whoever has them: few runs, and each with laws of its own, get
    none."""
    assert _rows(LAWS[0], 1000, ENOUGH // 1000).j[1] == 0
    assert _rows(LAWS[0], 1000, ENOUGH // 1000 + 1).j[1] == LOOKUP_CELLS
    several = Problem([Bernoulli(0.5)] * 4, [Pareto(1.0 + arm) for arm in range(4)])
    assert encode.encode_laws([several], 1000, 2 * ENOUGH // 1000 + 1)[0].j[4:8].tolist() == [
        LOOKUP_CELLS,
        LOOKUP_CELLS,
        0,
        0,
    ]
    assert not encode.encode_problems([several] * 9, 1000).laws.j[36:].any()
    many = Problem([Bernoulli(0.5)] * 40, [Pareto(1.0 + arm / 100) for arm in range(40)])
    assert (encode.encode_laws([many], 1000, ENOUGH)[0].j[40:] == LOOKUP_CELLS).sum() == encode.MOST_LOOKUPS


def test_one_lookup_for_all_arms() -> None:
    """Also where the law depends on the reward, and the rewards of the arms are not alike."""
    problem = Problem([Bernoulli(0.1 * arm) for arm in range(1, 8)], ByReward({0: Pareto(1.0), 1: LogNormal(20, 1)}))
    laws = encode.encode_laws([problem], 1000, ENOUGH)[0]
    assert (laws.j == LOOKUP_CELLS).sum() == 2


def test_a_gpu_asks_the_formula() -> None:
    """What it would not look at is not brought to it."""
    plan = Plan(1000, np.array([1000]), 0, np.zeros(1, np.int64))
    problem = Problem([Bernoulli(0.5)], Pareto(1.0))
    with_lookups = next(_chunks(problem, plan, range(ENOUGH), 1, 10, lookups=True))
    assert with_lookups.problem.laws.whole.size == LOOKUP_CELLS
    assert next(_chunks(problem, plan, range(ENOUGH), 1, 10)).problem.laws.whole.size == 0


MIXED = Mixture([(0.4, Pareto(0.7)), (0.4, LogNormal(30, 1.5)), (0.2, Geometric(9))])


@pytest.mark.parametrize("law", [Pareto(0.4), LogNormal(30, 1.5), MIXED, ByReward({0.0: Pareto(1.0), 1.0: MIXED})])
def test_a_simulation_has_the_same_bits_without(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.6)], law)
    policies = [UCB(confidence=0.5), SuccessiveElimination(confidence=0.5)]
    found = []
    made: list[Any] = []
    formula = LawTableBuilder.formula

    def watched(*given: Any, **more: Any) -> LawRow:
        made.append(formula(*given, **more))
        return made[-1]  # type: ignore[no-any-return]

    monkeypatch.setattr(LawTableBuilder, "formula", watched)
    for rounds in (1, 1 << 60):
        monkeypatch.setattr(encode, "ROUNDS_OF_A_LOOKUP", rounds)
        found.append(simulate(problem, policies, horizon=3000, runs=20, seed=3))
    assert {row.j for row in made} == {0, LOOKUP_CELLS}
    assert_same_bits(*found)
