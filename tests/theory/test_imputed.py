"""The bound of Imputed-UCB's safe form by hand; each step of its proof in simulations, also with the worst index."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import binom

from belated import Problem, simulate
from belated.delays import ByReward, DelayLaw, Empirical, Fixed, Geometric, Never, PacketLoss
from belated.errors import InvalidParameter
from belated.policies import Policy, PrefixPolicy, SafeImputedUCB, State, interface, policy, view
from belated.rewards import Bernoulli
from belated.theory import imputed, prefix_ucb
from belated.theory.prefix import CELL_ENDS, LONGEST_PREFIX

T = 1_000_000
LOG_T = math.log(T)


def coins(*means: float, delays: DelayLaw | list[DelayLaw]) -> Problem:
    return Problem([Bernoulli(mean) for mean in means], delays)


# ---- by hand ----


def test_each_arm_has_its_own_levels() -> None:
    """Gaps 0.4 and 0.8: levels 0.9 and 0.8, and 0.95 and 0.9; two best arms, at the level 0.95."""
    laws: list[DelayLaw] = [
        Empirical([1] * 94 + [70] * 6),  # d(0.95) = 70
        Empirical([2] * 92 + [9] * 3 + [900] * 5),  # d(0.9) = 2, d(0.95) = 9
        ByReward({0: Fixed(30), 1: Fixed(4000)}),  # reward 1 in one case of ten: d(0.8) = d(0.9) = 30
        Fixed(20),
    ]
    bound = imputed(coins(0.9, 0.5, 0.1, 0.9, delays=laws), T, safe=7)
    found = 39 * LOG_T * (1 / 0.16 + 1 / 0.64) + 154 * 2 * LOG_T / 0.16 + 2 * 4
    assert bound.terms == pytest.approx(
        {
            "learning": 154 * LOG_T * (1 / 0.4 + 1 / 0.8) + 0.4 + 0.8,
            "safe rounds": 7 * 0.8 * found,
            "waiting": 0.4 * 9 + 0.8 * 30 + 0.8 * (2 + 30 + 70),
        }
    )
    assert bound.quantiles == pytest.approx((0.95, 0.95, 0.9, 0.95))
    assert bound.delays == (70.0, 9.0, 30.0, 20.0)
    assert math.fsum(bound.terms.values()) == pytest.approx(bound.value)


def test_without_a_gap_there_is_no_regret() -> None:
    assert imputed(coins(0.5, 0.5, delays=Never()), T).value == 0.0


@pytest.mark.parametrize("silent", [0, 1, 2])
def test_a_silent_arm_best_or_not_leaves_no_guarantee(silent: int) -> None:
    """Also one of two best arms: all safe rounds may go to it."""
    laws: list[DelayLaw] = [Never() if arm == silent else Fixed(0) for arm in range(3)]
    bound = imputed(coins(0.6, 0.6, 0.4, delays=laws), T)
    assert bound.value == math.inf
    assert "guarantees nothing" in bound.driver


@pytest.mark.parametrize(("seen", "finite"), [(0.976, True), (0.975, True), (0.974, False)])
def test_an_eighth_of_the_gap_may_be_lost(seen: float, finite: bool) -> None:
    for laws in ([PacketLoss(seen), Fixed(0)], [Fixed(0), PacketLoss(seen)]):
        assert math.isfinite(imputed(coins(0.6, 0.4, delays=laws), T).value) is finite


def test_if_every_round_is_safe_the_bound_of_prefix_ucb_is_smaller() -> None:
    for problem in (coins(0.6, 0.4, delays=Fixed(300)), coins(0.9, 0.5, 0.89, delays=Geometric(40))):
        assert prefix_ucb(problem, T).value < imputed(problem, T, safe=1).value


def test_prefixes_that_are_not_kept_guarantee_nothing() -> None:
    horizon = 10**11
    for longest, kept in ((57_400_000, True), (57_600_000, False)):
        gap = math.sqrt(128 * math.log(horizon) / longest)
        bound = imputed(coins(0.9, 0.9 - gap, 0.1, delays=Fixed(0)), horizon, safe=1)
        assert (bound.value >= 0.8 * horizon) is not kept


@pytest.mark.parametrize("safe", [0, 1.5, "10", True])
def test_safe_is_a_whole_number(safe: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"safe is .*give a whole number >= 1"):
        imputed(coins(0.6, 0.4, delays=Fixed(0)), T, safe=safe)


# ---- the constants of the proof ----


def test_the_exceptions_cost_less_than_085_gaps() -> None:
    costs = [2 / n + (n - 2) * n ** (-5 / 3) + (n - 1) * n ** (-13 / 3) for n in range(3, 100_000)]
    assert max(costs) < 0.85
    assert costs[0] == max(costs)


@given(gap=st.floats(0.02, 1.0), horizon=st.integers(3, 10**9))
def test_few_of_the_first_pulls_are_late(gap: float, horizon: int) -> None:
    """The lengths, the radius, and the tail of the binomial number, which is exact here."""
    log_t = math.log(horizon)
    for least, most in ((32.0, 38.4), (128.0, 153.6)):
        length = shortest_prefix(least * log_t / gap**2)
        assert length < most * log_t / gap**2 + 1
    assert math.sqrt(2 * log_t / length) <= gap / 8 + 1e-15
    tail = binom.logsf(math.ceil(length * gap / 4) - 1, length, gap / 8)
    assert tail <= -16 / 3 * log_t + 1e-9


def shortest_prefix(least: float) -> int:
    """The smallest ceil(1.2^k) that is so large."""
    return int(CELL_ENDS[np.searchsorted(CELL_ENDS[:-1], least)]) if least <= LONGEST_PREFIX else 10**18


@given(
    horizon=st.integers(80, 10**9),
    safe=st.sampled_from([1, 3, 100]),
    copies=st.tuples(st.integers(1, 9), st.integers(1, 60)),
    longer=st.sampled_from([(32.0, 30), (32.0, 50), (128.0, 37), (128.0, 57)]),
    waits=st.lists(st.integers(0, 5000), min_size=3, max_size=3),
)
@example(horizon=10**6, safe=1, copies=(1, 1), longer=(128.0, 57), waits=[0, 0, 0])  # just longer than a prefix
@example(horizon=10**6, safe=100, copies=(9, 1), longer=(128.0, 57), waits=[9, 0, 5])
@example(horizon=10**6, safe=1, copies=(1, 60), longer=(32.0, 50), waits=[0, 8, 2])
def test_the_steps_of_the_proof_add_up_to_the_bound(
    horizon: int, safe: int, copies: tuple[int, int], longer: tuple[float, int], waits: list[int]
) -> None:
    """Step 5, term by term, with the lengths of prefixes that there are. They are longest in relation to the bound
    where the least one is just longer than a prefix."""
    log_t, (best, others) = math.log(horizon), copies
    factor, cell = longer
    gap = math.sqrt(factor * log_t / (CELL_ENDS[cell] * (1 + 1e-6)))
    assume(gap < 0.9)
    means = [1.0] * best + [1.0 - gap] * others + [0.1]
    laws: list[DelayLaw] = [
        Fixed(wait) for wait, count in zip(waits, (best, others, 1), strict=True) for _ in range(count)
    ]
    bound = imputed(coins(*means, delays=laws), horizon, safe=safe)
    gaps = [gap] * others + [0.9]
    arms = best + len(gaps)
    first, second = ([shortest_prefix(least * log_t / each**2) for each in gaps] for least in (32.0, 128.0))
    pulls_of_best = second[0] - 1
    unlikely = 2 / horizon + len(gaps) * horizon ** (-5 / 3) + arms * horizon ** (-13 / 3)
    found = safe * (sum(first) + len(gaps) + best * pulls_of_best + 1) + unlikely
    assert math.fsum(each * length for each, length in zip(gaps, second, strict=True)) <= bound.terms["learning"]
    assert 0.9 * found <= bound.terms["safe rounds"]
    assert bound.terms["waiting"] == pytest.approx(
        others * gap * waits[1] + 0.9 * waits[2] + 0.9 * (others * waits[1] + waits[2] + waits[0])
    )


# ---- simulations ----


@policy
class Fooled(PrefixPolicy, Policy):
    """The safe form with the worst index: minus infinity for arm 0, infinity for the others."""

    label = "Fooled"

    safe: int = 2

    class KernelParams(NamedTuple):
        """As those of PrefixPolicy, and every how many rounds is safe."""

        c: float
        growth: float
        safe: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (*super().kernel_params(arms), float(self.safe))

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        largest, best = -np.inf, 0
        is_safe = now % int(policy.safe) == 0
        for arm in range(state.arms):
            if state.pulls[arm] == 0:
                return arm
            seen = view(state, arm, now)
            value = interface.lower(policy, seen) if arm == 0 and not is_safe else interface.upper(policy, seen)
            if value > largest:
                largest, best = value, arm
        return best


def biased(gap: float, delay: int) -> Problem:
    """Successes of the best arm and failures of the other are late."""
    late: list[DelayLaw] = [ByReward({0: Fixed(0), 1: Fixed(delay)}), ByReward({0: Fixed(delay), 1: Fixed(0)})]
    return coins(0.2 + gap, 0.2, delays=late)


GAMES = {
    "bias": (biased(0.7, 2000), 2),
    "geometric": (coins(0.9, 0.2, 0.1, delays=Geometric(100)), 2),
    "best late": (coins(0.9, 0.1, delays=[Fixed(3000), Fixed(100)]), 3),
    "other late": (coins(0.9, 0.1, delays=[Fixed(0), Fixed(3000)]), 3),
    "two best": (coins(0.9, 0.1, 0.9, delays=Fixed(50)), 2),
}
"""Problems, with the first arm the best one, and how many rounds have a safe one."""
HORIZON = 40_000


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("kind", [SafeImputedUCB, Fooled])
def test_every_step_of_the_proof(game: str, kind: Any) -> None:
    """All but for probabilities of about 3 / T^2: safe rounds that pull no best arm, when a best arm has its pulls, and
    how often the others are pulled afterwards. And the regret."""
    problem, safe = GAMES[game]
    bound, log_t = imputed(problem, HORIZON, safe=safe), math.log(HORIZON)
    assert bound.value < 0.8 * HORIZON * problem.gaps.max(), "the bound says something"
    found = simulate(problem, [kind(confidence="theory", safe=safe)], horizon=HORIZON, runs=4, seed=8, checkpoints=1)
    assert 0.0 < found.final.max() < bound.value
    gaps, best = problem.gaps.tolist(), np.flatnonzero(problem.gaps == 0.0)
    others = [arm for arm in range(problem.arms) if gaps[arm] > 0.0]
    least = min(gaps[arm] for arm in others)
    lengths = {arm: shortest_prefix(32 * log_t / gaps[arm] ** 2) for arm in others}
    waits = {arm: problem.delay_quantile(arm, 1 - gaps[arm] / 4) for arm in others}
    wrong = sum(lengths[arm] + waits[arm] / safe + 1 for arm in others)
    needed = shortest_prefix(128 * log_t / least**2)
    tau = safe * (math.floor(wrong) + len(best) * (needed - 1) + 1)
    wait_best = max(bound.delays[arm] for arm in best)
    arm = found.trace(0, 0).arm
    in_safe_rounds = arm[safe - 1 :: safe]
    assert np.sum(~np.isin(in_safe_rounds, best)) <= wrong
    assert max(np.sum(arm[:tau] == number) for number in best) >= needed
    for other in others:
        most = shortest_prefix(128 * log_t / gaps[other] ** 2) + bound.delays[other]
        assert np.sum(arm[int(tau + wait_best) :] == other) <= most


def test_a_fooled_index_is_found_out_and_without_safe_rounds_it_is_not() -> None:
    """The worst index makes half of all rounds wrong, or all, until the brackets part; then nothing."""
    problem = coins(0.9, 0.1, delays=Fixed(10))
    policies: list[Policy] = [Fooled(confidence="theory", safe=2), Fooled(confidence="theory", safe=2**40)]
    found = simulate(problem, policies, horizon=HORIZON, runs=4, seed=1, checkpoints=[HORIZON // 2, HORIZON])
    assert np.all(found.curves[0][:, 1] == found.curves[0][:, 0])
    assert np.all(found.curves[1][:, 1] >= 1.9 * found.curves[1][:, 0])


def test_fewer_rounds_than_arms_cost_at_most_each_gap_once() -> None:
    """The proof's first case; the bound has each gap among its terms, and ln T is 0 or little."""
    problem = coins(0.2, 0.9, 0.4, 0.9, delays=Never())
    for horizon, regret in ((1, 0.7), (2, 0.7), (3, 1.2), (4, 1.2)):
        found = simulate(problem, [SafeImputedUCB(safe=5)], horizon=horizon, runs=3, workers=1)
        assert found.final == pytest.approx(regret)
        assert imputed(problem, horizon).terms["learning"] == pytest.approx(
            1.2 + 154 * math.log(horizon) * (1 / 0.7 + 2)
        )
