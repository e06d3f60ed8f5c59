"""UCB that counts the pending pulls whose feedback may still come.

Few arms can be the next to be pulled, so few indices need be known: the root of an equation each. The score of an arm
is what its index does not exceed, its LOWEST what it is not below. Pulls and feedback move these bounds; the index
itself is computed when its arm leads by the one and might not by the other."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from belated.policies import Arm, ConfidencePolicy, IndexPolicy, State, confidence_level, inline, policy, view
from belated.policies._base.index import LEADER, clear_score, set_score
from belated.policies._base.kl_bound import kl_upper
from belated.validation import Domain

LEVELS = 31
UPDATED, AGES = 0, 1
"""Columns of an arm's memory: the round of the last update of its age histogram; the first of the histogram's counts,
two for each level."""
LONGEST_DELAY, SHARE, CHECK_AT, MEAN, BUDGET, LOWEST, MEMORY = range(AGES + 2 * LEVELS, AGES + 2 * LEVELS + 7)
"""Columns of an arm's memory, after the age histogram: 1 + the longest delay of its feedback; the share of its older
pulls that have feedback; the round in which its index is due again; mean and budget of its index; what its index is not
below."""
NEXT_CHECK, ARMS_WITH_FEEDBACK, SUM_OF_SHARES, FEEDBACK_COUNT, FEEDBACK_TOTAL = range(5)
"""Columns of the row shared by all arms: the first of the rounds CHECK_AT; the number of arms with feedback; the sum of
the shares; the number of feedbacks and their sum; and LONGEST_DELAY of all arms."""
NEVER = 1e18
WINDOW = 4.0
"""A pending pull is young until it is this many times as old as the latest feedback was late."""
MAX_LOSS_FACTOR = 4.0
"""Lost feedback makes that of an arm count at most this many times."""
HALF_TRUST = 300.0
"""After this many old pulls without feedback, a silent arm's mean is halved."""
SLACK = 4e-6
"""More than by how much two computed indices may be in another order than the roots that they stand for."""
FLAT = 1e-6
"""Where p (1 - p) is less, nothing is said about how an index changes with its mean p."""


# ---- the age histogram ----
# It counts an arm's pending pulls in bins that grow with age. A pull of round s is counted at level j in the block
# s >> j of 2^j rounds, where j is the smallest level at which that is the present block or the one before; as rounds
# pass, counts move up a level. So a block is about as long as its pulls are old, and its number follows from s and the
# round of the last update.


@inline
def log2(number: Any) -> Any:
    """The logarithm of a whole number from 1 to 2^53, rounded down."""
    return (np.float64(number).view(np.int64) >> 52) - 1023


@inline
def column_of(pulled_at: Any, updated: Any) -> Any:
    """The column that counts a pull in a histogram of round ``updated``."""
    level = log2(max(updated - pulled_at, 1))
    if (pulled_at >> level) < (updated >> level) - 1:
        level += 1
    return AGES + 2 * level + ((pulled_at >> level) & 1)


@inline
def advance_ages(state: State, arm: Any, now: Any) -> None:
    """Bring the histogram of an arm to round ``now``."""
    before = int(state.memory[arm, UPDATED])
    if before == now:
        return
    for level in range(LEVELS - 1):
        last, present = before >> level, now >> level
        if last == present:
            break
        for block in (last - 1, last):
            if block < present - 1 and block >= 0:
                column = AGES + 2 * level + (block & 1)
                count = state.memory[arm, column]
                state.memory[arm, column] = 0.0
                state.memory[arm, AGES + 2 * (level + 1) + ((block >> 1) & 1)] += count
    state.memory[arm, UPDATED] = now


@inline
def count_pulls(state: State, arm: Any, pulled_at: Any, pulls: Any) -> None:
    """Add ``pulls`` pending pulls of round ``pulled_at``, to a histogram that was advanced."""
    state.memory[arm, column_of(pulled_at, int(state.memory[arm, UPDATED]))] += pulls


@inline
def older_pulls(arm: Arm, rounds: Any) -> Any:
    """The number of pending pulls in blocks that began ``rounds`` rounds ago or earlier: blocks before the present one
    of their level, as the pulls of that are counted on lower levels."""
    updated = int(arm.memory[arm.number, UPDATED])
    pulls = 0.0
    level = log2(max(updated, 1))
    while level >= 0 and updated - (((updated >> level) - 1) << level) >= rounds:
        pulls += arm.memory[arm.number, AGES + 2 * level + (((updated >> level) - 1) & 1)]
        level -= 1
    return pulls


# ---- the index, and when it is due ----


@inline
def window(policy: Any, memory: Any, row: Any) -> Any:
    """The number of rounds in which feedback is expected: of an arm or, in the shared row, of a silent one; 0 before
    any feedback."""
    return policy.patience if policy.patience > 0.0 else WINDOW * memory[row, LONGEST_DELAY]


@inline
def refresh(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Bring the index of an arm up to date, and say in which round it is due again."""
    shared = state.arms
    advance_ages(state, arm, now)
    seen = view(state, arm, now)
    n = seen.observed
    rounds = window(policy, state.memory, arm if n > 0.0 else shared)
    old = older_pulls(seen, rounds) if rounds > 0.0 else 0.0
    young = seen.pulls - n
    x = seen.pulls
    if n > 0.0:
        mean = (seen.total + 0.5) / (n + 1.0)
        young -= old
        x -= old
        share = min(n / max(seen.pulls - young, 1.0), 1.0) if old > 0.0 else 1.0
        state.memory[shared, SUM_OF_SHARES] += share - state.memory[arm, SHARE]
        state.memory[arm, SHARE] = share
        if share < 1.0:
            most = min(MAX_LOSS_FACTOR, shared / max(state.memory[shared, SUM_OF_SHARES], 1e-9))
            x *= max(min(most, 1.0 / max(share, 1e-9)), 1.0)
    elif old > 0.0:
        average = (state.memory[shared, FEEDBACK_TOTAL] + 0.5) / (state.memory[shared, FEEDBACK_COUNT] + 1.0)
        mean = min(average, 0.5) * HALF_TRUST / (HALF_TRUST + old)
    else:
        mean = 0.5 + 0.5 / max(shared - state.memory[shared, ARMS_WITH_FEEDBACK], 1.0)
    x = max(x, 1.0)
    move_index(state, arm, mean, 4.0 * confidence_level(policy, x) / x)
    check_at = NEVER
    if rounds > 0.0 and young > 0.0:
        check_at = now + max(1.0, math.floor(0.125 * rounds))
    state.memory[arm, CHECK_AT] = check_at
    state.memory[shared, NEXT_CHECK] = min(state.memory[shared, NEXT_CHECK], check_at)


# ---- bounds of the index ----
# For the mean p and the budget b the index q solves kl(p, q) = b. As kl is convex in q, q is a concave function of b,
# and it is p at b = 0. And dq/dp = (ln(q / (1 - q)) - ln(p / (1 - p))) q (1 - q) / (q - p), by the mean value theorem
# q (1 - q) / (z (1 - z)) at some z from p to q: it is between 0 and 1 / (4 p (1 - p)).


@inline
def move_index(state: State, arm: Any, mean: Any, budget: Any) -> None:
    """Bounds of the index of an arm whose mean and budget have changed."""
    memory = state.memory
    before, was = memory[arm, MEAN], memory[arm, BUDGET]
    low, high = memory[arm, LOWEST], state.score[arm]
    if mean == before and budget == was and high <= 1.0:
        return
    memory[arm, MEAN], memory[arm, BUDGET] = mean, budget
    flatter = min(mean * (1.0 - mean), before * (1.0 - before))
    if high > 1.0 or budget > was or flatter < FLAT:
        low, high = mean - SLACK, 1.0
    else:
        if low == high:
            low, high = low - SLACK, high + SLACK
        if budget < was:
            low = before + max(low - before, 0.0) * (budget / was)
        if mean != before:
            move = (mean - before) * (0.25 / flatter)
            low, high = low + min(move, 0.0), high + max(move, 0.0)
        high = min(high, 1.0)
    memory[arm, LOWEST] = low
    set_score(state, arm, high)


@inline
def find_leader(state: State) -> Any:
    """The arm with the largest index: compute the index of the arm that leads until it leads for certain."""
    leader = np.uint32(state.register[LEADER])
    while not (
        state.memory[leader, LOWEST] > state.score[state.arms + 1]  # what no other score exceeds
        or state.memory[leader, LOWEST] == state.score[leader]
        or state.score[leader] > 1.0
    ):
        found = kl_upper(state.memory[leader, MEAN], state.memory[leader, BUDGET])
        state.memory[leader, LOWEST] = found
        set_score(state, leader, found)
        leader = np.uint32(state.register[LEADER])
    return np.int64(leader)


@inline
def refresh_silent(policy: Any, state: State, now: Any) -> None:
    """Compute the index of every silent arm, when their number has changed."""
    for arm in range(state.arms):
        if state.observed[arm] == 0.0 and state.pulls[arm] > 0:
            refresh(policy, state, np.uint32(arm), now)


@policy
class PendingUCB(IndexPolicy, ConfidencePolicy):
    """UCB that counts the pending pulls whose feedback may still come; superseded by ImputedUCB.

    It is kept for the bandits, experiments and results that have it, and for comparison: where feedback is lost, or an
    arm is silent beside heavy-tailed delays, its regret can be linear, although delays do not depend on the reward.

    Each arm once in index order, then the arm with the largest q such that x kl(mean, q) <= 4c, ties to the lowest
    index; kl is the relative entropy of two Bernoulli laws. With n feedbacks, their sum S, and D the longest delay of
    the arm's feedback:

    - x = n + the pending pulls that are not older than 4 (D + 1): while feedback is pending there is nothing to gain
      from pulling the same arm again.
    - mean = (S + 1/2) / (n + 1): no arm counts as perfect or hopeless after a few feedbacks.
    - The bound is that of a Bernoulli mean, not sqrt(2c/x): low rates are distinguished with far fewer pulls.
    - If a share F of the arm's older pulls has feedback, x is multiplied by min(1/F, 4, 1 / the average share), the
      average over the arms when this one last changed: lost feedback need not be made up for, unless most of it is
      lost by this arm only.
    - A silent arm (n = 0) has x = m, and mean = 1/2 + 1/(2 U) with U silent arms: at most one counts as perfect.
      With w of its pulls older than 4 times the longest delay of any arm, its mean is 300 / (300 + w) of the average
      of all feedback, or of 1/2 if that is less: an arm that never gives feedback is abandoned.

    ``patience`` is the longest plausible delay in rounds, if the operator knows it: it replaces 4 (D + 1) for all arms.
    Ages are known to within a factor of 3, and checked after each eighth of it: an arm stops waiting for feedback after
    between a third of that time and an eighth more than all of it. An arm that never gives feedback is pulled for all
    that time, and then some hundred times more, the more the lower the rates (100 at a half, 800 at one in a hundred).
    Where delays depend on the reward this fails as UCB does: PrefixUCB does not.

    Parameters
    ----------
    patience
        The longest plausible delay in rounds, if it is known; by default 4 (D + 1), with D the longest delay of the
        arm's feedback so far.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PendingUCB())
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = "Pending-UCB"
    formula = "argmax q: x kl((S + 1/2)/(n + 1), q) <= 4c, x = n + young pending"
    introduced_here = True
    superseded_by = "ImputedUCB"
    superseded_because = "its regret can be linear where feedback is lost or an arm is silent"
    memory = MEMORY
    cached_memory = range(MEAN, MEMORY)

    patience: Annotated[float | None, Domain(0, open_low=True, optional=True)] = None

    class KernelParams(NamedTuple):
        """The confidence level; the longest plausible delay, 0 if it is not given."""

        c: float
        growth: float
        patience: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (*super().kernel_params(arms), self.patience or 0.0)

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        advance_ages(state, arm, now)
        count_pulls(state, arm, now, 1.0)
        if rank == 0:
            state.memory[arm, SHARE] = 1.0
            state.memory[state.arms, SUM_OF_SHARES] += 1.0

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        shared = state.arms
        advance_ages(state, arm, now)
        count_pulls(state, arm, pulled_at, -1.0)
        state.memory[shared, FEEDBACK_COUNT] += 1.0
        state.memory[shared, FEEDBACK_TOTAL] += reward
        late = float(now - pulled_at)  # 1 + its delay
        state.memory[arm, LONGEST_DELAY] = max(state.memory[arm, LONGEST_DELAY], late)
        state.memory[shared, LONGEST_DELAY] = max(state.memory[shared, LONGEST_DELAY], late)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        shared = state.arms
        state.memory[shared, FEEDBACK_COUNT] += observed
        state.memory[shared, FEEDBACK_TOTAL] += total
        if pulls < 0.0 and observed == 0.0:
            count_pulls(state, arm, pulled_at, -1.0)
        if observed < 0.0 and state.observed[arm] == 1.0:
            state.memory[shared, ARMS_WITH_FEEDBACK] -= 1.0
            state.memory[shared, SUM_OF_SHARES] += 1.0 - state.memory[arm, SHARE]
            state.memory[arm, SHARE] = 1.0
        if pulls < 0.0 and state.pulls[arm] == 1:
            state.memory[shared, SUM_OF_SHARES] -= state.memory[arm, SHARE]
            state.memory[arm, SHARE] = 0.0

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        return kl_upper(arm.memory[arm.number, MEAN], arm.memory[arm.number, BUDGET])

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        shared = state.arms
        if now >= state.memory[shared, NEXT_CHECK]:
            first = NEVER
            for arm in range(state.arms):
                if state.pulls[arm] > 0:
                    if now >= state.memory[arm, CHECK_AT]:
                        refresh(policy, state, np.uint32(arm), now)
                    first = min(first, state.memory[arm, CHECK_AT])
            state.memory[shared, NEXT_CHECK] = first
        return find_leader(state)

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        refresh(policy, state, arm, now)

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        if state.observed[arm] == 1.0:
            state.memory[state.arms, ARMS_WITH_FEEDBACK] += 1.0
            refresh_silent(policy, state, now)
        refresh(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        refresh_silent(policy, state, now)
        if state.pulls[arm] > 0:
            refresh(policy, state, arm, now)
        else:
            clear_score(state, arm)
