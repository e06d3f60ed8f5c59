"""What a policy from outside the package may get wrong: an error, and never a wild read or write."""

from __future__ import annotations

from typing import Any

import pytest

from belated import Bandit, Problem, simulate
from belated.delays import Fixed
from belated.errors import InvalidParameter
from belated.policies._base.confidence import ConfidencePolicy
from belated.policies._base.policy import policy
from belated.policies._base.state import State
from belated.rewards import Bernoulli

PROBLEM = Problem([Bernoulli(0.5), Bernoulli(0.6)], Fixed(3))


def choosing(given: Any) -> Any:
    """A policy whose third choice is ``given``."""

    @policy
    class Wild(ConfidencePolicy):
        """Chooses what it is told to."""

        label = "Wild"

        @staticmethod
        def choose(policy: Any, state: State, now: Any) -> Any:
            return given if now == 3 else type(given)(0)

    return Wild()


@pytest.mark.parametrize("given", [-1, 2, 2**32 + 1, 2**40, 1.7, -0.5, float("nan"), float("inf")])
def test_a_choice_that_is_no_arm_is_an_error(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="gave an arm that does not exist; with 2 arms"):
        simulate(PROBLEM, choosing(given), horizon=50, runs=1)
    bandit = Bandit(["a", "b"], choosing(given))
    bandit.choose(2)
    with pytest.raises(InvalidParameter, match="gave an arm that does not exist; with 2 arms"):
        bandit.choose()


def test_a_whole_number_that_is_a_float_is_an_arm() -> None:
    assert simulate(PROBLEM, choosing(1.0), horizon=50, runs=1).pulls[0, 0].tolist() == [49, 1]


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
    with pytest.raises(InvalidParameter, match="committed_arm gave an arm that does not exist"):
        simulate(PROBLEM, Lonely(), horizon=50, runs=1)
