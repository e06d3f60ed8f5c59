"""The index of Imputed-UCB: the corrected mean of an arm, what is still to be expected of its pending pulls, and when
both are computed again. It is kept by ``interface.keep_index``: see :mod:`belated.policies.imputed_ucb` and
:mod:`belated.policies.safe_imputed_ucb`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.kernel.jit import inline, outlined
from belated.kernel.math import exp, log
from belated.policies._base import interface
from belated.policies._base.delay_record import (
    LONGEST,
    OWN,
    advance_ages,
    count_late,
    count_pending,
    estimate,
    pool,
    younger_pulls,
)
from belated.policies._base.index import clear_score
from belated.policies._base.kl_bound import kl_upper
from belated.policies._base.policy import confidence_level
from belated.policies._base.state import Arm, State, view

REFRESH_AT, CHECK_AT, MEAN, WEIGHT, COST, SHARE = range(OWN, OWN + 6)
"""Columns of an arm's memory: its index is computed again when its pulls and feedbacks are this many, and in this
round; the mean and its weight x, as the index takes them; how many pulls a feedback costs; the share of its pulls that
have feedback in the end."""
NEXT_CHECK, ARMS_WITH_FEEDBACK, SUM_OF_SHARES, FEEDBACK_COUNT, FEEDBACK_TOTAL = range(OWN, OWN + 5)
"""Columns of the row shared by all arms: the first of the rounds CHECK_AT; the number of arms with feedback; the sum of
the shares; the number of feedbacks and their sum. The rest of the row pools the records of all arms."""
NEVER = 1e18
STALE = 32.0
"""An index is computed again when the arm's counts have grown by one in this many."""
CERTAIN = 4.0
"""A mean is not corrected by less than sqrt(CERTAIN) standard deviations."""
GRACE, HALF_TRUST = 5.0, 1000.0
"""A silent arm is doubted when this many feedbacks should have come; after HALF_TRUST more its mean is halved."""
ASK_POWER = 0.6
"""A doubted arm is pulled in round t if it has at most t^ASK_POWER pulls."""
ASKED = 2.0
"""The index of an arm that is to be asked again: above all others, and below that of an arm without pulls."""
ENOUGH, SLIPS = 3.0, 0.2
"""If all feedback of all arms, at least ENOUGH, are successes, then only successes are reported; SLIPS sqrt(n) of n may
be failures."""
HEAD_START = 100.0
"""Rounds that are added to t/K in the level of "anytime", so that an arm that is unlucky at first is not given up."""


@inline
def reported_side(memory: Any, shared: Any) -> Any:
    """1 if only successes are reported, -1 if only failures are, else 0."""
    count, total = memory[shared, FEEDBACK_COUNT], memory[shared, FEEDBACK_TOTAL]
    return 0 if count < ENOUGH else int(count - total <= SLIPS * math.sqrt(count)) - int(total <= 0.0)


@inline
def corrected(observed: Any, total: Any, rewards: Any, losses: Any, spread: Any) -> Any:
    """(corrected mean, how many standard deviations its two estimates differ by) of an arm with feedback."""
    came = rewards + losses
    plain = (total + 0.5) / (observed + 1.0)
    difference = rewards / came - total / observed
    variance = plain * (1.0 - plain) * max(spread / (came * came) - 1.0 / observed, 0.0)
    square = difference * difference
    if square <= CERTAIN * variance:
        return plain, math.sqrt(square / variance) if variance > 0.0 else 0.0
    mean = min(max(plain + difference * (1.0 - CERTAIN * variance / square), 0.0), 1.0)
    return mean, math.sqrt(square / max(variance, 1e-12))


@inline
def one_sided(side: Any, pulls: Any, rewards: Any, left: Any) -> Any:
    """The mean of an arm with feedback while only successes are reported, or only failures: silence is the other."""
    return ((rewards if side > 0 else rewards + left) * pulls + 0.5) / (pulls + 1.0)


@inline
def refresh_heard(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """Compute mean, weight and cost of an arm with feedback; the round in which they are due again."""
    shared, memory = state.arms, state.memory
    m, n, total = float(state.pulls[arm]), float(state.observed[arm]), float(state.total[arm])
    pending = m - n
    side = reported_side(memory, shared)
    rewards, losses, left, spread, _, hoped_for = estimate(memory, arm, n, pending, arm, side != 0, 0)
    share = max(1.0 - left, 1e-9)
    memory[shared, SUM_OF_SHARES] += share - memory[arm, SHARE]
    memory[arm, SHARE] = share
    if side != 0:
        memory[arm, MEAN] = one_sided(side, m, rewards, left)
        memory[arm, WEIGHT] = m
        memory[arm, COST] = 1.0
    else:
        memory[arm, MEAN] = corrected(n, total, rewards, losses, spread)[0]
        if policy.patience > 0.0:
            hoped_for = younger_pulls(memory, arm, policy.patience)
        memory[arm, WEIGHT] = n + hoped_for
        memory[arm, COST] = max(min(1.0 / share, shared / max(memory[shared, SUM_OF_SHARES], 1e-9)), 1.0)
    if pending < 1.0:
        return NEVER
    return now + max(1.0, math.floor(0.5 * memory[arm, LONGEST]))


@inline
def refresh_silent(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """The same for an arm without feedback; round 0 if it is to be pulled now."""
    shared, memory = state.arms, state.memory
    heard = memory[shared, ARMS_WITH_FEEDBACK]
    m = float(state.pulls[arm])
    memory[arm, WEIGHT] = m
    memory[arm, COST] = 1.0
    missing, check_at = 0.0, NEVER  # feedback that should have come
    side = reported_side(memory, shared)
    if heard > 0.0 and policy.patience > 0.0 and side <= 0:
        missing = m - younger_pulls(memory, arm, policy.patience)
        check_at = now + max(1.0, math.floor(0.125 * policy.patience))
    elif heard > 0.0:
        observed, pending = pool(state, shared, now)
        rewards, _, left, _, expected, _ = estimate(memory, shared, observed, pending, arm, side != 0, 1)
        missing = expected - GRACE
        check_at = now + max(1.0, math.floor(now / STALE))
        if side > 0:
            average = one_sided(side, observed + pending, rewards, left)
            memory[arm, MEAN] = average * GRACE / (GRACE + expected)
            return check_at
    if missing <= 0.0:
        memory[arm, MEAN] = 0.5 + 0.5 / max(shared - heard, 1.0)
        return check_at
    average = (memory[shared, FEEDBACK_TOTAL] + 0.5) / (memory[shared, FEEDBACK_COUNT] + 1.0)
    memory[arm, MEAN] = min(average, 0.5) * HALF_TRUST / (HALF_TRUST + missing)
    ask_at = math.ceil(exp(log(m) / ASK_POWER))
    return 0.0 if now >= ask_at else min(check_at, ask_at)


@outlined
def refresh(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the index of an arm, and when it is due again."""
    shared, memory = state.arms, state.memory
    advance_ages(memory, arm, now)
    if state.observed[arm] > 0.0:
        check_at = refresh_heard(policy, state, arm, now)
    else:
        check_at = refresh_silent(policy, state, arm, now)
    counts = float(state.pulls[arm]) + float(state.observed[arm])
    memory[arm, REFRESH_AT] = counts + max(math.floor(counts / STALE), 1.0)
    if check_at > 0.0:
        interface.keep_index(policy, state, arm, imputed_index(policy, view(state, arm, now)), now)
        if policy.anytime > 0.0:
            check_at = min(check_at, math.floor(1.1 * now) + 1.0)
    else:
        interface.keep_index(policy, state, arm, ASKED, now)
        check_at = NEVER
        memory[arm, REFRESH_AT] = 0.0  # with its next pull
    memory[arm, CHECK_AT] = check_at
    memory[shared, NEXT_CHECK] = min(memory[shared, NEXT_CHECK], check_at)


@inline
def refresh_all_silent(policy: Any, state: State, now: Any) -> None:
    """Compute the index of every silent arm, when their number has changed."""
    for arm in range(state.arms):
        if state.observed[arm] == 0.0 and state.pulls[arm] > 0:
            refresh(policy, state, np.uint32(arm), now)


@inline
def refresh_if_due(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the index of an arm that has changed, if that is due or it was pulled only to ask it again."""
    counts = float(state.pulls[arm]) + float(state.observed[arm])
    if counts >= state.memory[arm, REFRESH_AT]:
        refresh(policy, state, arm, now)


@inline
def budget(policy: Any, arm: Arm, x: Any, cost: Any) -> Any:
    """The level of an arm divided by the weight of its mean: kl(mean, index) is at most that."""
    if policy.anytime > 0.0:
        return log(1.0 + (arm.now / arm.arms + HEAD_START) / (x * cost)) / x
    return 4.0 * confidence_level(policy, x) / x


@inline
def refresh_after_time(policy: Any, state: State, now: Any) -> None:
    """Compute the indices that are due in round ``now``."""
    shared, memory = state.arms, state.memory
    if now >= memory[shared, NEXT_CHECK]:
        memory[shared, NEXT_CHECK] = NEVER
        for arm in range(state.arms):
            if state.pulls[arm] > 0:
                if now >= memory[arm, CHECK_AT]:
                    refresh(policy, state, np.uint32(arm), now)
                memory[shared, NEXT_CHECK] = min(memory[shared, NEXT_CHECK], memory[arm, CHECK_AT])


@inline
def refresh_after_feedback(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the indices that are due after feedback of an arm."""
    if state.observed[arm] == 1.0:
        state.memory[state.arms, ARMS_WITH_FEEDBACK] += 1.0
        refresh_all_silent(policy, state, now)
        refresh(policy, state, arm, now)
    else:
        refresh_if_due(policy, state, arm, now)


@inline
def refresh_after_correction(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the index of an arm of which a pending pull was retracted."""
    if state.pulls[arm] > 0:
        refresh(policy, state, arm, now)
    else:
        state.memory[arm, REFRESH_AT] = 0.0
        clear_score(state, arm)


@inline
def count_pull(state: State, arm: Any, rank: Any, now: Any) -> None:
    """Add a pull to the record of an arm."""
    advance_ages(state.memory, arm, now)
    count_pending(state.memory, arm, now, 1.0)
    if rank == 0:
        state.memory[arm, SHARE] = 1.0
        state.memory[state.arms, SUM_OF_SHARES] += 1.0


@inline
def count_feedback(state: State, arm: Any, reward: Any, pulled_at: Any, now: Any) -> None:
    """Add feedback to the record of an arm."""
    shared, memory = state.arms, state.memory
    advance_ages(memory, arm, now)
    count_pending(memory, arm, pulled_at, -1.0)
    count_late(memory, arm, now - pulled_at, reward)
    memory[shared, FEEDBACK_COUNT] += 1.0
    memory[shared, FEEDBACK_TOTAL] += reward


@inline
def count_retraction(state: State, arm: Any, pulled_at: Any) -> None:
    """Take a pending pull out of the record of an arm."""
    count_pending(state.memory, arm, pulled_at, -1.0)
    if state.pulls[arm] == 1:
        state.memory[state.arms, SUM_OF_SHARES] -= state.memory[arm, SHARE]
        state.memory[arm, SHARE] = 0.0


@inline
def imputed_index(policy: Any, arm: Arm) -> Any:
    """The largest q with kl(mean, q) <= budget: see :func:`budget`."""
    x = max(arm.memory[arm.number, WEIGHT], 1.0)
    return kl_upper(arm.memory[arm.number, MEAN], budget(policy, arm, x, arm.memory[arm.number, COST]))


@inline
def mean_and_limit(policy: Any, arm: Arm) -> Any:
    """(corrected mean, the limit of kl(mean, q) for its bounds q) of an arm in round ``arm.now``, for a summary.
    Feedback that is expected does not count; nor, with "anytime", does the level fall with the weight of the mean."""
    mean, _, x = estimated_mean(arm)
    level = log(1.0 + arm.now / arm.arms + HEAD_START) if policy.anytime > 0.0 else 4.0 * confidence_level(policy, x)
    return mean, level / x


@inline
def correction_of(arm: Arm) -> Any:
    """(corrected mean, how many standard deviations its two estimates differ by) in round ``arm.now``."""
    mean, deviations, _ = estimated_mean(arm)
    return mean, deviations


@inline
def estimated_mean(arm: Arm) -> Any:
    """(corrected mean, how many standard deviations its two estimates differ by, how many feedbacks at once the mean is
    worth) in round ``arm.now``; 1/2 for an arm without feedback."""
    n, total = arm.observed, arm.total
    if n < 1.0:
        return 0.5, 0.0, 1.0
    advance_ages(arm.memory, arm.number, arm.now)
    side = reported_side(arm.memory, arm.arms)
    rewards, losses, left, spread, _, _ = estimate(arm.memory, arm.number, n, arm.pulls - n, arm.number, side != 0, 0)
    mean, deviations = corrected(n, total, rewards, losses, spread)
    if side != 0:
        return one_sided(side, arm.pulls, rewards, left), deviations, arm.pulls
    came = rewards + losses
    return mean, deviations, max(came * came / spread, 1.0) if deviations * deviations > CERTAIN else n
