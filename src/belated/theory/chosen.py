"""Which theorem is about which policy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from belated.errors import InvalidParameter
from belated.policies._base.policy import Policy
from belated.policies.optimistic_pessimistic_elimination import OptimisticPessimisticElimination
from belated.policies.optimistic_ucb import OptimisticUCB
from belated.policies.phased_elimination import PhasedElimination
from belated.policies.prefix_elimination import PrefixElimination
from belated.policies.prefix_ucb import PrefixUCB
from belated.policies.successive_elimination import SuccessiveElimination
from belated.policies.ucb import UCB
from belated.problem import Problem
from belated.theory.bound import Bound
from belated.theory.earlier import joulani
from belated.theory.prefix import prefix_elimination, prefix_ucb
from belated.theory.upper import (
    optimistic_pessimistic,
    optimistic_ucb,
    phased_elimination,
    successive_elimination,
)

THEOREMS: dict[type[Policy], Callable[[Problem, int], Bound]] = {
    SuccessiveElimination: successive_elimination,
    PhasedElimination: phased_elimination,
    OptimisticPessimisticElimination: optimistic_pessimistic,
    PrefixElimination: prefix_elimination,
    PrefixUCB: prefix_ucb,
    OptimisticUCB: optimistic_ucb,
    UCB: joulani,
}
"""The last two are orders with constant 1, the others bounds for c = ln T."""

INDEPENDENT = (successive_elimination, phased_elimination, joulani)
"""Theorems for delays that do not depend on the reward."""


def bound_of(policy: Policy, problem: Problem, horizon: int) -> Bound | None:
    """The bound for a policy on a problem; None if no theorem is about it: not about this policy or this form of it
    (``PrefixUCB(spread=True)``), not for its ``confidence`` or horizon (theorems are for c = ln T,
    ``confidence=None``), or not for delays that depend on the reward.

    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.policies import SuccessiveElimination, UniformChoice
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(200))
    >>> bound_of(SuccessiveElimination(), problem, 10_000), bound_of(UniformChoice(), problem, 10_000)
    (<Bound for SE: 3,740 (Theorem 2, a quantile for each arm)>, None)
    """
    if not isinstance(policy, Policy):
        raise InvalidParameter(f"policy is {policy!r}; give a policy, such as SuccessiveElimination().")
    theorem = THEOREMS.get(type(policy))
    if theorem is None or getattr(policy, "confidence", None) is not None or policy.horizon not in (None, horizon):
        return None
    if getattr(policy, "spread", False):
        return None
    if problem.reward_dependent and theorem in INDEPENDENT:
        return None
    return _proven(theorem, problem, horizon)


@lru_cache(1024)
def _proven(theorem: Callable[[Problem, int], Bound], problem: Problem, horizon: int) -> Bound:
    """What a theorem says; claims, figures and reports ask for the same again and again."""
    return theorem(problem, horizon)
