"""How Python calls the kernel functions: entries that are compiled for a policy and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from belated.forms import hooks
from belated.forms.base import POLICIES, Policy
from belated.forms.state import State, reset, view
from belated.kernel import entry, inner, private_entry
from belated.rng import run_key

_shared = cache(entry)


@cache
def entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    """``function`` compiled; that of a policy from outside the package has a cache that knows the policy's own
    source."""
    if policy.__name__ in POLICIES and POLICIES[policy.__name__] is policy:
        shared: Callable[..., Any] = _shared(function)
        return shared
    modules = {
        base.__module__
        for base in policy.__mro__
        if base.__module__.split(".")[0] not in ("belated", "builtins", "abc")
    }
    return private_entry(function, *modules)


@entry
def begin(state: State, seed: Any) -> None:
    """The state of a live bandit before its first decision; it has the random stream of run 0."""
    reset(state)
    state.key[0], state.key[1] = run_key(seed[2], seed[3], 0)


@inner
def _decide(policy: Any, state: State, now: Any) -> Any:
    arm = np.uint32(hooks.choose(policy, state, now))
    rank = np.int64(state.pulls[arm])
    hooks.record_pull(policy, state, arm, rank, now)
    return np.int64(arm), rank


def decide(policy: Any, state: State, now: Any) -> Any:
    """(arm, its rank): choose and count the pull."""
    return _decide(policy, state, now)


def answer(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> None:
    """Take in the reward of an earlier pull."""
    hooks.record_answer(policy, state, np.uint32(arm), reward, rank, pulled_at, now)


def replay(policy: Any, state: State, arms: Any, ranks: Any, answers: Any, before: Any, rewards: Any) -> Any:
    """Live again what a bandit lived: its decisions, and its answers, each after so many decisions.

    Fills in ``ranks``. Returns the first decision that comes out as another arm than in ``arms``, or -1.
    """
    number = 0
    for place in range(answers.shape[0] + 1):
        until = before[place] if place < answers.shape[0] else arms.shape[0]
        while number < until:
            arm, rank = _decide(policy, state, number + 1)
            if arm != arms[number]:
                return number
            ranks[number] = rank
            number += 1
        if place < answers.shape[0]:
            id = answers[place]
            hooks.record_answer(policy, state, np.uint32(arms[id]), rewards[place], ranks[id], id + 1, number + 1)
    return -1


def bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """The policy's bounds on an arm's mean."""
    seen = view(state, np.uint32(arm), now)
    return hooks.lower(policy, seen), hooks.upper(policy, seen)


def with_table(policy: Policy, arms: int, size: int) -> Any:
    """The policy's parameters with a table of its bonus for counts below ``size``."""
    parameters = policy.parameters(arms)
    table = np.zeros(size)
    entry_for(fill, type(policy))(parameters, table)
    return parameters._replace(table=table)


def fill(policy: Any, table: Any) -> None:
    """The policy's bonus at 1, 2, ...; place 0 is not used."""
    for x in range(1, table.shape[0]):
        table[x] = hooks.bonus(policy, float(x))
