"""Policies from outside the package: an index, memory of ages and ranks, an own random stream, and mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from belated import Bandit, Problem, simulate
from belated.delays import Empirical, Fixed, Geometric, Pareto
from belated.errors import InvalidParameter, PolicyError
from belated.kernel.helpers import reached_functions
from belated.kernel.jit import JIT
from belated.live.learner import Learner
from belated.policies import UCB, ConfidencePolicy, IndexPolicy, Policy, State, observed_mean, policy, radius
from belated.rewards import Bernoulli, Beta, Uniform
from own_policies import Impatient, PullsUCB
from sampling import Prefetched
from support.parity import assert_agree
from support.problems import choices_of


@pytest.mark.parametrize("arms", [2, 80])
def test_an_index_policy_of_ones_own(arms: int) -> None:
    problem = Problem([Bernoulli(0.3 + 0.5 * arm / arms) for arm in range(arms)], Pareto(0.8))
    assert_agree(problem, [PullsUCB(confidence=0.4)], horizon=1500, runs=3, seed=1, checkpoints=50)


def test_without_delays_a_radius_of_pulls_is_ucbs() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5), Beta(3, 2)], Fixed(0))
    result = simulate(problem, [UCB(confidence=0.2), PullsUCB(confidence=0.2)], horizon=3000, runs=30, seed=3)
    assert np.array_equal(result.curves[0], result.curves[1])


@policy
class CarelessUCB(ConfidencePolicy, IndexPolicy):
    """Asks for its radius before there is any feedback."""

    label = "Careless-UCB"

    @staticmethod
    def index(policy: Any, arm: Any) -> Any:
        return observed_mean(arm) + radius(policy, arm.observed)


@policy
class CarefulUCB(ConfidencePolicy, IndexPolicy):
    """The same without asking."""

    label = "Careful-UCB"

    @staticmethod
    def index(policy: Any, arm: Any) -> Any:
        return math.inf if arm.observed < 1.0 else observed_mean(arm) + radius(policy, arm.observed)


@pytest.mark.skipif(not JIT, reason="plain Python refuses to divide by 0")
def test_a_radius_outside_of_the_table_is_computed() -> None:
    problem = Problem([Bernoulli(0.3 + 0.05 * arm) for arm in range(8)], Fixed(3))
    policies = [CarelessUCB(confidence=1.0), CarefulUCB(confidence=1.0)]
    setting: dict[str, Any] = {"horizon": 400, "runs": 20, "check": False}
    first, again = (simulate(problem, policies, **setting).final for _ in range(2))
    assert np.array_equal(first, again)
    assert np.array_equal(first[0], first[1])


def impatient(problem: Problem, horizon: int, seed: int, run: int) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """The policy Impatient by other means: (choice, answers known before it as (round, reward)) of each round."""
    environment = Prefetched(problem, horizon=horizon, seed=seed, run=run)
    answers: list[list[tuple[int, int, float]]] = [[] for _ in range(problem.arms)]  # (age, rank, reward), as they come
    rounds: list[list[int]] = [[] for _ in range(problem.arms)]  # of the pulls, in order
    due: dict[int, list[tuple[int, int, int, float]]] = {}
    for now in range(1, horizon + 1):
        arrived = due.pop(now - 1, [])
        for arm, age, rank, reward in arrived:
            answers[arm].append((age, rank, reward))
        if environment.own_uniform(now, 0) < 0.1:
            arm = int(environment.own_uniform(now, 1) * problem.arms)
        else:
            scores = []
            for number in range(problem.arms):
                known, ages, ranks, memory = answers[number], 0.0, 0.0, 0.0
                for age, rank, reward in known:
                    ages += age
                    ranks += rank * reward
                for rank, at in enumerate(rounds[number]):
                    memory += 1e-3 * at * rank
                scores.append(ages + ranks - 0.1 * (known[-1][1] if known else 0.0) + memory)
            arm = scores.index(min(scores))
        rank = len(rounds[arm])
        reward, delay = environment.pull(arm, rank, now)
        rounds[arm].append(now)
        if delay is not None:
            due.setdefault(now + delay, []).append((arm, delay, rank, reward))
        yield arm, [(rounds[number][place], given) for number, _, place, given in arrived]


AGED = Problem(
    [Beta(2, 2), Bernoulli(0.4), Uniform(0.1, 0.75)], [Geometric(4), Empirical([0, 9, 30], 0.2), Pareto(0.7)]
)


def test_a_policy_with_memory_sees_ages_ranks_and_its_own_stream() -> None:
    """In the engine."""
    result = simulate(AGED, Impatient(), horizon=300, runs=3, seed=21, checkpoints=300)
    for run in range(3):
        expected = [arm for arm, _ in impatient(AGED, 300, 21, run)]
        assert choices_of(AGED, result.curves[0, run]) == expected
        assert len(set(expected)) == 3


def test_a_policy_with_memory_in_a_live_bandit() -> None:
    bandit = Bandit(["0", "1", "2"], Impatient(), seed=21)
    for arm, answers in impatient(AGED, 300, 21, 0):
        for pulled_at, reward in answers:
            bandit.observe(pulled_at - 1, reward)
        assert bandit.choose().arm == str(arm)


def test_a_policy_with_memory_is_saved_and_restored() -> None:
    bandit = Bandit(["0", "1", "2"], Impatient(), seed=21)
    for arm, answers in impatient(AGED, 200, 21, 0):
        bandit = Bandit.from_dict(bandit.to_dict())
        for pulled_at, reward in answers:
            bandit.observe(pulled_at - 1, reward)
        assert bandit.choose().arm == str(arm)


def test_a_function_of_the_kernel_with_other_arguments_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"index takes \(policy, arm, extra\)"):

        @policy
        class Wrong(PullsUCB):  # type: ignore[misc]
            label = "wrong"

            @staticmethod
            def index(policy: Any, arm: Any, extra: Any) -> Any:
                return 0.0


def test_a_function_with_a_name_that_no_policy_has_is_refused() -> None:
    """A misspelt hook, or one of an earlier version, would never be called."""
    with pytest.raises(InvalidParameter, match=r"Misspelt\.note_answer is not a function that policies have"):

        @policy
        class Misspelt(PullsUCB):  # type: ignore[misc]
            label = "misspelt"

            @staticmethod
            def note_answer(policy: Any, state: State, arm: Any) -> Any:
                pass


def arms(names: list[str]) -> list[str]:
    """A function that no policy calls, with the name of a field of the state."""
    return [name.strip() for name in names]


TOOLS: Any = ModuleType("tools")
TOOLS.first, TOOLS.pulls, TOOLS.arms = 0, arms, arms


@policy
class Reader(Policy):
    """The arm with the fewest pulls. Reads state.arms and state.pulls beside functions of these names."""

    label = "Reader"

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        fewest = TOOLS.first
        for arm in range(state.arms):
            if state.pulls[arm] < state.pulls[fewest]:
                fewest = arm
        return fewest


def test_a_field_of_the_state_is_not_a_function_with_its_name() -> None:
    """Neither one of the policy's module, nor one of a module that the policy uses; but what it calls is found."""
    assert arms([" a "]) == ["a"]
    assert [function.__name__ for function in reached_functions([Reader.choose])] == ["choose"]
    assert [function.__name__ for function in reached_functions([lambda: arms])] == ["<lambda>", "arms"]
    assert [function.__name__ for function in reached_functions([lambda: TOOLS.arms])] == ["<lambda>", "arms"]
    found = simulate(PROBLEM, Reader(), horizon=10, runs=2, seed=0)
    assert found.pulls[0].tolist() == [[5, 5], [5, 5]]


def test_a_table_among_the_parameters_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="field table"):

        @policy
        class Tabled(PullsUCB):  # type: ignore[misc]
            label = "tabled"

            class KernelParams(NamedTuple):
                c: float
                growth: float
                table: Any


# ---- choices ----

PROBLEM = Problem([Bernoulli(0.5), Bernoulli(0.6)], Fixed(3))


@policy
class WildFloat(Policy):
    """Its third choice is ``given``."""

    label = "WildFloat"
    given: float = 0.0

    class KernelParams(NamedTuple):
        """The choice."""

        given: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (self.given,)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return policy.given if now == 3 else 0.0

    @staticmethod
    def lower(policy: Any, arm: Any) -> Any:
        return 0.0

    @staticmethod
    def upper(policy: Any, arm: Any) -> Any:
        return 1.0


@policy
class WildInteger(WildFloat):
    """The same as an integer."""

    label = "WildInteger"

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return np.int64(policy.given) if now == 3 else np.int64(0)


WILD: list[Any] = [
    *(WildInteger(float(given)) for given in (-1, 2, 2**32 + 1, 2**40)),
    *(WildFloat(given) for given in (1.7, -0.5, math.nan, math.inf)),
]


@pytest.mark.parametrize("wild", WILD, ids=repr)
def test_a_choice_that_is_no_arm_is_an_error(wild: Any) -> None:
    with pytest.raises(PolicyError, match="With 2 arms, return a whole number from 0 to 1"):
        simulate(PROBLEM, wild, horizon=50, runs=1)
    with pytest.raises(PolicyError, match="With 2 arms, return a whole number from 0 to 1"):
        Bandit(["a", "b"], wild)
    with pytest.raises(InvalidParameter, match=r"gave an arm that does not exist, in a later round[^~]*With 2 arms"):
        simulate(PROBLEM, wild, horizon=50, runs=1, check=False)
    learner = Learner(2, wild, 0, check=False)
    learner.decide()
    learner.decide()
    with pytest.raises(InvalidParameter, match=r"gave an arm that does not exist, in a later round[^~]*With 2 arms"):
        learner.decide()


def test_a_whole_number_that_is_a_float_is_an_arm() -> None:
    for wild in (WildFloat(1.0), WildInteger(1.0)):
        assert simulate(PROBLEM, wild, horizon=50, runs=1).pulls[0, 0].tolist() == [49, 1]


@policy
class Lonely(ConfidencePolicy):
    """Says that one arm is left, which is none."""

    label = "Lonely"

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return 0

    @staticmethod
    def committed_arm(policy: Any, state: State) -> Any:
        return 500_000_000 if state.pulls[0] > 3 else -1


def test_a_last_arm_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(PolicyError, match="committed_arm returned 500000000"):
        simulate(PROBLEM, Lonely(), horizon=50, runs=1)
    with pytest.raises(InvalidParameter, match="committed_arm gave an arm that does not exist"):
        simulate(PROBLEM, Lonely(), horizon=50, runs=1, check=False)
