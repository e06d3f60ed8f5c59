"""Memory layout of a launch on a GPU: what is in shared memory, what in global memory, and at which offsets."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.runner import Chunk, Plan
from belated.kernel.rng import seed_words
from belated.policies._base.encode import memory_size
from belated.policies._base.policy import Policy
from belated.policies._base.state import REGISTERS

THREADS = 64
"""Threads of a block: few, so that shared memory is used up evenly."""
SHARED_BYTES = 48 * 1024
"""Shared memory of a block that needs no special request."""
SHORT = 1 << 16
"""Horizons below this are counted in 16 bits."""
WHEEL_BITS = 8
"""log2 of the buckets of a level of the timing wheel, where there are several."""
PULL_BYTES = 1 << 24
"""The sums of pulls of a launch: as many tables as fit in these bytes, up to one for each thread of a block, so that
few threads wait for each other; one in any case."""
LINE = 256
"""Arrays in global memory begin at multiples of this many bytes."""

Arrays = dict[str, tuple[Any, tuple[int, ...]]]
"""(type of number, shape) by name."""


class KernelVariant(NamedTuple):
    """What a kernel is compiled for, besides the policy."""

    uses_ring: bool  # whether all arms share one fixed delay
    binary: bool  # whether every reward is 0 or 1 (only with a ring buffer)
    short: bool  # whether feedback and its sums are counted in 16 bits
    shared: bool  # whether counts, scores and lists are in shared memory
    scored: bool  # index policies
    listed: bool  # elimination policies
    bounded: bool  # elimination policies that keep their bounds
    by_round: bool  # whether delays depend on the round
    shuffled: bool  # whether the arms are relabelled in each run


Layout = namedtuple(
    "Layout",
    "runs first_run arms problems points horizon delay bits levels slots "
    "scores leaves cells rows reals wholes pull_tables pull_rows "  # cells: numbers that the policy keeps for each arm
    # inputs: the table of laws, then what is played
    "kind x y i j k real whole gap fixed_delay checkpoint seed "
    # zeros at first, and an output at last: the tables of the sums of pulls
    "pull_sums "
    # the state: what is in shared memory if it fits, then what never is
    "total score floor pulls observed register active sweep winner memory key order own_eliminated_at "
    # feedback on its way
    "ring ring_reward above last next arm rank pulled_at due reward "
    # outputs
    "curve final out_pulls out_observed lost eliminated_at",
)
"""Sizes of a launch, and where its arrays begin, counted in their items: those of the first thread of a block for
arrays in shared memory, else in global memory."""


class Region(NamedTuple):
    """The arrays of a launch in global memory: (first byte, type of number, shape) by name."""

    arrays: dict[str, tuple[int, Any, tuple[int, ...]]]
    bytes: int

    def start(self, name: str) -> int:
        """The first byte of an array."""
        return self.arrays[name][0]

    def offset(self, name: str) -> int:
        """Where an array begins, counted in its items."""
        start, dtype, _ = self.arrays[name]
        return int(start // np.dtype(dtype).itemsize)


class Launch(NamedTuple):
    """One policy on the runs of a chunk."""

    policy: Policy
    variant: KernelVariant
    layout: Layout
    shared_bytes: int  # of a block
    region: Region
    inputs: dict[str, npt.NDArray[Any]]  # what is copied to the device: the first arrays of the region

    @property
    def input_bytes(self) -> int:
        """Bytes of the region that are copied to the device."""
        return self.region.start(list(self.region.arrays)[len(self.inputs)])

    @property
    def copied_back(self) -> tuple[slice, slice]:
        """The bytes of the region that are copied back: the sums of pulls, and the outputs."""
        start, sums = self.region.start("pull_sums"), self.inputs["pull_sums"]
        return slice(start, start + sums.nbytes), slice(self.region.start("curve"), self.region.bytes)


def plan_launch(policy: Policy, chunk: Chunk, plan: Plan) -> Launch:
    """What a launch needs, and where it is in memory."""
    problem, runs, points, horizon = chunk.problem, chunk.runs, plan.checkpoints.size, plan.horizon
    problems, arms = problem.gaps.shape
    shape, memory = policy.shape(), memory_size(policy, arms, horizon)
    delay = problem.common_delay(horizon)
    uses_ring = delay >= 0
    # A user's policy may subtract counts, or have bounds that are not kept up to date as those of the package are.
    built_in = bool(getattr(policy, "is_built_in", False))
    binary = problem.binary and uses_ring
    short = binary and horizon < SHORT and built_in
    bounded = shape.bounded and built_in
    variant = KernelVariant(
        uses_ring, binary, short, True, shape.scored, shape.eliminates, bounded, problem.by_round, plan.shuffle
    )
    shared_offsets, shared_bytes = _shared_layout(variant, arms)
    if shared_bytes > SHARED_BYTES:
        variant = variant._replace(shared=False, short=False)
        shared_offsets, shared_bytes = {}, 0
    bits, levels = (3, 1) if uses_ring else _wheel(problem.longest, horizon)
    buckets = 0 if uses_ring else levels << bits
    slots = 0 if uses_ring else buckets + 1 + (1 << bits) + (horizon + (1 << bits) if levels > 1 else 0)
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    pull_tables = max(min(THREADS, PULL_BYTES // (8 * plan.pull_rows * arms)), 1)
    inputs: dict[str, npt.NDArray[Any]] = {
        **problem.laws._asdict(),
        "gap": problem.gaps,
        "fixed_delay": problem.fixed_delays,
        "checkpoint": plan.checkpoints,
        "seed": seed_words(plan.seed),
        "pull_sums": np.zeros((pull_tables, plan.pull_rows, arms), np.uint64),
    }
    arrays: Arrays = {
        **{name: (array.dtype.type, array.shape) for name, array in inputs.items()},
        **({} if variant.shared else _global_state(variant, arms, runs)),
        "winner": (np.uint32, (leaves, runs)),
        "memory": (np.float64, (runs, (arms + 1) * memory)),
        "key": (np.uint64, (2, runs)),
        "order": (np.uint32, (2 * arms if plan.shuffle else 0, runs)),
        "own_eliminated_at": (np.int32, (runs if plan.shuffle else 0, arms)),
        "ring": (np.uint32, (delay + 1 if uses_ring else 0, runs)),
        "ring_reward": (np.float64, (delay + 1 if uses_ring and not binary else 0, runs)),
        "above": (np.int64, (3, runs)),
        "last": (np.uint32, (buckets + 1, runs)),
        **dict.fromkeys(("next", "arm", "rank", "pulled_at"), (np.uint32, (slots, runs))),
        "due": (np.uint32, (slots if levels > 1 else 0, runs)),
        "reward": (np.float64, (slots, runs)),
        "curve": (np.float64, (runs, points)),
        "final": (np.float64, (runs,)),
        **dict.fromkeys(("out_pulls", "out_observed", "lost", "eliminated_at"), (np.int32, (runs, arms))),
    }
    region = _global_layout(arrays)
    layout = Layout(
        runs=runs,
        first_run=chunk.first,
        arms=arms,
        problems=problems,
        points=points,
        horizon=horizon,
        delay=delay,
        bits=bits,
        levels=levels,
        slots=slots,
        scores=_scores(variant, arms),
        leaves=leaves,
        cells=memory,
        rows=problem.laws.kind.size,
        reals=problem.laws.real.size,
        wholes=problem.laws.whole.size,
        pull_tables=pull_tables,
        pull_rows=plan.pull_rows,
        **shared_offsets,
        **{name: region.offset(name) for name in arrays},
    )
    return Launch(policy, variant, layout, shared_bytes, region, inputs)


def _scores(variant: KernelVariant, arms: int) -> int:
    """How many scores a state has: indices with the dummy arm's and the bar, or upper bounds."""
    return arms + 2 if variant.scored else arms if variant.bounded else 0


def _shared_layout(variant: KernelVariant, arms: int) -> tuple[dict[str, int], int]:
    """(offsets of the state's arrays in shared memory, bytes of a block). The numbers of a block's threads are
    interleaved: those of one arm are side by side. Pairs of 16-bit numbers of a thread share 32 bits."""
    offsets: dict[str, int] = {}
    start = 0  # in 32-bit words

    def place(words: int, count: int, *names: str) -> None:
        nonlocal start
        for number, name in enumerate(names):
            offsets[name] = len(names) * start // words + number
        start += words * count * THREADS

    lists = arms if variant.listed else 0
    place(2, _scores(variant, arms), "score")
    place(2, arms if variant.bounded else 0, "floor")
    if not variant.binary:
        place(2, arms, "total")
    place(1, arms, "pulls")
    if variant.short:
        place(1, arms, "observed", "total")
    else:
        place(1, arms, "observed")
        if variant.binary:
            place(1, arms, "total")
    place(1, lists, "active", "sweep")
    place(1, REGISTERS, "register")
    return offsets, 4 * start


def _global_state(variant: KernelVariant, arms: int, runs: int) -> Arrays:
    """The state's arrays that would be in shared memory if they fitted."""
    lists = arms if variant.listed else 0
    return {
        "total": (np.float64, (arms, runs)),
        "score": (np.float64, (_scores(variant, arms), runs)),
        "floor": (np.float64, (arms if variant.bounded else 0, runs)),
        "pulls": (np.int32, (arms, runs)),
        "observed": (np.int32, (arms, runs)),
        "register": (np.int32, (REGISTERS, runs)),
        "active": (np.uint32, (lists, runs)),
        "sweep": (np.uint32, (lists, runs)),
    }


def _global_layout(arrays: Arrays) -> Region:
    placed = {}
    start = 0
    for name, (dtype, shape) in arrays.items():
        placed[name] = start, dtype, shape
        size = math.prod(shape) * np.dtype(dtype).itemsize
        start += -(-size // LINE) * LINE
    return Region(placed, start)


def _wheel(longest: int, horizon: int) -> tuple[int, int]:
    """(bits, levels) of the timing wheel."""
    bits = max(min(longest, horizon).bit_length(), 3)
    return (bits, 1) if bits <= WHEEL_BITS + 2 else (WHEEL_BITS, -(-horizon.bit_length() // WHEEL_BITS))
