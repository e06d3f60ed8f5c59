"""From a policy and problems to the outcome of a chunk of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.engine import flight as air
from belated.engine import stock as draws
from belated.engine.encode import Board
from belated.engine.episode import BAD_ARM, NO_ROOM, STOPPED, Outcome, Setting, play
from belated.engine.laws import FIXED, Laws
from belated.errors import InvalidParameter
from belated.forms.base import Policy
from belated.forms.calls import entry_for, no_such_arm, with_table
from belated.forms.state import allocate
from belated.kernel import CompileError, quietly
from belated.rng import seed_words

TABULATED = 1 << 16
"""Counts up to which a policy's bonus is looked up."""


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


def run_chunk(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[Outcome] | None:
    """The outcome of each policy on the chunk's runs, or None if the simulation was stopped."""
    laws, longest, gaps = chunk.board
    half = gaps.size  # delays follow rewards
    fixed = np.where(laws.kind[half : 2 * half] == FIXED, laws.lo[half : 2 * half], -1)
    setting = Setting(fixed, gaps, plan.checkpoints, seed_words(plan.seed), plan.horizon, chunk.first, plan.stop)
    outcomes = []
    for policy in policies:
        outcome = _run_policy(policy, laws, setting, chunk.runs, longest)
        if outcome is None:
            return None
        outcomes.append(outcome)
    return outcomes


def _run_policy(policy: Policy, laws: Laws, setting: Setting, runs: int, longest: int) -> Outcome | None:
    arms = setting.gap.shape[1]
    outcome = Outcome(
        curve=np.zeros((runs, setting.checkpoint.size)),
        final=np.zeros(runs),
        pulls=np.zeros((runs, arms), np.int32),
        observed=np.zeros((runs, arms), np.int32),
        lost=np.zeros((runs, arms), np.int32),
        eliminated_at=np.zeros((runs, arms), np.int32),
    )
    state = allocate(arms, policy.shape())
    flight = air.allocate(longest, setting.horizon)
    stock, _source = draws.allocate(laws, arms, setting.horizon)  # the source lives as long as the stock is used
    place = np.zeros(3, np.int64)
    play_it = entry_for(play, type(policy))
    with quietly():
        parameters = with_table(policy, arms, min(setting.horizon, TABULATED) + 1)
        while True:
            try:
                status = play_it(parameters, setting, outcome, state, flight, stock, place)
            except CompileError as error:
                reason = str(error).strip().splitlines()
                raise InvalidParameter(
                    f"{type(policy).__name__} cannot be compiled: {reason[-1] if reason else error!r} "
                    "Its static methods may use numbers, arrays and functions that numba knows."
                ) from error
            if status == BAD_ARM:
                raise no_such_arm(policy, arms)
            if status != NO_ROOM:
                return None if status == STOPPED else outcome
            flight = air.grown(flight)
