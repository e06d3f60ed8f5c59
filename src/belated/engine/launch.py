"""Launches on a GPU: how many runs at a time, where their numbers lie, and what comes back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine.cuda import Room, Rows, Sizes, device, kernel_for, unfused
from belated.engine.episode import Outcome
from belated.engine.laws import BERNOULLI, FIXED, Laws
from belated.engine.runner import Chunk, Plan
from belated.forms.base import Policy
from belated.forms.calls import no_such_arm
from belated.forms.state import REGISTERS, Shape
from belated.rng import seed_words

SHARED_BYTES = 48 * 1024
"""Shared memory of a block at the most; more would have to be asked for."""
MEMORY_SHARE = 0.6
"""Of the free memory, how much a launch may take."""
MOST_RUNS = 1 << 18
"""Runs of a launch at the most."""
WHEEL_BITS = 8
"""log2 of the buckets of a level of the wheel."""
THREADS = 32
"""Of a block: few, so that shared memory is used up evenly."""


def check_available() -> None:
    """An error if there is no device."""
    device()


def launch_runs(chunk: Chunk, plan: Plan) -> int:
    """How many runs of a problem fit into a launch."""
    laws, longest, gaps = chunk.board
    free, _ = device().current_context().get_memory_info()
    line = _line(laws, gaps.size, plan.horizon)
    bits, levels = _wheel(longest, plan.horizon)
    slots = 12 * (1 << line.bit_length()) if line >= 0 else 32 * ((levels + 2 << bits) + (levels > 1) * plan.horizon)
    each = 8 * plan.checkpoints.size + 160 * (gaps.shape[1] + 2) + slots
    return max(THREADS, min(MOST_RUNS, int(free * MEMORY_SHARE / each)))


def run_on_device(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[Outcome]:
    """The outcome of each policy on the chunk's runs, played on the device."""
    laws, longest, gaps = chunk.board
    return [_run_policy(policy, laws, longest, gaps, chunk, plan) for policy in policies]


def _run_policy(
    policy: Policy, laws: Laws, longest: int, gaps: npt.NDArray[np.float64], chunk: Chunk, plan: Plan
) -> Outcome:
    cuda = device()
    arms, runs, points = gaps.shape[1], chunk.runs, plan.checkpoints.size
    shape = policy.shape()
    line = _line(laws, gaps.size, plan.horizon)
    binary = bool((laws.kind[: gaps.size] == BERNOULLI).all())
    scores = arms + 2 if shape.scored else 0
    bytes_of_thread = 8 * (arms + 1 + scores + REGISTERS) + 8 * (arms + 1)
    shared = bytes_of_thread * THREADS <= SHARED_BYTES
    sizes = Sizes(arms, line, binary, shared, scores, arms if shape.eliminates else 0)
    bits, levels = _wheel(longest, plan.horizon) if line < 0 else (3, 1)
    room = _room(cuda, sizes, shape, runs, bits, levels, plan.horizon, line)
    rows = Rows(
        cuda.device_array((points, runs)),
        cuda.device_array(runs),
        cuda.device_array((arms, runs), np.int32),
        cuda.to_device(np.zeros((arms, runs), np.int32)),
        cuda.to_device(np.zeros((arms, runs), np.int32)),
        cuda.device_array((arms, runs), np.int32),
        cuda.to_device(np.zeros(1, np.int32)),
    )
    parameters = policy.parameters(arms)
    parameters = parameters._replace(table=cuda.to_device(np.zeros(0)))
    kernel = kernel_for(sizes, bits, levels, THREADS)
    dynamic = bytes_of_thread * THREADS if shared else 0
    with unfused():
        kernel[-(-runs // THREADS), THREADS, 0, dynamic](
            parameters,
            Laws(*(cuda.to_device(part) for part in laws)),
            cuda.to_device(gaps),
            cuda.to_device(plan.checkpoints),
            cuda.to_device(seed_words(plan.seed)),
            plan.horizon,
            chunk.first,
            room,
            rows,
        )
        cuda.synchronize()
    if rows.bad.copy_to_host()[0]:
        raise no_such_arm(policy, arms)
    host = {name: np.ascontiguousarray(getattr(rows, name).copy_to_host().T) for name in Outcome._fields}
    return Outcome(**host)


def _line(laws: Laws, half: int, horizon: int) -> int:
    """The one fixed delay of all arms of all problems, if that is what they have."""
    kinds, delays = laws.kind[half : 2 * half], laws.lo[half : 2 * half]
    same = bool((kinds == FIXED).all()) and bool((delays == delays[0]).all()) and int(delays[0]) < horizon
    return int(delays[0]) if same else -1


def _levels(horizon: int) -> int:
    return -(-horizon.bit_length() // WHEEL_BITS)


def _wheel(longest: int, horizon: int) -> tuple[int, int]:
    """(bits, levels) of the wheel."""
    bits = max(min(longest, horizon).bit_length(), 3)
    return (bits, 1) if bits <= WHEEL_BITS + 2 else (WHEEL_BITS, _levels(horizon))


def _room(cuda: Any, sizes: Sizes, shape: Shape, runs: int, bits: int, levels: int, horizon: int, line: int) -> Room:
    arms = sizes.arms
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    here = 0 if sizes.shared else 1
    buckets = levels << bits if line < 0 else 0
    above = horizon + (1 << bits) if levels > 1 else 0
    slots = buckets + 1 + (1 << bits) + above if line < 0 else 0
    ring = 1 << int(line).bit_length() if line >= 0 else 1

    def array(*dims: int, kind: Any = np.float64) -> Any:
        return cuda.device_array((*dims, runs if math.prod(dims) else 1), kind)

    return Room(
        total=array(here * (arms + 1)),
        score=array(here * sizes.scores),
        pulls=array(here * (arms + 1), kind=np.int32),
        observed=array(here * (arms + 1), kind=np.int32),
        register=array(here * REGISTERS, kind=np.int64),
        winner=array(leaves, kind=np.uint32),
        active=array(sizes.listed, kind=np.uint32),
        sweep=array(sizes.listed, kind=np.uint32),
        eliminated_at=array(arms, kind=np.int64),
        memory=array(arms + 1, shape.memory),
        key=array(2, kind=np.uint64),
        ring_arm=array(ring, kind=np.uint32),
        ring_reward=array(ring if line >= 0 and not sizes.binary else 0),
        above=array(3, kind=np.int64),
        last=array(buckets + 1, kind=np.uint32),
        next=array(slots, kind=np.uint32),
        arm=array(slots, kind=np.uint32),
        rank=array(slots, kind=np.uint32),
        pulled_at=array(slots, kind=np.uint32),
        due=array(slots if levels > 1 else 0, kind=np.uint32),
        reward=array(slots),
    )
