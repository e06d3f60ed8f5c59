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


def correct(
    policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any, now: Any
) -> None:
    """Add to the counts of an arm, and to what is kept of one of its pulls (none if ``rank`` is negative), and tell the
    policy."""
    place = np.uint32(arm)
    if rank >= 0:
        interface.on_correction(policy, state, place, rank, pulled_at, float(pulls), observed, total)
    state.pulls[place] += pulls
    state.observed[place] += observed
    state.total[place] += total
    interface.after_correction(policy, state, place, now)


def replay(policy: Any, state: State, arms: Any, ranks: Any, feedback: Any, before: Any, rewards: Any) -> Any:
    """Replay the decisions and feedback of a bandit; feedback i arrived after ``before[i]`` decisions.

    Fill in ``ranks``. Return the first decision whose arm differs from ``arms``, or -1.
    """
    number = 0
    for place in range(feedback.shape[0] + 1):
        until = before[place] if place < feedback.shape[0] else arms.shape[0]
        while number < until:
            arm, rank = _decide(policy, state, number + 1)
            if arm != arms[number]:
                return number
            ranks[number] = rank
            number += 1
        if place < feedback.shape[0]:
            id = feedback[place]
            interface.record_feedback(policy, state, np.uint32(arms[id]), rewards[place], ranks[id], id + 1, number + 1)
    return -1


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
