"""Imputed-UCB within prefix brackets, with a bound for every joint law of reward and delay."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from belated.policies import Arm, IndexPolicy, PrefixPolicy, State, inline, policy, view
from belated.policies._base import delay_record, prefix
from belated.policies._base.imputed_index import (
    correction_of,
    count_feedback,
    count_pull,
    count_retraction,
    list_after_feedback,
    list_after_retraction,
    list_if_due,
    refresh_due,
)
from belated.policies._base.index import LEADER, set_score
from belated.policies._base.prefix import correct, count, prefix_lower, prefix_upper
from belated.problem import Problem
from belated.theory import Bound, imputed
from belated.validation import Confidence, Domain

CELLS_AT = delay_record.MEMORY
"""The first column of the prefix brackets; the record of delays is before them."""
INDEX, BRACKET = CELLS_AT + prefix.SIZE, CELLS_AT + prefix.SIZE + 1
"""Columns of an arm's memory: the index of Imputed-UCB as it was last computed; the upper bracket."""


@inline
def clip_score(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the brackets of an arm, and clip its index to them."""
    seen = view(state, arm, now)
    lower, upper = prefix_lower(policy, seen, CELLS_AT)[0], prefix_upper(policy, seen, CELLS_AT)[0]
    state.memory[arm, BRACKET] = upper
    set_score(state, arm, min(max(state.memory[arm, INDEX], lower), upper))


@inline
def largest_bracket(state: State) -> Any:
    """The arm with the largest upper bracket, the first of equals; one without pulls has an infinite one."""
    largest, best = -np.inf, 0
    for arm in range(state.arms):
        if state.pulls[arm] == 0:
            return arm
        if state.memory[arm, BRACKET] > largest:
            largest, best = state.memory[arm, BRACKET], arm
    return best


@policy
class SafeImputedUCB(IndexPolicy, PrefixPolicy):
    """Imputed-UCB that cannot be fooled forever: its index stays within prefix brackets, and some rounds go to the
    largest one.

    Each arm once in index order. Then every ``safe``-th round, those whose number is a multiple of it, pulls the arm
    with the largest upper prefix bracket U, as PrefixUCB does. All other rounds pull the arm with the largest
    min(max(I, L), U), where I is the index of ImputedUCB with ``confidence="anytime"`` and L is the lower bracket. Ties
    go to the lowest index. The brackets, which are also the bounds of ``summary()``, have the level c that
    ``confidence`` says; I has none.

    With c = ln T the brackets hold for every joint law of reward and delay, and so does a bound on the regret, whatever
    I is: of order ln T for fixed gaps and delays, with ``safe`` as a factor. It is infinite if a best arm's feedback is
    lost with a probability above an eighth of the least gap, or another arm's with one above an eighth of its own gap.
    Clipping alone has no such bound, since an arm that is never pulled keeps wide brackets. See docs/theory/imputed.md.

    Parameters
    ----------
    confidence
        c, the level of the brackets. "theory", the default, is what the bound on the regret assumes: ln T with a
        horizon T; without one, a level that is valid at all times. With a number nothing is proven.
    safe
        Every how many rounds the arm with the largest upper bracket is pulled. The smaller, the sooner a fooled index
        is found out, and the more the rounds that it costs where the index is right. With 1 it is PrefixUCB.
    patience
        The longest plausible delay in rounds, if it is known: pending pulls count in full until they are as old, and a
        silent arm is doubted only then.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], SafeImputedUCB(safe=20))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [4, 96]
    """

    label = "Imputed-UCB safe"
    formula = "argmax min(max(I, L), U), I as in Imputed-UCB, prefix brackets [L, U]; every safe-th round argmax U"
    introduced_here = True
    memory = BRACKET + 1
    cached_memory = range(CELLS_AT + prefix.CURRENT, memory)
    arena_variants = ({"confidence": 1.0},)
    corrects_mean = True
    supports_replacement = False  # how late feedback was is not known any more when it is replaced

    confidence: Confidence = "theory"
    safe: Annotated[int, Domain(1, 2**53, whole=True)] = 100
    patience: Annotated[float | None, Domain(0, open_low=True, optional=True)] = None

    class KernelParams(NamedTuple):
        """The level of the brackets; the longest plausible delay, 0 if it is not given; 1, since the index is that of
        "anytime"; every how many rounds the largest bracket is pulled."""

        c: float
        growth: float
        patience: float
        anytime: float
        safe: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (*super().kernel_params(arms), self.patience or 0.0, 1.0, float(self.safe))

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        return imputed(problem, horizon, self.safe) if self.uses_theory(horizon) else None

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count_pull(state, arm, rank, now)
        count(state.memory, arm, CELLS_AT, rank, 1.0, 0.0, 0.0)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count_feedback(state, arm, reward, pulled_at, now)
        count(state.memory, arm, CELLS_AT, rank, 0.0, 1.0, reward)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        if pulls < 0.0:  # a pending pull is retracted
            count_retraction(state, arm, pulled_at)
            correct(state.memory, arm, CELLS_AT, rank, pulls, observed, total)

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        lower, upper = prefix_lower(policy, arm, CELLS_AT)[0], prefix_upper(policy, arm, CELLS_AT)[0]
        return min(max(arm.memory[arm.number, INDEX], lower), upper)

    @staticmethod
    def keep_index(policy: Any, state: State, arm: Any, index: Any, now: Any) -> Any:
        state.memory[arm, INDEX] = index
        clip_score(policy, state, arm, now)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm, CELLS_AT)[0]

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return prefix_upper(policy, arm, CELLS_AT)[0]

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm, CELLS_AT)[1], prefix_upper(policy, arm, CELLS_AT)[1]

    @staticmethod
    def correction(policy: Any, arm: Arm) -> Any:
        return correction_of(arm)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        refresh_due(policy, state, now)
        return largest_bracket(state) if now % int(policy.safe) == 0 else state.register[LEADER]

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        list_if_due(state, arm)
        clip_score(policy, state, arm, now)

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        list_after_feedback(state, arm)
        clip_score(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        list_after_retraction(state, arm)
