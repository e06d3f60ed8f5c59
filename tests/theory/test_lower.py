"""The lower bounds by hand, and simulations of the instances that prove them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem, simulate
from belated.delays import ByReward, DelayLaw, Fixed, Never
from belated.errors import InvalidParameter
from belated.live.reduction import reduction
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    PhasedElimination,
    Policy,
    SuccessiveElimination,
    UniformChoice,
)
from belated.rewards import Bernoulli
from belated.theory import (
    dependent_hard_pair,
    independent_hard_family,
    independent_hard_instance,
    lower_bound_dependent,
    lower_bound_independent,
    ucb_hard_instance,
)

# ---- Theorem 1 ----

GRID = [(arms, delay) for arms in (8, 16, 32) for delay in (100, 200, 400)]


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_ucb_waits_for_one_arm_after_the_other(epsilon: float) -> None:
    """Its regret is a K d with one a, and successive elimination's is a small part of that."""
    regret = []
    for arms, delay in GRID:
        problem = ucb_hard_instance(arms, delay, epsilon=epsilon)
        found = simulate(problem, UCB(confidence=1.0), horizon=3 * arms * delay, runs=10, seed=arms + delay)
        regret.append(found.mean[0, -1])
    product = np.array([arms * delay for arms, delay in GRID], np.float64)
    slope = float(product @ regret / (product @ product))
    left = np.sum((regret - slope * product) ** 2) / np.sum((regret - np.mean(regret)) ** 2)
    assert slope > 0.05
    assert left < 0.1
    both = simulate(
        ucb_hard_instance(32, 400, epsilon=epsilon),
        [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)],
        horizon=3 * 32 * 400,
        runs=10,
    )
    assert both.mean[1, -1] < both.mean[0, -1] / 3


def test_theorem_1s_instance() -> None:
    problem = ucb_hard_instance(5, 40)
    assert problem.means.tolist() == [0.5] * 4 + [1.0]
    assert set(problem.delays) == {Fixed(40)}
    scaled = ucb_hard_instance(5, 40, epsilon=0.25)
    assert scaled.means.tolist() == [0.5] + [0.375] * 3 + [0.75]
    assert scaled.rewards[1].atoms == {0.0: 0.5, 0.75: 0.5}
    assert ucb_hard_instance(2, 7, epsilon=0.25).means.tolist() == [0.5, 0.75]


@pytest.mark.parametrize(
    ("given", "named"),
    [((1, 10), "K is 1"), ((2.5, 10), "K is 2.5"), ((4, -1), "delay"), ((4, 1.5), "delay"), ((4, 10, 0.7), "epsilon")],
)
def test_theorem_1_refuses(given: tuple[Any, ...], named: str) -> None:
    arms, delay, *rest = given
    with pytest.raises(InvalidParameter, match=named):
        ucb_hard_instance(arms, delay, **({"epsilon": rest[0]} if rest else {}))


# ---- Theorem 4 ----


def test_theorem_4_by_hand() -> None:
    gaps, q, delay, t, alpha, c = [0.2, 0.0, 0.1], 0.5, 300, 10**30, 0.25, 2.0
    log_t = math.log(t)
    finite = sum((0.75 * log_t - 2 * math.log(64 / (0.5 * gap)) - 4) / (0.5 * gap) for gap in (0.2, 0.1)) / 64
    limit = sum(0.75 * log_t / (0.5 * gap) for gap in (0.2, 0.1)) / 128
    bound = lower_bound_independent(gaps, q, delay, t, alpha, constant=c)
    assert bound.forms["finite"].terms == pytest.approx({"learning": finite, "waiting": 0.5 * 0.1 * 300})
    assert bound.forms["asymptotic"].terms == pytest.approx({"learning": limit, "waiting": 0.5 * 0.1 * 300})
    assert (bound.quantiles, bound.delays) == ((0.5,), (300.0,))
    pulls = {gap: 0.75 * log_t + 1.25 * math.log(0.5 / 4) + math.log(gap / 16) for gap in (0.2, 0.1)}
    proven = (sum(count / gap for gap, count in pulls.items()) / 32 - 4) / 0.5 / 2
    assert bound.forms["proven"].terms == pytest.approx({"learning": proven, "waiting": 0.5 * 0.1 * 300})
    assert bound.value == bound.forms["proven"].value  # 1/0.2 + 1/0.1 < 32: the corollary's last step does not hold
    default = lower_bound_independent(gaps, q, delay, t, alpha)
    assert default.value == lower_bound_independent(gaps, q, delay, t, alpha, constant=1.0).value > bound.value


def test_theorem_4_never_takes_anything_away_from_the_waiting() -> None:
    bound = lower_bound_independent([0.0, 0.01], 0.1, 50, 100, 0.5)
    assert bound.value == bound.forms["proven"].value == bound.forms["finite"].value == pytest.approx(0.5 * 0.005 * 50)
    assert bound.forms["asymptotic"].value > bound.value  # not to be had before T is large
    assert lower_bound_independent([0.0, 0.0], 0.1, 50, 100, 0.5).value == 0.0


GAPS = st.lists(st.floats(0.01, 0.25), min_size=1, max_size=4).map(lambda gaps: [0.0, *gaps])


@strategies.examples(200)
@given(
    GAPS,
    st.floats(0.05, 1.0),
    st.sampled_from([0.0, 0.3, 0.8]),
    st.sampled_from([0.5, 1.0, 8.0]),
    st.floats(-20.0, 20.0),
)
def test_the_asymptotic_form_follows_from_the_finite_one_when_t_is_large(
    gaps: list[float], q: float, alpha: float, constant: float, more: float
) -> None:
    """From T = exp(8 / (1 - alpha) (ln(32 C / (q gap)) + 1)) on the finite form is the larger. What is proven implies
    it where the 1 / gap add up to 32, as the proof's last step needs."""
    enough = 8 / (1 - alpha) * (math.log(32 * constant / (q * min(gaps[1:]))) + 1)
    log_t = enough + more
    horizon = math.floor(math.exp(min(log_t, 700.0)))
    if horizon < 1 or log_t > 700:
        return
    bound = lower_bound_independent(gaps, q, 0, horizon, alpha, constant=constant)
    finite, asymptotic = bound.forms["finite"].value, bound.forms["asymptotic"].value
    if more > 0.1:
        assert finite >= asymptotic * (1 - 1e-12)
    if sum(1 / gap for gap in gaps[1:]) >= 32:
        assert bound.value >= finite
        assert bound.forms["proven"].value >= finite * (1 - 1e-12)
    else:
        assert bound.value == bound.forms["proven"].value


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"gaps": [0.1, 0.2]}, "must be 0"),
        ({"gaps": [0.0, 0.3]}, "gaps"),
        ({"gaps": []}, "gaps"),
        ({"gaps": "0.1"}, "gaps"),
        ({"q": 0.0}, "q"),
        ({"q": 1.5}, "q"),
        ({"delay": -1}, "delay"),
        ({"delay": 2000}, "delay <= horizon"),
        ({"horizon": 0}, "horizon"),
        ({"alpha": 1.0}, "alpha"),
        ({"constant": 0.0}, "constant"),
    ],
    ids=str,
)
def test_theorem_4_refuses(change: dict[str, Any], named: str) -> None:
    given: dict[str, Any] = {"gaps": [0.0, 0.1], "q": 0.5, "delay": 10, "horizon": 1000, "alpha": 0.5}
    lower_bound_independent(**given)
    with pytest.raises(InvalidParameter, match=named):
        lower_bound_independent(**(given | change))


def test_theorem_4s_instance() -> None:
    problem = independent_hard_instance([0.0, 0.25, 0.1], 0.3, 70)
    assert problem.means.tolist() == [0.5, 0.25, 0.4]
    for arm in range(3):
        assert problem.delay_cdf(arm, 69) == 0.0
        assert problem.delay_cdf(arm, 70) == problem.delay_cdf(arm, 10**9) == pytest.approx(0.3)
    assert independent_hard_instance([0.0, 0.25], 1.0, 70).delays == (Fixed(70), Fixed(70))
    family = independent_hard_family([0.0, 0.25, 0.1], 0.3, 70)
    orders = {tuple(family(np.random.default_rng(seed)).means.tolist()) for seed in range(60)}
    assert len(orders) == 6
    assert {tuple(sorted(order)) for order in orders} == {(0.25, 0.4, 0.5)}
    with pytest.raises(InvalidParameter, match="gaps"):
        independent_hard_family([0.1], 0.3, 70)


ALL: list[Policy] = [
    UCB(confidence=1.0),
    SuccessiveElimination(confidence=1.0),
    PhasedElimination(confidence=1.0),
    UniformChoice(),
]


@pytest.mark.parametrize(("q", "delay"), [(0.5, 1000), (0.1, 2500), (1.0, 3000)])
def test_nobody_beats_theorem_4(q: float, delay: int) -> None:
    """Nothing is known before the first answer, so that up to it the mean over the orders is that of a blind choice."""
    gaps, horizon = [0.0, 0.25, 0.2, 0.25, 0.1], 3000
    bound = lower_bound_independent(gaps, q, delay, horizon, 0.5).forms["finite"]
    assert bound.value >= 0.5 * 0.16 * delay * (1 - 1e-12)
    found = simulate(
        independent_hard_family(gaps, q, delay), ALL, horizon=horizon, runs=400, seed=3, checkpoints=[delay, horizon]
    )
    assert np.all(found.mean[:, -1] >= bound.value - 4 * found.stderr[:, -1])
    assert np.all(np.abs(found.mean[:, 0] - 0.16 * delay) < 4.5 * found.stderr[:, 0] + 0.25 * len(gaps))


# ---- Theorem 6 ----


def joint(problem: Problem, arm: int) -> dict[tuple[float, float], float]:
    """P(reward, delay) of an arm of a pair, from its laws."""
    reward, delay = problem.rewards[arm], problem.delays[arm]
    assert reward.atoms is not None
    laws: dict[float, DelayLaw] = (
        delay.by_value(reward) if isinstance(delay, ByReward) else dict.fromkeys(reward.atoms, delay)
    )
    found: dict[tuple[float, float], float] = {}
    for value, probability in reward.atoms.items():
        d = np.arange(laws[value].longest + 1)
        for at, share in zip(d, np.diff(laws[value].cdf(d), prepend=0.0), strict=True):
            if share > 0.0:
                found[value, float(at)] = found.get((value, float(at)), 0.0) + probability * float(share)
    assert math.fsum(found.values()) == pytest.approx(1.0)
    return found


@strategies.examples(60)
@given(st.floats(0.001, 0.5), st.integers(1, 300))
def test_the_pair_cannot_be_told_apart_before_the_first_late_answer(gap: float, delay: int) -> None:
    pair = dependent_hard_pair(gap, delay)
    assert pair[0].means.tolist() == pytest.approx([0.5, 0.5 - gap])
    assert pair[1].means.tolist() == pytest.approx([0.5, 0.5 + gap])
    tables = [joint(problem, arm) for problem in pair for arm in (0, 1)]
    for found in tables:
        late = math.fsum(p for (_, at), p in found.items() if at == delay)
        assert {at for _, at in found} <= {0.0, float(delay)}
        assert late == pytest.approx(2 * gap, abs=1e-12)
        for reward in (0.0, 1.0):
            assert found.get((reward, 0.0), 0.0) == pytest.approx(0.5 - gap, abs=1e-12)
    for problem in pair:
        for arm in (0, 1):
            assert problem.delay_quantile(arm, min(1 - 2 * gap + 1e-9, 1.0)) == delay
            if gap < 0.49:
                assert problem.delay_quantile(arm, 1 - 2 * gap - 1e-9) == 0


EVERYBODY: list[Policy] = [
    UCB(confidence=1.0),
    SuccessiveElimination(confidence=1.0),
    OptimisticPessimisticElimination(confidence=1.0),
    UniformChoice(),
]


@pytest.mark.parametrize(("gap", "delay"), [(0.05, 400), (0.2, 300), (0.5, 100)])
def test_on_the_pair_every_learner_does_the_same_and_pays_for_it(gap: float, delay: int) -> None:
    horizon, runs = delay, 2000
    found = [
        simulate(problem, EVERYBODY, horizon=horizon, runs=runs, seed=11) for problem in dependent_hard_pair(gap, delay)
    ]
    pulls = [result.pulls[:, :, 1].astype(np.float64) for result in found]
    error = np.sqrt(sum(each.var(axis=1) for each in pulls) / runs)
    assert np.all(np.abs(pulls[0].mean(axis=1) - pulls[1].mean(axis=1)) <= 4.5 * error + 1e-9)
    value = lower_bound_dependent(gap, delay, horizon).value
    assert value == pytest.approx(gap * delay / 2)
    worse = np.argmax([result.mean[:, -1] for result in found], axis=0)
    for policy, instance in enumerate(worse):
        result = found[instance]
        assert result.mean[policy, -1] >= value - 4 * result.stderr[policy, -1] - 1e-9


def test_after_the_first_late_answer_the_pair_can_be_told_apart() -> None:
    """Otherwise the test above would show nothing."""
    one, two = (
        simulate(problem, SuccessiveElimination(confidence=1.0), horizon=4000, runs=50, seed=1).pulls[0, :, 1].mean()
        for problem in dependent_hard_pair(0.2, 100)
    )
    assert two > 2 * one


def test_theorem_6_by_hand() -> None:
    assert lower_bound_dependent(0.2, 500, 1000).terms == {"learning": 0.0, "waiting": pytest.approx(50.0)}
    learning = (0.5 * math.log(10**12) - math.log(8 * 3 / 0.2)) / (32 * 0.2)
    bound = lower_bound_dependent(0.2, 2, 10**12, 0.5, constant=3.0)
    assert bound.forms["both"].terms == pytest.approx({"learning": learning / 2, "waiting": 0.1})
    assert bound.forms["waiting"].value == pytest.approx(0.2)
    assert bound.value == bound.forms["both"].value == pytest.approx(learning / 2 + 0.1)
    long = lower_bound_dependent(0.2, 5000, 10**12, 0.5, constant=3.0)
    assert long.value == long.forms["waiting"].value == pytest.approx(500.0)
    assert lower_bound_dependent(0.2, 10, 10, 0.9).value == pytest.approx(1.0)  # nothing below 0 is counted


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((0.0, 10, 100), "gap"),
        ((0.6, 10, 100), "gap"),
        ((0.1, -1, 100), "delay"),
        ((0.1, 101, 100), "delay <= horizon"),
        ((0.1, 10, 0), "horizon"),
        ((0.1, 10, 100, 1.0), "alpha"),
    ],
    ids=str,
)
def test_theorem_6_refuses(given: tuple[Any, ...], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        lower_bound_dependent(*given)


# ---- the reduction ----


@pytest.mark.parametrize("q", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("policy", [SuccessiveElimination(confidence=0.1), UCB(confidence=0.1)], ids=repr)
def test_a_game_without_delays_costs_a_share_of_the_lossy_one(q: float, policy: Policy) -> None:
    horizon, games = 400, 120
    problem = Problem([Bernoulli(0.8), Bernoulli(0.2), Bernoulli(0.5)], Never())
    game = reduction(policy, q)
    played = [game.play(problem, horizon, seed=seed) for seed in range(games)]
    assert {each.rounds for each in played} == {math.floor(q * horizon / 4)}
    spare = np.array([each.regret - q * each.lossy_regret for each in played])
    assert spare.mean() <= 4 + 4 * spare.std(ddof=1) / math.sqrt(games)
    bad = sum(each.bad for each in played)
    assert ss.binomtest(bad, games, math.exp(-q * horizon / 16), alternative="greater").pvalue > 1e-4
    assert any(each.regret > 0.0 for each in played)
    for each in played:
        assert 0.0 <= each.regret <= min(each.lossy_regret, 0.6 * each.rounds) + 1e-9


def test_the_game_without_delays_is_the_first_part_of_the_lossy_one_when_nothing_is_lost() -> None:
    """With q = 1 it is the learner itself for T / 4 rounds; and a blind learner pays its share in each round."""
    problem = Problem([Bernoulli(0.8), Bernoulli(0.2)], Fixed(0))
    played = [reduction(UniformChoice(), 1.0).play(problem, 400, seed=seed) for seed in range(100)]
    regret = np.array([each.regret for each in played])
    assert abs(regret.mean() - 0.3 * 100) <= 4 * regret.std(ddof=1) / 10 + 1e-9
    assert not any(each.bad for each in played)
    again = [reduction(UniformChoice(), 1.0).play(problem, 400, seed=seed) for seed in range(100)]
    assert again == played


def test_a_game_is_filled_up_where_luck_fails() -> None:
    """With 8 rounds and q = 0.5 the one round is missed in 7 rounds with probability 2^-7; then the eighth is played,
    and a learner who has heard nothing plays its first arm."""
    problem = Problem([Bernoulli(0.2), Bernoulli(0.8)], Fixed(0))
    played = [reduction(UCB(confidence=1.0), 0.5).play(problem, 8, seed=seed) for seed in range(1500)]
    regret = [each.regret for each in played if each.bad]
    assert regret == pytest.approx([0.6] * len(regret))
    assert len(regret) > 3
    assert ss.binomtest(len(regret), 1500, 0.5**7).pvalue > 1e-4


@pytest.mark.parametrize("q", [0.0, -0.1, 1.1, "x", None])
def test_the_reduction_refuses_other_shares(q: Any) -> None:
    with pytest.raises(InvalidParameter, match="q"):
        reduction(UCB(confidence=1.0), q)


def test_the_reduction_refuses_what_is_no_policy() -> None:
    with pytest.raises(InvalidParameter, match="policy"):
        reduction("UCB", 0.5)  # type: ignore[arg-type]
    assert "0.5" in repr(reduction(UCB(confidence=1.0), 0.5))
