"""How Python calls the kernel functions: entries that are compiled for a policy and cached on disk."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from belated.kernel.code_key import code_key, python_key
from belated.kernel.jit import entry, inline
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.changes import prepare_to_compile
from belated.policies._base.encode import encode_policy
from belated.policies._base.policy import Policy
from belated.policies._base.state import State, allocate, reset, view

_entry_lock = threading.RLock()


def entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    """``function`` compiled for a policy's class."""
    with _entry_lock:
        return _entry_for(function, policy)


@cache
def _entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    if not policy.is_built_in:
        prepare_to_compile(policy)
    return entry(function, policy)


def policy_key(policy: type[Policy], *functions: Callable[..., Any]) -> str:
    """A hash of all code by which a policy plays in functions that are compiled for it. Where that depends on a value
    that cannot be hashed, each process has another one."""
    compiled = code_key(*functions, owner=policy) or _PROCESS
    return f"{compiled}{python_key(policy, allocate, encode_policy, without=('describe', 'regret_bound'))}"


_PROCESS = secrets.token_hex(8)


@entry
def begin(state: State, seed: Any) -> None:
    """The state of a live bandit before its first decision; it has the random stream of run 0."""
    reset(state)
    state.key[0], state.key[1] = run_key(seed[2], seed[3], 0)


@inline
def _decide(policy: Any, state: State, now: Any) -> Any:
    chosen = interface.choose(policy, state, now)
    if not interface.is_arm(state, chosen):
        return np.int64(-1), np.int64(0)
    arm = np.uint32(chosen)
    rank = np.int64(state.pulls[arm])
    interface.record_pull(policy, state, arm, rank, now)
    return np.int64(arm), rank


def decide(policy: Any, state: State, now: Any) -> Any:
    """(arm, its rank): choose and count the pull. (-1, 0) if the policy chose an arm that does not exist."""
    return _decide(policy, state, now)


def add_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> None:
    """Add the feedback of an earlier pull."""
    interface.record_feedback(policy, state, np.uint32(arm), reward, rank, pulled_at, now)


@inline
def _correct(
    policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any, now: Any
) -> None:
    if rank >= 0:
        interface.on_correction(policy, state, arm, rank, pulled_at, float(pulls), observed, total)
    state.pulls[arm] += pulls
    state.observed[arm] += observed
    state.total[arm] += total
    interface.after_correction(policy, state, arm, now)


def correct(
    policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any, now: Any
) -> None:
    """Add to the counts of an arm, and to what is kept of one of its pulls (none if ``rank`` is negative), and tell the
    policy."""
    _correct(policy, state, np.uint32(arm), rank, pulled_at, pulls, observed, total, now)


@inline
def change_of_total(before: Any, largest: Any, change: Any) -> Any:
    """What a correction adds to an arm's sum: adjusted to keep the sum between 0 and the number of rewards, as sums
    that are subtracted in another order can differ in the last bit."""
    after = before + change
    return change if 0.0 <= after <= largest else min(max(after, 0.0), largest) - before


DECIDED, OBSERVED, CANCELLED, REPLACED = range(4)
"""The kinds of events that :func:`replay` knows."""
ARM_BITS = 32
"""An event's first number is its kind, shifted by this, plus the arm."""
NO_REWARD = -1.0
"""The reward of an event that has none."""


def replay(policy: Any, state: State, events: Any, imputed: Any, last_kind: Any, decisions: Any) -> Any:
    """Repeat events after a number of decisions: rows of (kind and arm, number of the decision, rank, reward).

    The arms are those of the events: the policy is asked, too, as its ``choose`` may change the state, but what it
    chooses is only compared. ``imputed`` is the reward that a REPLACED event replaces; ``last_kind`` is the last kind
    that the policy supports, and a CANCELLED event has a reward only if that is REPLACED. Returns (how many events were
    repeated, decisions by then, the first event for which the policy chooses another arm, or -1): the next event, if
    there is one, is not one that could follow."""
    other = -1
    for place in range(events.shape[0]):
        code = np.int64(events[place, 0])
        kind, number = code >> ARM_BITS, code & ((1 << ARM_BITS) - 1)
        pull, rank, reward = np.int64(events[place, 1]), np.int64(events[place, 2]), events[place, 3]
        now = decisions + 1
        if kind > last_kind or number >= state.arms:
            return place, decisions, other
        arm = np.uint32(number)
        if kind == DECIDED:
            if pull != decisions or rank != state.pulls[arm]:
                return place, decisions, other
            chosen = interface.choose(policy, state, now)
            if other < 0 and chosen != number:
                other = place
            interface.record_pull(policy, state, arm, rank, now)
            decisions += 1
            continue
        has_reward = 0.0 <= reward <= 1.0
        is_pending = kind == CANCELLED and reward == NO_REWARD
        if not (0 <= rank <= pull < decisions and (has_reward or is_pending)):
            return place, decisions, other
        if kind == OBSERVED:
            interface.record_feedback(policy, state, arm, reward, rank, pull + 1, now)
        elif kind == REPLACED:
            change = change_of_total(state.total[arm], state.observed[arm], reward - imputed)
            _correct(policy, state, arm, rank, pull + 1, 0, 0.0, change, now)
        elif is_pending:
            _correct(policy, state, arm, rank, pull + 1, -1, 0.0, 0.0, now)
        elif last_kind < REPLACED:
            return place, decisions, other
        else:
            change = change_of_total(state.total[arm], state.observed[arm] - 1.0, -reward)
            _correct(policy, state, arm, rank, pull + 1, -1, -1.0, change, now)
    return events.shape[0], decisions, other


def bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(lower, upper, how many first pulls give the one and the other): the policy's bounds on an arm's mean."""
    seen = view(state, np.uint32(arm), now)
    low, high = interface.bound_prefixes(policy, seen)
    return interface.lower(policy, seen), interface.upper(policy, seen), low, high


def correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(corrected mean, by how many standard deviations its two estimates differ) of an arm with feedback."""
    return interface.correction(policy, view(state, np.uint32(arm), now))


def with_table(policy: Policy, arms: int, size: int) -> Any:
    """The policy's parameters with a table of its bonus for counts below ``size``, which
    :func:`~belated.policies._base.interface.fill_table` computes in compiled code unless ``table[0]`` is 0."""
    return encode_policy(policy, arms)._replace(table=_table(policy, arms, size))


@lru_cache(16)
def _table(policy: Policy, arms: int, size: int) -> Any:
    return np.full(size, np.nan)
