"""The state of a policy in one run: the same layout in the simulator and in a live bandit.

Formulas see counts and sums as float64, exact up to 2^53; on a GPU they may be stored as small integers. Rows >= K of
``observed``, ``total`` and ``score`` are a dummy arm: when no feedback is due, a dummy feedback goes there so that the
round has no branch. Its sum is -inf and stays so, and no index of the package's policies is then above that of a real
arm. Arm numbers are unsigned 32-bit integers: compiled code then needs no test for negative indices, and mixed with
signed numbers they stay integers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline

_DUMMY_COUNT = -1e300
"""The dummy arm's feedback count: however often 1 is added, it stays below 1."""

_CACHE_LINE, _PAGE, _VECTOR = 64, 4096, 8

ArraySpec = tuple[Any, tuple[int, ...]]
"""(dtype, shape) of an array."""

REGISTERS = 4
"""How many integers a base class may keep beside the arms."""


class State(NamedTuple):
    """The state of K arms. Before round t it holds everything that is known by then, and nothing else."""

    arms: int  # K
    pulls: npt.NDArray[np.int64]  # (rows,) m: pulls of each arm
    observed: npt.NDArray[np.float64]  # (rows,) n: how many of these pulls have feedback
    total: npt.NDArray[np.float64]  # (rows,) S: sum of the feedback, in the order of arrival
    score: npt.NDArray[np.float64]  # (rows,) the cached index, +inf before the first pull, and the bar; or upper bounds
    floor: Any  # (K,) elimination: cached lower bounds; an empty tuple if bounds are not cached
    winner: npt.NDArray[np.uint32]  # (leaves,) index policies with many arms: the winner tree, its root at 1
    active: npt.NDArray[np.uint32]  # (K,) elimination: the arms left, in index order
    sweep: npt.NDArray[np.uint32]  # (K,) elimination in phases: the arms of the present sweep
    eliminated_at: npt.NDArray[np.int64]  # (K,) the first round without the arm; -1 while it is active
    register: npt.NDArray[np.int64]  # (REGISTERS,) integers of the base class
    memory: npt.NDArray[np.float64]  # (K + 1, M) the policy's own statistics; the last row is shared by all arms
    key: npt.NDArray[np.uint64]  # (2,) the policy's own random stream: rng.word(key[0], key[1], now, j)


class Arm(NamedTuple):
    """What a formula sees of one arm. The policies of the paper use only ``pulls``, ``observed`` and ``total``."""

    pulls: Any  # m
    observed: Any  # n
    total: Any  # S
    number: Any  # the arm's number: its row of ``memory``
    arms: Any  # K
    now: Any  # the round
    memory: Any  # (K + 1, M): the policy's own statistics of this arm are at [number, :]


class Shape(NamedTuple):
    """Which parts of the state a policy needs, besides its memory."""

    scored: bool = False
    tree_from: int = 1 << 30  # a winner tree for at least this many arms
    eliminates: bool = False
    bounded: bool = False  # both bounds of each arm may be cached


def allocate(arms: int, shape: Shape, memory: int, *more: ArraySpec) -> tuple[State, list[npt.NDArray[Any]]]:
    """Allocate a state with ``memory`` numbers of the policy's own for each arm (see
    :func:`~belated.policies._base.encode.memory_size`), and ``more`` arrays beside it. :func:`reset` sets the initial
    values."""
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    listed = arms if shape.eliminates else 0
    rows = -(-(arms + 2) // _VECTOR) * _VECTOR
    specs: dict[str, ArraySpec] = {
        "pulls": (np.int64, (rows,)),
        "observed": (np.float64, (rows,)),
        "total": (np.float64, (rows,)),
        "score": (np.float64, (rows if shape.scored else 0,)),
        "winner": (np.uint32, (leaves,)),
        "active": (np.uint32, (listed,)),
        "sweep": (np.uint32, (listed,)),
        "eliminated_at": (np.int64, (arms,)),
        "register": (np.int64, (REGISTERS,)),
        "memory": (np.float64, (arms + 1, memory)),
        "key": (np.uint64, (2,)),
    }
    arrays = _one_block(*specs.values(), *more)
    state = State(arms=arms, floor=(), **dict(zip(specs, arrays, strict=False)))
    state.observed[arms:] = _DUMMY_COUNT
    state.total[arms:] = -np.inf
    return state, arrays[len(specs) :]


def _one_block(*specs: ArraySpec) -> list[npt.NDArray[Any]]:
    """Arrays of zeros in one block of memory. Small ones share no offset within a page: processors predict
    dependencies from the low bits of an address, so that equal offsets stall them (4K aliasing)."""
    sizes = [-(-math.prod(shape) * np.dtype(dtype).itemsize // _CACHE_LINE) * _CACHE_LINE for dtype, shape in specs]
    block = np.zeros(sum(sizes) + _PAGE, np.uint8)
    start = -block.ctypes.data % _PAGE
    arrays = []
    for (dtype, shape), size in zip(specs, sizes, strict=True):
        used = math.prod(shape) * np.dtype(dtype).itemsize
        arrays.append(block[start : start + used].view(dtype).reshape(shape))
        start += size
    return arrays


@inline
def reset(state: State) -> None:
    """Set the state before the first round; the key is left as it is."""
    for arm in range(state.arms):
        state.pulls[arm] = 0
        state.observed[arm] = 0
        state.total[arm] = 0
        state.eliminated_at[arm] = -1
    for row in range(state.memory.shape[0]):
        for column in range(state.memory.shape[1]):
            state.memory[row, column] = 0.0
    for arm in range(state.score.shape[0]):
        state.score[arm] = np.inf if arm != state.arms else -np.inf
    for number in range(state.register.shape[0]):
        state.register[number] = 0
    listed = state.active.shape[0]
    for arm in range(listed):
        state.active[arm] = arm
        state.sweep[arm] = arm
    leaves = state.winner.shape[0]
    if leaves > 0:
        state.score[state.arms + 1] = np.nan
    for node in range(leaves - 1, 0, -1):  # every score is +inf: the leftmost leaf below a node wins
        state.winner[node] = 2 * node - leaves if 2 * node >= leaves else state.winner[2 * node]


@inline
def view(state: State, arm: Any, now: Any) -> Arm:
    """One arm as a formula sees it."""
    pulls, observed, total = float(state.pulls[arm]), float(state.observed[arm]), float(state.total[arm])
    return Arm(pulls, observed, total, arm, state.arms, now, state.memory)
