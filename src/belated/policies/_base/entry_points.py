"""How Python calls the kernel functions: entries that are compiled for a policy and cached on disk."""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from belated.errors import InvalidParameter
from belated.kernel.compile import compile_for
from belated.kernel.jit import cache_folder, entry, inline, policy_entry, private_entry, private_folder
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.policy import KERNEL_FLAGS, Policy, encode_policy, is_built_in
from belated.policies._base.state import State, reset, view

_one_at_a_time = threading.RLock()


def entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    """``function`` compiled for a policy alone; that of one from outside the package has a cache that knows the
    policy's own sources."""
    with _one_at_a_time:
        return _entry_for(function, policy)


@cache
def _entry_for(function: Callable[..., Any], policy: type[Policy]) -> Callable[..., Any]:
    if is_built_in(policy):
        return policy_entry(function, policy.__name__)
    return private_entry(function, *sources_of(policy))


def code_folder(policy: type[Policy]) -> Path | None:
    """Where compiled code of a policy is kept; that from outside the package has a folder that knows its sources."""
    return cache_folder() if is_built_in(policy) else private_folder(*sources_of(policy))


def sources_of(policy: type[Policy]) -> tuple[set[str], set[str]]:
    """(files, values) from outside the package that a policy's compiled code depends on: the files of its classes and
    of all functions that its own call, and the numbers that these see by a name. The file "" stands for code without a
    file and for values of which it cannot be told whether they changed."""
    files: set[str] = set()
    values = {f"{name}={getattr(policy, name)!r}" for name in KERNEL_FLAGS if hasattr(policy, name)}
    todo: list[Any] = []
    for cls in policy.__mro__:
        if cls.__module__.split(".")[0] not in _KNOWN:
            files.add(_file_of(cls))
        todo += [("", value.__func__) for value in vars(cls).values() if isinstance(value, staticmethod)]
    seen: set[int] = set()
    while todo:
        name, value = todo.pop()
        body = getattr(value, "py_func", value)  # a compiled function
        if isinstance(body, FunctionType):
            if id(body) not in seen and str(body.__module__).split(".")[0] not in _KNOWN:
                seen.add(id(body))
                files.add(_file_of(body))
                todo.extend(_names_in(body))
        elif isinstance(body, type):
            if body.__module__.split(".")[0] not in _KNOWN:
                files.add(_file_of(body))
        elif not isinstance(body, ModuleType | BuiltinFunctionType | np.ufunc):
            told = _told(body)
            values.add(f"{name}={told}")
            if told is None:
                files.add("")
    return files, values


def _file_of(thing: Any) -> str:
    """The file of a class or function; "" if it has none that can be read again."""
    try:
        file = inspect.getsourcefile(thing) or ""
    except (TypeError, OSError):
        file = ""
    return file if thing.__module__ != "__main__" and Path(file).is_file() else ""


def _names_in(body: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function sees by a name: in its module, in modules that it names, in what is around it."""
    codes = [body.__code__]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        for name in code.co_names:
            if name not in body.__globals__:
                continue
            found = body.__globals__[name]
            yield name, found
            if isinstance(found, ModuleType) and found.__name__.split(".")[0] not in _KNOWN:
                yield from ((f"{name}.{other}", vars(found)[other]) for other in code.co_names if other in vars(found))
    for name, cell in zip(body.__code__.co_freevars, body.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _told(value: Any) -> str | None:
    """A value as text, by which it is known again; None for what may change unseen."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple):
        parts = [_told(part) for part in value]
        return None if None in parts else f"({', '.join(map(str, parts))})"
    return repr(value) if value is None or isinstance(value, bool | int | float | str | bytes | np.generic) else None


_KNOWN = {"belated", "numba", "numpy", "math", "abc", "builtins", "typing", "dataclasses"}
"""Packages whose sources are known otherwise, or do not change."""


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


def answer(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> None:
    """Take in the reward of an earlier pull."""
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
            interface.record_feedback(policy, state, np.uint32(arms[id]), rewards[place], ranks[id], id + 1, number + 1)
    return -1


def bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(lower, upper, how many first pulls give the one and the other): the policy's bounds on an arm's mean."""
    seen = view(state, np.uint32(arm), now)
    low, high = interface.bound_prefixes(policy, seen)
    return interface.lower(policy, seen), interface.upper(policy, seen), low, high


def with_table(policy: Policy, arms: int, size: int) -> Any:
    """The policy's parameters with a table of its bonus for counts below ``size``."""
    return encode_policy(policy, arms)._replace(table=_table(policy, arms, size))


@lru_cache(16)
def _table(policy: Policy, arms: int, size: int) -> Any:
    table = np.zeros(size)
    compute, parameters = entry_for(fill, type(policy)), encode_policy(policy, arms)
    compile_for(compute, parameters, table)
    compute(parameters, table)
    return table


def fill(policy: Any, table: Any) -> None:
    """The policy's bonus at 1, 2, ...; place 0 is not used."""
    for x in range(1, table.shape[0]):
        table[x] = interface.bonus(policy, float(x))


def no_such_arm(policy: Policy, arms: int) -> InvalidParameter:
    """The error for a policy whose ``choose`` (or ``committed_arm``) gave an arm that does not exist."""
    return InvalidParameter(
        f"{type(policy).__name__}.choose or .committed_arm gave an arm that does not exist; with {arms} arms it must "
        f"give a whole number from 0 to {arms - 1}."
    )
