"""The index of Imputed-UCB: the corrected mean of an arm, what is still to be expected of its pending pulls, and when
both are computed again. It is kept by ``interface.keep_index``: see :mod:`belated.policies.imputed_ucb` and
:mod:`belated.policies.safe_imputed_ucb`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.kernel.jit import inline
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
from belated.policies._base.state import Arm, State

REFRESH_AT, CHECK_AT, NEXT_DUE, SHARE = range(OWN, OWN + 4)
"""Columns of an arm's memory: its index is due when its pulls and feedbacks are this many, and in this round; the arm
that is listed as due after it (see :func:`list_as_due`); the share of its pulls that have feedback in the end."""
NEXT_CHECK, FIRST_DUE, ARMS_WITH_FEEDBACK, SUM_OF_SHARES, FEEDBACK_COUNT, FEEDBACK_TOTAL = range(OWN, OWN + 6)
"""Columns of the row shared by all arms: the first of the rounds CHECK_AT, or SILENT_DUE or ALL_DUE; the first arm that
is listed as due; the number of arms with feedback; the sum of the shares; the number of feedbacks and their sum. The
rest of the row pools the records of all arms."""
SILENT_DUE, ALL_DUE = -1.0, -2.0
"""Instead of a round: the indices of all silent arms, or of all arms, are due."""
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
ENOUGH, SLIPS = 3.0, 0.04
"""If all feedback of all arms, at least ENOUGH, are successes, then only successes are reported; sqrt(SLIPS n) of n may
be failures."""
HEAD_START = 100.0
"""Rounds that are added to t/K in the level of "anytime", so that an arm that is unlucky at first is not given up."""


@inline
def reported_side(memory: Any, shared: Any) -> Any:
    """1 if only successes are reported, -1 if only failures are, else 0."""
    count, total = memory[shared, FEEDBACK_COUNT], memory[shared, FEEDBACK_TOTAL]
    failures = count - total
    return 0 if count < ENOUGH else int(failures * failures <= SLIPS * count) - int(total <= 0.0)


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
def weigh_heard(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(mean, its weight x, how many pulls a feedback costs, the round in which its index is due again) of an arm with
    feedback."""
    shared, memory = state.arms, state.memory
    m, n, total = float(state.pulls[arm]), float(state.observed[arm]), float(state.total[arm])
    side = reported_side(memory, shared)
    rewards, losses, left, spread, _, young, hoped_for = estimate(memory, arm, n, m - n, arm, side != 0, 0)
    share = max(1.0 - left, 1e-9)
    memory[shared, SUM_OF_SHARES] += share - memory[arm, SHARE]
    memory[arm, SHARE] = share
    if policy.patience > 0.0:
        young = hoped_for = younger_pulls(memory, arm, policy.patience)
    # Few pulls that may still have feedback hardly change the index.
    check_at = NEVER if young * STALE <= n else now + max(1.0, math.floor(0.5 * memory[arm, LONGEST]))
    if side != 0:
        return one_sided(side, m, rewards, left), m, 1.0, check_at
    cost = max(min(1.0 / share, shared / max(memory[shared, SUM_OF_SHARES], 1e-9)), 1.0)
    return corrected(n, total, rewards, losses, spread)[0], n + hoped_for, cost, check_at


@inline
def needs_pool(policy: Any, state: State) -> Any:
    """Whether silent arms are judged by the delays of all other arms together."""
    shared, memory = state.arms, state.memory
    return memory[shared, ARMS_WITH_FEEDBACK] > 0.0 and (policy.patience <= 0.0 or reported_side(memory, shared) > 0)


@inline
def weigh_silent(policy: Any, state: State, arm: Any, now: Any, observed: Any, pending: Any) -> Any:
    """(mean, the round in which its index is due again) of an arm without feedback, whose weight is its pulls; round 0
    if it is to be pulled now. ``observed`` and ``pending`` are what ``pool`` gives, where it is needed."""
    shared, memory = state.arms, state.memory
    heard = memory[shared, ARMS_WITH_FEEDBACK]
    m = float(state.pulls[arm])
    missing, check_at = 0.0, NEVER  # feedback that should have come
    side = reported_side(memory, shared)
    if needs_pool(policy, state):
        rewards, _, left, _, expected, _, _ = estimate(memory, shared, observed, pending, arm, side != 0, 1)
        missing = expected - GRACE
        check_at = now + max(1.0, math.floor(now / STALE))
        if side > 0:
            return one_sided(side, observed + pending, rewards, left) * GRACE / (GRACE + expected), check_at
    elif heard > 0.0:
        missing = m - younger_pulls(memory, arm, policy.patience)
        check_at = now + max(1.0, math.floor(0.125 * policy.patience))
    if missing <= 0.0:
        return 0.5 + 0.5 / max(shared - heard, 1.0), check_at
    average = (memory[shared, FEEDBACK_TOTAL] + 0.5) / (memory[shared, FEEDBACK_COUNT] + 1.0)
    ask_at = math.ceil(exp(log(m) / ASK_POWER))
    mean = min(average, 0.5) * HALF_TRUST / (HALF_TRUST + missing)
    return mean, 0.0 if now >= ask_at else min(check_at, ask_at)


@inline
def imputed_index(policy: Any, state: State, mean: Any, weight: Any, cost: Any, now: Any) -> Any:
    """The largest q such that kl(mean, q), times the weight, is at most the level."""
    x = max(weight, 1.0)
    if policy.anytime > 0.0:
        return kl_upper(mean, log(1.0 + (now / state.arms + HEAD_START) / (x * cost)) / x)
    return kl_upper(mean, 4.0 * confidence_level(policy, x) / x)


@inline
def refresh(policy: Any, state: State, arm: Any, now: Any, observed: Any, pending: Any) -> None:
    """Compute the index of an arm, and when it is due again; for ``observed`` and ``pending`` see
    :func:`weigh_silent`."""
    memory = state.memory
    advance_ages(memory, arm, now)
    counts = float(state.pulls[arm]) + float(state.observed[arm])
    memory[arm, REFRESH_AT] = counts + max(math.floor(counts / STALE), 1.0)
    if state.observed[arm] > 0.0:
        mean, weight, cost, check_at = weigh_heard(policy, state, arm, now)
    else:
        mean, check_at = weigh_silent(policy, state, arm, now, observed, pending)
        weight, cost = float(state.pulls[arm]), 1.0
    index = ASKED
    if check_at > 0.0:
        index = imputed_index(policy, state, mean, weight, cost, now)
        if policy.anytime > 0.0:
            check_at = min(check_at, math.floor(1.1 * now) + 1.0)
    else:
        check_at = NEVER
        memory[arm, REFRESH_AT] = 0.0  # with its next pull
    memory[arm, CHECK_AT] = check_at
    interface.keep_index(policy, state, arm, index, now)


@inline
def list_as_due(memory: Any, arm: Any, shared: Any) -> None:
    """Put an arm at the head of the list of those whose indices are due, unless it is listed. The list is linked by
    NEXT_DUE: 1 + the next arm, -1 for the last one, 0 for an arm that is not listed."""
    if memory[arm, NEXT_DUE] == 0.0:
        first = memory[shared, FIRST_DUE]
        memory[arm, NEXT_DUE] = first if first > 0.0 else -1.0
        memory[shared, FIRST_DUE] = arm + 1.0


@inline
def refresh_due(policy: Any, state: State, now: Any) -> None:
    """Compute the indices that are due in round ``now``: all in one place, where the threads of a GPU do it
    together."""
    shared, memory = state.arms, state.memory
    if now >= memory[shared, NEXT_CHECK]:
        why, first = memory[shared, NEXT_CHECK], NEVER
        for arm in range(state.arms):
            if state.pulls[arm] > 0:
                due = why == ALL_DUE or (why == SILENT_DUE and state.observed[arm] == 0.0)
                if due or now >= memory[arm, CHECK_AT]:
                    list_as_due(memory, arm, shared)
                else:
                    first = min(first, memory[arm, CHECK_AT])
        memory[shared, NEXT_CHECK] = first
    observed, pending = -1.0, 0.0  # not pooled yet
    while memory[shared, FIRST_DUE] > 0.0:
        listed = np.uint32(memory[shared, FIRST_DUE] - 1.0)
        memory[shared, FIRST_DUE] = max(memory[listed, NEXT_DUE], 0.0)
        memory[listed, NEXT_DUE] = 0.0
        if state.pulls[listed] > 0:  # else its only pull was retracted
            if observed < 0.0 and state.observed[listed] == 0.0 and needs_pool(policy, state):
                observed, pending = pool(state, shared, now)
            refresh(policy, state, listed, now, observed, pending)
            memory[shared, NEXT_CHECK] = min(memory[shared, NEXT_CHECK], memory[listed, CHECK_AT])


@inline
def list_if_due(state: State, arm: Any) -> None:
    """After a pull or feedback of an arm: its index is due if its counts have grown enough, or if it was pulled only to
    ask it again."""
    counts = float(state.pulls[arm]) + float(state.observed[arm])
    if counts >= state.memory[arm, REFRESH_AT]:
        list_as_due(state.memory, arm, state.arms)


@inline
def list_after_feedback(state: State, arm: Any) -> None:
    """After feedback of an arm; with its first one, the indices of all silent arms are due, too."""
    if state.observed[arm] == 1.0:
        shared, memory = state.arms, state.memory
        memory[shared, ARMS_WITH_FEEDBACK] += 1.0
        memory[shared, NEXT_CHECK] = min(memory[shared, NEXT_CHECK], SILENT_DUE)
        list_as_due(memory, arm, shared)
    else:
        list_if_due(state, arm)


@inline
def list_after_retraction(state: State, arm: Any) -> None:
    """After a pending pull of an arm was retracted."""
    if state.pulls[arm] > 0:
        list_as_due(state.memory, arm, state.arms)
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
    side = reported_side(memory, shared)
    memory[shared, FEEDBACK_COUNT] += 1.0
    memory[shared, FEEDBACK_TOTAL] += reward
    if reported_side(memory, shared) != side:  # what silence means has changed
        memory[shared, NEXT_CHECK] = ALL_DUE


@inline
def count_retraction(state: State, arm: Any, pulled_at: Any) -> None:
    """Take a pending pull out of the record of an arm."""
    count_pending(state.memory, arm, pulled_at, -1.0)
    if state.pulls[arm] == 1:
        state.memory[state.arms, SUM_OF_SHARES] -= state.memory[arm, SHARE]
        state.memory[arm, SHARE] = 0.0


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
    row, side = arm.number, reported_side(arm.memory, arm.arms)
    rewards, losses, left, spread, _, _, _ = estimate(arm.memory, row, n, arm.pulls - n, row, side != 0, 0)
    mean, deviations = corrected(n, total, rewards, losses, spread)
    if side != 0:
        return one_sided(side, arm.pulls, rewards, left), deviations, arm.pulls
    came = rewards + losses
    return mean, deviations, max(came * came / spread, 1.0) if deviations * deviations > CERTAIN else n
