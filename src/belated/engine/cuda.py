"""Runs on a GPU: the same policies, laws and feedback in flight, one thread a run.

The functions are those of the CPU, compiled for the device as they are; what is written here is where their numbers
lie. The counts and scores of the arms lie in shared memory where they fit, everything else in global memory with the
run as the last axis, so that threads side by side read numbers side by side. Multiplications and additions are not
fused, so that the bits are those of the CPU.

Where every arm has one and the same fixed delay, feedback waits in a ring: each round brings one answer. Otherwise it
waits in the timing wheel of :mod:`belated.engine.flight`, with as many slots as a run has rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from belated.engine import flight as air
from belated.engine.draw import draw_delay, draw_reward
from belated.engine.laws import NEVER
from belated.errors import MissingComponent
from belated.forms import hooks
from belated.forms.state import REGISTERS, State, reset
from belated.rng import run_key, two_words

INSTALL = "pip install 'belated[cuda]'"


class Sizes(NamedTuple):
    """What a kernel is compiled for."""

    arms: int
    line: int  # the one fixed delay of all arms, or -1
    binary: bool  # whether every reward is 0 or 1
    shared: bool  # whether counts and scores lie in shared memory
    scores: int
    listed: int


class Room(NamedTuple):
    """Arrays of all runs of a launch, the run last."""

    total: Any
    score: Any
    pulls: Any
    observed: Any
    register: Any
    winner: Any
    active: Any
    sweep: Any
    eliminated_at: Any
    memory: Any
    key: Any
    ring_arm: Any
    ring_reward: Any
    above: Any
    last: Any
    next: Any
    arm: Any
    rank: Any
    pulled_at: Any
    due: Any
    reward: Any


class Rows(NamedTuple):
    """What is given back, the run last."""

    curve: Any  # (C, runs)
    final: Any  # (runs,)
    pulls: Any  # (K, runs)
    observed: Any
    lost: Any
    eliminated_at: Any
    bad: Any  # (1,) set to 1 where a policy chose an arm that does not exist


@cache
def device() -> Any:
    """numba's CUDA target; an error with the install line where it is missing, or there is no device."""
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 still asks for it
        np.row_stack = np.vstack
    try:
        from numba import cuda
    except ImportError as error:
        raise MissingComponent(f"device='cuda' needs numba-cuda: {INSTALL} ({error})") from None
    found: Any = cuda
    if not found.is_available():
        raise MissingComponent(
            f"device='cuda' finds no GPU, or no driver for it. Install the parts with {INSTALL}, and see that "
            "nvidia-smi lists a device; or use device='cpu'."
        )
    return found


@contextmanager
def unfused() -> Iterator[None]:
    """A context in which the compiler does not fuse multiplications with additions."""
    from numba.cuda.cudadrv import nvvm as module

    nvvm: Any = module
    plain = nvvm.compile_ir

    def compile_ir(code: Any, **options: Any) -> Any:
        return plain(code, **{**options, "fma": False})

    nvvm.compile_ir = compile_ir
    try:
        yield
    finally:
        nvvm.compile_ir = plain


@cache
def kernel_for(sizes: Sizes, bits: int, levels: int, threads: int) -> Any:  # noqa: PLR0915
    """The kernel for these sizes, compiled for a policy when it is first launched with it."""
    cuda = device()
    arms, line, binary, shared, scores, _ = sizes
    one = np.uint32(1)

    def play(  # noqa: PLR0915
        policy: Any, laws: Any, gap: Any, checkpoint: Any, seed: Any, horizon: Any, first: Any, room: Any, rows: Any
    ) -> None:
        run = cuda.grid(1)
        if run >= rows.final.shape[0]:
            return
        if shared:
            tid = cuda.threadIdx.x
            real = cuda.shared.array(0, np.float64)
            whole = cuda.shared.array(0, np.int64)
            short = cuda.shared.array(0, np.int32)
            at = tid
            total = real[at : at + (arms + 1) * threads : threads]
            at += (arms + 1) * threads
            score = real[at : at + scores * threads : threads]
            at += scores * threads
            register = whole[at : at + REGISTERS * threads : threads]
            at += REGISTERS * threads
            at = 2 * (at - tid) + tid
            pulls = short[at : at + (arms + 1) * threads : threads]
            at += (arms + 1) * threads
            observed = short[at : at + (arms + 1) * threads : threads]
        else:
            total = room.total[:, run]
            score = room.score[:, run]
            register = room.register[:, run]
            pulls = room.pulls[:, run]
            observed = room.observed[:, run]
        state = State(
            arms,
            pulls,
            observed,
            total,
            score,
            room.winner[:, run],
            room.active[:, run],
            room.sweep[:, run],
            room.eliminated_at[:, run],
            register,
            room.memory[:, :, run],
            room.key[:, run],
        )
        reset(state)
        state.key[0], state.key[1] = run_key(seed[2], seed[3], first + run)
        flight = air.Flight(
            bits,
            levels,
            room.above[:, run],
            room.last[:, run],
            room.next[:, run],
            room.arm[:, run],
            room.rank[:, run],
            room.pulled_at[:, run],
            room.due[:, run],
            room.reward[:, run],
        )
        if line < 0:
            air.clear(flight)
        key_a, key_b = run_key(seed[0], seed[1], first + run)
        problems = gap.shape[0]
        problem = run if problems > 1 else 0
        mask = room.ring_arm.shape[0] - 1
        now = 1
        point = 0
        left = np.int64(-1)
        while now <= horizon:
            until = min(horizon, checkpoint[point]) if point < checkpoint.shape[0] else horizon
            if line < 0:
                air.ready(flight, now)
                until = min(until, air.last_round(flight, now))
            while now <= until:
                if line >= 0:
                    if now > line + 1:
                        slot = (now - 1 - line) & mask
                        entry = room.ring_arm[slot, run]
                        if binary:
                            hooks.record_answer(policy, state, entry >> one, float(entry & one), 0, 0, now)
                        else:
                            hooks.record_answer(policy, state, entry, room.ring_reward[slot, run], 0, 0, now)
                else:
                    bucket, last = air.land(flight, now - 1)
                    place = bucket
                    while place != last:
                        place = flight.next[place]
                        hooks.record_answer(
                            policy,
                            state,
                            flight.arm[place],
                            flight.reward[place],
                            np.int64(flight.rank[place]),
                            np.int64(flight.pulled_at[place]),
                            now,
                        )
                chosen = hooks.choose(policy, state, now)
                left = np.int64(hooks.only_arm(policy, state))
                if not hooks.is_trusted(policy) and (not hooks.is_arm(state, chosen) or left >= arms):
                    rows.bad[0] = 1
                    return
                if left >= 0:
                    break
                arm = np.uint32(chosen)
                rank = np.int64(pulls[arm])
                row = np.uint32(problem * arms + arm)
                word, other = two_words(key_a, key_b, arm, rank)
                reward = draw_reward(laws, row, word)
                if line >= 0:
                    slot = now & mask
                    if binary:
                        room.ring_arm[slot, run] = (arm << one) | np.uint32(reward)
                    else:
                        room.ring_arm[slot, run] = arm
                        room.ring_reward[slot, run] = reward
                else:
                    delay = np.int64(draw_delay(laws, np.uint32(problems * arms) + row, reward, other))
                    due = now + delay
                    rows.observed[arm, run] += np.int32(due <= horizon)
                    rows.lost[arm, run] += np.int32(delay == NEVER)
                    air.put(flight, arm, rank, now, due, reward, horizon, True)
                hooks.record_pull(policy, state, arm, rank, now)
                now += 1
            if left >= 0:
                break
            if point < checkpoint.shape[0] and until == checkpoint[point]:
                regret = 0.0
                for number in range(arms):
                    regret += gap[problem, number] * pulls[number]
                rows.curve[point, run] = regret
                point += 1
        if line >= 0:
            told = now - 1 - line if left >= 0 else now - 2 - line  # the last round whose answer was told
            for pulled in range(max(told + 1, 1), min(now - 1, horizon - line) + 1):
                entry = room.ring_arm[pulled & mask, run]
                observed[entry >> one if binary else entry] += 1
            for number in range(arms):
                rows.observed[number, run] = observed[number]
        if left >= 0:
            only = np.uint32(left)
            before = pulls[only]
            if line >= 0:
                rows.observed[only, run] += max(horizon - line - (now - 1), 0)
            else:
                row = np.uint32(problem * arms + only)
                rank = np.int64(before)
                for pulled in range(now, horizon + 1):
                    word, other = two_words(key_a, key_b, only, rank)
                    reward = draw_reward(laws, row, word)
                    delay = np.int64(draw_delay(laws, np.uint32(problems * arms) + row, reward, other))
                    rows.observed[only, run] += np.int32(pulled + delay <= horizon)
                    rows.lost[only, run] += np.int32(delay == NEVER)
                    rank += 1
            while point < checkpoint.shape[0]:
                pulls[only] = before + (checkpoint[point] - (now - 1))
                regret = 0.0
                for number in range(arms):
                    regret += gap[problem, number] * pulls[number]
                rows.curve[point, run] = regret
                point += 1
            pulls[only] = before + (horizon - (now - 1))
        regret = 0.0
        for number in range(arms):
            regret += gap[problem, number] * pulls[number]
            rows.pulls[number, run] = pulls[number]
            rows.eliminated_at[number, run] = state.eliminated_at[number]
        rows.final[run] = regret

    return cuda.jit(play, lto=False)
