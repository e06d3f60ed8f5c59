"""From a policy and problems to the outcome of a chunk of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.compiling import compile_for
from belated.engine import flight as air
from belated.engine import stock as draws
from belated.engine.circle import play_rings
from belated.engine.compilers import crew_for
from belated.engine.encode import Board
from belated.engine.episode import Outcome, Setting, play
from belated.engine.game import BAD_ARM, NO_ROOM, STOPPED
from belated.engine.laws import FIXED
from belated.errors import InvalidParameter
from belated.forms.base import Policy
from belated.forms.calls import entry_for, no_such_arm, with_table
from belated.forms.state import allocate
from belated.kernel import COMPILE_ERRORS, quietly
from belated.rng import seed_words

TABULATED = 1 << 16
"""Counts up to which a policy's bonus is looked up."""
LONGEST_RING = 1 << 20
"""Longer delays wait in the wheel."""
_ON_THE_WAY = "Failed in nopython mode pipeline"
"""Numba says so of each function, from the first that it was to compile to the one with the mistake."""


@dataclass(frozen=True)
class Chunk:
    """Runs ``first``, ``first + 1``, ... of a simulation: one problem for all, or one for each."""

    first: int
    runs: int
    board: Board


@dataclass(frozen=True)
class Plan:
    """What all chunks of a simulation share."""

    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    stop: npt.NDArray[np.int64]
    workers: int = 1  # processes that may compile


def run_chunk(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[Outcome] | None:
    """The outcome of each policy on the chunk's runs, or None if the simulation was stopped."""
    setting, is_ring = _setting(chunk, plan)
    outcomes = []
    function = play_rings if is_ring else play
    with crew_for(function, policies, plan.workers) as crew:
        for policy in policies:
            crew.wait_for(function, policy, plan.stop)
            if plan.stop[0] != 0:
                return None
            outcome = _outcome(chunk.runs, setting)
            with quietly():
                status = (_play_ring if is_ring else _play)(policy, chunk, setting, outcome)
            if status == BAD_ARM:
                raise no_such_arm(policy, setting.gap.shape[1])
            if status == STOPPED:
                return None
            outcomes.append(outcome)
    return outcomes


def compile_policy(policy: Policy, chunk: Chunk, plan: Plan) -> None:
    """Compile what plays a policy on such a chunk, without playing it."""
    setting, is_ring = _setting(chunk, plan)
    outcome = _outcome(chunk.runs, setting)
    if is_ring:
        compile_for(entry_for(play_rings, type(policy)), *_for_ring(policy, chunk, setting, outcome))
    else:
        stock, _ = draws.allocate(chunk.board.laws, setting.gap.shape[1], setting.horizon, drawn=False)
        compile_for(entry_for(play, type(policy)), *_for_wheel(policy, chunk, setting, outcome, stock))


def _setting(chunk: Chunk, plan: Plan) -> tuple[Setting, bool]:
    """What the chunk plays, and whether in a ring."""
    laws, _, gaps = chunk.board
    half = gaps.size  # delays follow rewards
    fixed = np.where(laws.kind[half : 2 * half] == FIXED, laws.lo[half : 2 * half], -1)
    setting = Setting(fixed, gaps, plan.checkpoints, seed_words(plan.seed), plan.horizon, chunk.first, plan.stop)
    return setting, 0 <= chunk.board.common_delay(plan.horizon) < LONGEST_RING and chunk.board.binary


def _outcome(runs: int, setting: Setting) -> Outcome:
    arms = setting.gap.shape[1]
    return Outcome(
        curve=np.zeros((runs, setting.checkpoint.size)),
        final=np.zeros(runs),
        pulls=np.zeros((runs, arms), np.int32),
        observed=np.zeros((runs, arms), np.int32),
        lost=np.zeros((runs, arms), np.int32),
        eliminated_at=np.zeros((runs, arms), np.int32),
    )


def _play(policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome) -> int:
    """Play a chunk whatever its laws are."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    stock, _source = draws.allocate(chunk.board.laws, arms, horizon)  # the source lives as long as the stock is used
    *given, flight, stock, place = _for_wheel(policy, chunk, setting, outcome, stock)
    while True:
        status = _call(play, policy, *given, flight, stock, place)
        if status != NO_ROOM:
            return status
        flight = air.grown(flight)


def _for_wheel(policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome, stock: draws.Stock) -> tuple[Any, ...]:
    """The arguments of :func:`play`."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    state = allocate(arms, policy.shape())[0]
    flight = air.allocate(chunk.board.longest, horizon)
    parameters = with_table(policy, arms, min(horizon, TABULATED) + 1)
    return parameters, setting, outcome, state, flight, stock, np.zeros(3, np.int64)


def _play_ring(policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome) -> int:
    """Play a chunk whose arms all have the same fixed delay, and rewards 0 or 1."""
    return _call(play_rings, policy, *_for_ring(policy, chunk, setting, outcome))


def _for_ring(policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome) -> tuple[Any, ...]:
    """The arguments of :func:`play_rings`."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    ring = chunk.board.common_delay(horizon) + 1
    state, (places, ahead) = allocate(arms, policy.shape(), (np.uint32, (ring,)), (np.uint64, (arms,)))
    parameters = with_table(policy, arms, min(horizon, TABULATED) + 1)
    return parameters, setting, chunk.board.laws, outcome, state, places, ahead, draws.batch_bits(arms, horizon)


def _call(function: Callable[..., Any], policy: Policy, *arguments: Any) -> int:
    """Call a function compiled for the policy."""
    entry = entry_for(function, type(policy))
    try:
        compile_for(entry, *arguments)
        return int(entry(*arguments))
    except (*COMPILE_ERRORS, AttributeError) as error:  # the last: such as np.nothing
        raise cannot_compile(policy, error) from error


def cannot_compile(policy: Policy, error: Exception) -> InvalidParameter:
    """The error for a policy that numba cannot compile."""
    return InvalidParameter(
        f"{type(policy).__name__} cannot be compiled: {_mistake(str(error)) or repr(error)}. "
        "Its static methods may use numbers, arrays and functions that numba knows."
    )


def _mistake(message: str) -> str:
    """Of numba's message, which tells of every function on the way to the mistake, the line that names the mistake and
    where it is."""
    told = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    begin = max((place + 1 for place, line in enumerate(told) if _ON_THE_WAY in line), default=0)
    lines = [line for line in told[begin:] if line]
    if not lines:
        return ""
    reason = lines[0].partition(". Raised from")[0]
    if reason.endswith("found for signature:") and len(lines) > 1:
        reason = f"{reason} {lines[1].removeprefix('>>> ')}"
    for line in lines[1:]:
        if line.startswith("During: Pass "):
            break
        if found := re.fullmatch(r'File "(.*)", line (\d+):', line):
            return f"{reason.rstrip('.')} (line {found[2]} of {Path(found[1]).name})"
    return reason.rstrip(".")
