"""How Python calls the kernel functions: entries that are compiled for a policy and cached on disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from belated.errors import InvalidParameter
from belated.forms import hooks
from belated.forms.base import Policy
from belated.forms.state import State, reset, view
from belated.kernel import entry, inner, private_entry
from belated.rng import run_key

_shared = cache(entry)
_one_at_a_time = threading.RLock()


def entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    """``function`` compiled; that of a policy from outside the package has a cache that knows the policy's own
    sources."""
    with _one_at_a_time:
        return _entry_for(function, policy)


@cache
def _entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    if policy.__module__.startswith("belated.policies."):
        shared: Callable[..., Any] = _shared(function)
        return shared
    return private_entry(function, *sources_of(policy))


def sources_of(policy: type[Policy]) -> set[str]:
    """The files outside the package that hold a policy's functions and all that these call; "" for code without a
    file."""
    own = (value for base in policy.__mro__ for value in vars(base).values())
    todo: list[Any] = [value.__func__ for value in own if isinstance(value, staticmethod)]
    seen: set[int] = set()
    files: set[str] = set()
    while todo:
        value = todo.pop()
        body = getattr(value, "py_func", value)  # a compiled function
        code = getattr(body, "__code__", None)
        if code is None or id(body) in seen or str(body.__module__).split(".")[0] in _KNOWN:
            continue
        seen.add(id(body))
        files.add(code.co_filename if Path(code.co_filename).is_file() and body.__module__ != "__main__" else "")
        for name in code.co_names:
            found = body.__globals__.get(name)
            todo.extend(vars(found).get(other) for other in code.co_names) if isinstance(
                found, ModuleType
            ) else todo.append(found)
    return files


_KNOWN = {"belated", "numba", "numpy", "math", "abc", "builtins", "typing", "dataclasses"}
"""Packages whose sources are known otherwise, or do not change."""


@entry
def begin(state: State, seed: Any) -> None:
    """The state of a live bandit before its first decision; it has the random stream of run 0."""
    reset(state)
    state.key[0], state.key[1] = run_key(seed[2], seed[3], 0)


@inner
def _decide(policy: Any, state: State, now: Any) -> Any:
    arm = np.uint32(hooks.choose(policy, state, now))
    if arm >= state.arms:
        return np.int64(-1), np.int64(0)
    rank = np.int64(state.pulls[arm])
    hooks.record_pull(policy, state, arm, rank, now)
    return np.int64(arm), rank


def decide(policy: Any, state: State, now: Any) -> Any:
    """(arm, its rank): choose and count the pull. (-1, 0) if the policy chose an arm that does not exist."""
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
    return policy.parameters(arms)._replace(table=_table(policy, arms, size))


@lru_cache(16)
def _table(policy: Policy, arms: int, size: int) -> Any:
    table = np.zeros(size)
    entry_for(fill, type(policy))(policy.parameters(arms), table)
    return table


def fill(policy: Any, table: Any) -> None:
    """The policy's bonus at 1, 2, ...; place 0 is not used."""
    for x in range(1, table.shape[0]):
        table[x] = hooks.bonus(policy, float(x))


def no_such_arm(policy: Policy, arms: int) -> InvalidParameter:
    """The error for a policy whose ``choose`` gave an arm that does not exist."""
    return InvalidParameter(
        f"{type(policy).__name__}.choose gave an arm that does not exist; with {arms} arms it must give a whole number "
        f"from 0 to {arms - 1}."
    )
