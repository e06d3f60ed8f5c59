"""Expected delays, earlier work, and the paper's Table 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem
from belated.delays import (
    ByReward,
    DelayLaw,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
)
from belated.delays import Uniform as UniformDelay
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli
from belated.theory import (
    Bound,
    dudik,
    joulani,
    manegueu,
    optimistic_pessimistic,
    optimistic_ucb,
    phased_elimination,
    successive_elimination,
    table,
    without_delays,
)
from support.laws import DELAY_CASES, DelayCase, name

T = 10_000
LOG_T = math.log(T)
Theorem = Callable[[Problem, int], Bound]
UPPER: list[Theorem] = [successive_elimination, phased_elimination, optimistic_pessimistic, optimistic_ucb]
upper = pytest.mark.parametrize("theorem", UPPER)


def arms(*means: float, delays: DelayLaw | list[DelayLaw]) -> Problem:
    return Problem([Bernoulli(mean) for mean in means], delays)


LATE_SUCCESS = arms(0.6, 0.4, delays=ByReward({0: Fixed(0), 1: Fixed(500)}))


# ---- expected delays ----


def endless(case: DelayCase) -> bool:
    """Whether the expected delay is infinite although feedback always comes."""
    law = case.law
    if isinstance(law, Mixture):
        return any(endless(DelayCase(part, case.cdf)) for weight, part in law.parts if weight > 0)
    if isinstance(law, FromScipy):
        return not math.isfinite(law.frozen.mean())
    return isinstance(law, Pareto) and law.alpha <= 1.0


@pytest.mark.parametrize("case", DELAY_CASES, ids=name)
def test_the_expected_delay_is_the_sum_of_the_tail(case: DelayCase) -> None:
    """E[D] is the sum of P(D > g) over g = 0, 1, ..., from the independent distribution function."""
    if case.never > 0.0 or endless(case):
        assert case.law.expected == math.inf
        return
    far = 3e6 if isinstance(case.law, LogNormal | Pareto) else 2e5
    tail = 1.0 - np.asarray(case.cdf(np.arange(min(far, case.longest))))
    assert case.law.expected == pytest.approx(math.fsum(tail), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("alpha", [1.05, 1.5, 3.0])
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.3])
def test_the_expected_delay_of_a_heavy_tail(alpha: float, scale: float) -> None:
    """E[X] - 1 <= E[floor(X)] <= E[X], and the sum with the rest of the tail as an integral is that number."""
    expected = Pareto(alpha, scale).expected
    g = np.arange(1.0, 2e6)
    rest = scale**alpha * (2e6 - 0.5) ** (1 - alpha) / (alpha - 1)
    assert expected == pytest.approx(math.fsum(np.minimum((scale / g) ** alpha, 1.0)) + rest, rel=1e-7)
    mean = float(ss.pareto(alpha, scale=scale).mean())
    assert mean - 1 <= expected <= mean


@pytest.mark.parametrize("sigma", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("median", [0.1, 80.0, 3e6])
def test_the_expected_delay_of_a_log_normal_law(median: float, sigma: float) -> None:
    expected = LogNormal(median, sigma).expected
    law = ss.lognorm(sigma, scale=median)
    assert law.mean() - 1 <= expected <= law.mean()
    if median < 100 and sigma < 2:
        assert expected == pytest.approx(math.fsum(law.sf(np.arange(1.0, 1e6))), rel=1e-9)


def test_the_expected_delay_of_a_law_by_reward_needs_the_reward() -> None:
    law = ByReward({0: Fixed(10), 1: Geometric(100)})
    with pytest.raises(InvalidParameter, match="reward"):
        _ = law.expected
    assert law.given(Bernoulli(0.25)).expected == pytest.approx(0.75 * 10 + 0.25 * 100)
    assert ByReward({0: Never(), 1: Fixed(1)}).given(Bernoulli(1.0)).expected == 1.0


# ---- earlier work ----


def test_the_regret_without_delays() -> None:
    problem = arms(0.9, 0.9, 0.5, 0.1, delays=Fixed(0))
    assert without_delays(problem, T) == pytest.approx(LOG_T * (1 / 0.4 + 1 / 0.8))
    assert without_delays(arms(0.5, delays=Never()), T) == 0.0


def test_joulani_adds_the_expected_delays() -> None:
    laws: list[DelayLaw] = [Fixed(100), Geometric(40.5), UniformDelay(10, 20), Poisson(3.25), Empirical([1, 2, 6])]
    problem = arms(0.9, 0.5, 0.5, 0.5, 0.5, delays=laws)
    bound = joulani(problem, T)
    assert bound.terms == pytest.approx({"learning": 4 * LOG_T / 0.4, "expected delays": 100 + 40.5 + 15 + 3.25 + 3.0})
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert joulani(arms(0.6, 0.4, delays=Pareto(2.0)), T).terms["expected delays"] == pytest.approx(math.pi**2 / 3)


@pytest.mark.parametrize("law", [Pareto(1.0), Pareto(0.3), PacketLoss(0.99), Never()], ids=repr)
def test_joulani_is_infinite_where_one_expected_delay_is(law: DelayLaw) -> None:
    assert joulani(arms(0.6, 0.4, delays=[Fixed(0), law]), T).value == math.inf


def test_dudik_is_about_one_fixed_delay() -> None:
    bound = dudik(arms(0.6, 0.5, 0.4, delays=Fixed(70)), T)
    assert bound.terms == pytest.approx({"learning": math.sqrt(3 * T), "waiting": math.sqrt(3) * 70})
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    for delays in (Geometric(70), [Fixed(70), Fixed(71)], [Fixed(70), UniformDelay(70, 70)]):
        with pytest.raises(InvalidParameter, match="fixed delay"):
            dudik(arms(0.6, 0.4, delays=delays), T)


def test_manegueu_by_hand() -> None:
    problem = arms(0.75, 0.5, 0.25, delays=[Pareto(1.0), Pareto(0.5), Pareto(0.8)])
    bound = manegueu(problem, T, 0.5)
    assert bound.terms == pytest.approx({"learning": 6 * LOG_T, "waiting": 32.0 + 16.0})
    assert manegueu(problem, T, 0.25).terms["waiting"] == pytest.approx(32.0**3 + 16.0**3)


def test_manegueu_checks_its_condition() -> None:
    pareto = arms(0.6, 0.4, delays=[Pareto(1.0), Pareto(0.5)])
    assert manegueu(pareto, T, 0.5).value > 0
    with pytest.raises(InvalidParameter, match="arm 1 it fails"):
        manegueu(pareto, T, 0.9)
    with pytest.raises(InvalidParameter, match="arm 0 it fails at g = 2"):
        manegueu(arms(0.6, 0.4, delays=Fixed(3)), T, 0.01)
    with pytest.raises(InvalidParameter, match="g\\^-alpha"):
        manegueu(arms(0.6, 0.4, delays=PacketLoss(0.5)), T, 0.5)
    for alpha in (0.0, -1.0, math.nan, "x"):
        with pytest.raises(InvalidParameter, match="alpha"):
            manegueu(pareto, T, alpha)  # type: ignore[arg-type]


# ---- Table 1 ----


def rows(problem: Problem) -> dict[str, Any]:
    found = table(problem, T)
    assert [row.setting for row in found] == [
        "general, reward-independent",
        "fixed delay",
        "Pareto delay",
        "packet loss",
        "general, reward-dependent",
    ]
    return {row.setting: row for row in found}


def test_the_table_for_a_fixed_delay() -> None:
    problem = arms(0.6, 0.4, delays=Fixed(100))
    mab = without_delays(problem, T)
    found = rows(problem)
    assert found["fixed delay"].previous == pytest.approx(
        {"R_MAB + K d": mab + 200, "sqrt(TK) + sqrt(K) d": math.sqrt(2 * T) + math.sqrt(2) * 100}
    )
    assert found["fixed delay"].paper == pytest.approx({"R_MAB + d": mab + 100})
    general = found["general, reward-independent"]
    assert list(general.previous.values()) == pytest.approx([mab + 200])
    assert list(general.paper.values()) == pytest.approx([mab + 100])
    assert found["Pareto delay"].paper is found["packet loss"].paper is None
    assert list(found["general, reward-dependent"].paper.values()) == pytest.approx([mab + 100])


def test_the_table_for_pareto_delays() -> None:
    problem = arms(0.6, 0.4, delays=[Pareto(0.5), Pareto(1.0)])
    mab = without_delays(problem, T)
    found = rows(problem)
    assert list(found["Pareto delay"].previous.values()) == pytest.approx([mab + 40])
    assert list(found["Pareto delay"].paper.values()) == pytest.approx([mab + 4])
    assert list(found["general, reward-independent"].previous.values()) == [math.inf]
    d = np.arange(1.0, 10_000.0)
    (best,) = found["general, reward-independent"].paper.values()
    assert best == pytest.approx((mab / Pareto(0.5).cdf(d) + d).min(), rel=1e-12)
    assert found["fixed delay"].paper is None
    assert list(found["general, reward-dependent"].paper.values()) == pytest.approx(
        [mab + 24]  # P(D <= 24) = 1 - 25^-0.5 is 0.8, though not to the last bit
    )


def test_the_table_for_packet_loss() -> None:
    problem = arms(0.6, 0.4, delays=[PacketLoss(0.25), PacketLoss(0.5)])
    mab = without_delays(problem, T)
    found = rows(problem)
    assert list(found["packet loss"].previous.values()) == pytest.approx([0.75 * T])
    assert list(found["packet loss"].paper.values()) == pytest.approx([4 * mab])
    assert list(found["general, reward-independent"].paper.values()) == pytest.approx([4 * mab])
    assert list(found["general, reward-dependent"].paper.values()) == [math.inf]
    assert rows(arms(0.6, 0.4, delays=[PacketLoss(0.25), Fixed(0)]))["packet loss"].paper is None


def test_the_table_for_delays_that_depend_on_the_reward() -> None:
    found = rows(LATE_SUCCESS)
    for setting in ("general, reward-independent", "fixed delay", "Pareto delay", "packet loss"):
        assert (found[setting].previous, found[setting].paper) == (None, None)
    last = found["general, reward-dependent"]
    assert last.previous is None
    assert list(last.paper.values()) == pytest.approx([without_delays(LATE_SUCCESS, T) + 500])
