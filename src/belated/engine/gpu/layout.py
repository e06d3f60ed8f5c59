"""Where the numbers of a launch on a GPU lie: what in shared memory, what in global memory, and where there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.runner import Chunk, Plan
from belated.kernel.rng import seed_words
from belated.policies._base.policy import Policy
from belated.policies._base.state import REGISTERS

THREADS = 64
"""Of a block: few, so that shared memory is used up evenly."""
SHARED_BYTES = 48 * 1024
"""Shared memory of a block at the most; more would have to be asked for."""
SHORT = 1 << 16
"""Horizons below this are counted in 16 bits."""
WHEEL_BITS = 8
"""log2 of the buckets of a level of the wheel, where there are several."""
LINE = 256
"""Arrays begin at multiples of so many bytes."""


class Kind(NamedTuple):
    """What a kernel is compiled for, beside the policy."""

    ring: bool  # whether every arm has one and the same fixed delay
    binary: bool  # whether every reward is 0 or 1
    short: bool  # whether answers and their sums are counted in 16 bits
    shared: bool  # whether counts, scores and lists lie in shared memory
    scored: bool  # index policies
    listed: bool  # elimination policies
    bounded: bool  # elimination policies that keep the bounds


class Numbers(NamedTuple):
    """What a launch plays, and where its arrays begin in the device's memory, counted in their own items."""

    runs: int
    first: int
    arms: int
    problems: int
    points: int
    horizon: int
    delay: int
    bits: int
    levels: int
    leaves: int
    memory: int
    slots: int
    rows: int  # of the laws
    reals: int
    wholes: int
    # laws and problems
    kind: int
    x: int
    y: int
    i: int
    j: int
    k: int
    real: int
    whole: int
    gap: int
    checkpoint: int
    seed: int
    stop: int
    # state that is not in shared memory
    total: int
    score: int
    floor: int
    pulls: int
    observed: int
    register: int
    active: int
    sweep: int
    winner: int
    own: int
    key: int
    # feedback on its way
    ring: int
    ring_reward: int
    above: int
    last: int
    next: int
    arm: int
    rank: int
    pulled_at: int
    due: int
    reward: int
    # what is given back
    curve: int
    final: int
    out_pulls: int
    out_observed: int
    lost: int
    eliminated_at: int


class Region(NamedTuple):
    """Arrays of one launch in the device's memory: where each begins (in bytes), its type and shape."""

    places: dict[str, tuple[int, Any, tuple[int, ...]]]
    bytes: int

    def items(self, name: str) -> int:
        """Where an array begins, counted in its own items."""
        start, kind, _ = self.places[name]
        return int(start // np.dtype(kind).itemsize)


class Launch(NamedTuple):
    """One policy on the runs of a chunk."""

    policy: Policy
    kind: Kind
    numbers: Numbers
    region: Region
    given: dict[str, npt.NDArray[Any]]  # what is copied there: the first arrays of the region


def bytes_of_thread(kind: Kind, arms: int) -> int:
    """How much shared memory a run takes."""
    counts = 8 if kind.short else 12 if kind.binary else 16
    each = counts + 8 * kind.scored + 4 * kind.listed + 16 * kind.bounded
    return arms * each + 16 * kind.scored + 4 * REGISTERS


def plan_launch(policy: Policy, chunk: Chunk, plan: Plan) -> Launch:
    """What a launch needs, and where it lies."""
    laws, longest, gaps = chunk.board
    (problems, arms), runs, points, horizon = gaps.shape, chunk.runs, plan.checkpoints.size, plan.horizon
    shape = policy.shape()
    delay = chunk.board.common_delay(horizon)
    ring = delay >= 0
    binary = chunk.board.binary
    # A policy from outside may subtract counts, or have bounds that are not brought up to date as the form's are.
    trusted = bool(getattr(policy, "is_trusted", False))
    short = binary and ring and horizon < SHORT and trusted
    kind = Kind(ring, binary and ring, short, True, shape.scored, shape.eliminates, shape.bounded and trusted)
    if bytes_of_thread(kind, arms) * THREADS > SHARED_BYTES:
        kind = kind._replace(shared=False, short=False)
    bits, levels = (3, 1) if ring else _wheel(longest, horizon)
    buckets = 0 if ring else levels << bits
    slots = 0 if ring else buckets + 1 + (1 << bits) + (horizon + (1 << bits) if levels > 1 else 0)
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    here = 0 if kind.shared else runs
    given: dict[str, npt.NDArray[Any]] = {
        **laws._asdict(),
        "gap": gaps,
        "checkpoint": plan.checkpoints,
        "seed": seed_words(plan.seed),
        "stop": np.zeros(1, np.int64),
    }
    wanted: dict[str, tuple[Any, tuple[int, ...]]] = {
        **{name: (array.dtype.type, array.shape) for name, array in given.items()},
        "total": (np.float64, (arms, here)),
        "score": (np.float64, ((arms + 2) * (shape.scored or kind.bounded), here)),
        "floor": (np.float64, (arms * kind.bounded, here)),
        "pulls": (np.int32, (arms, here)),
        "observed": (np.int32, (arms, here)),
        "register": (np.int32, (REGISTERS, here)),
        "active": (np.uint32, (arms * shape.eliminates, here)),
        "sweep": (np.uint32, (arms * shape.eliminates, here)),
        "winner": (np.uint32, (leaves, runs)),
        "own": (np.float64, (runs, (arms + 1) * shape.memory)),
        "key": (np.uint64, (2, runs)),
        "ring": (np.uint32, (delay + 1 if ring else 0, runs)),
        "ring_reward": (np.float64, (delay + 1 if ring and not binary else 0, runs)),
        "above": (np.int64, (3, runs)),
        "last": (np.uint32, (buckets + 1, runs)),
        **dict.fromkeys(("next", "arm", "rank", "pulled_at"), (np.uint32, (slots, runs))),
        "due": (np.uint32, (slots if levels > 1 else 0, runs)),
        "reward": (np.float64, (slots, runs)),
        "curve": (np.float64, (runs, points)),
        "final": (np.float64, (runs,)),
        **dict.fromkeys(("out_pulls", "out_observed", "lost", "eliminated_at"), (np.int32, (runs, arms))),
    }
    region = _laid_out(wanted)
    sizes = {
        "runs": runs,
        "first": chunk.first,
        "arms": arms,
        "problems": problems,
        "points": points,
        "horizon": horizon,
        "delay": delay,
        "bits": bits,
        "levels": levels,
        "leaves": leaves,
        "memory": shape.memory,
        "slots": slots,
        "rows": laws.kind.size,
        "reals": laws.real.size,
        "wholes": laws.whole.size,
    }
    numbers = Numbers(**sizes, **{name: region.items(name) for name in wanted})
    return Launch(policy, kind, numbers, region, given)


def _laid_out(wanted: dict[str, tuple[Any, tuple[int, ...]]]) -> Region:
    places = {}
    start = 0
    for name, (kind, shape) in wanted.items():
        places[name] = start, kind, shape
        size = math.prod(shape) * np.dtype(kind).itemsize
        start += -(-size // LINE) * LINE
    return Region(places, start)


def _wheel(longest: int, horizon: int) -> tuple[int, int]:
    """(bits, levels) of the wheel."""
    bits = max(min(longest, horizon).bit_length(), 3)
    return (bits, 1) if bits <= WHEEL_BITS + 2 else (WHEEL_BITS, -(-horizon.bit_length() // WHEEL_BITS))
