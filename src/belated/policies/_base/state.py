"""What a policy knows in one run: the same layout in the simulator and in a live bandit.

Formulas see counts and sums as float64, exact up to 2^53; on a GPU they may be kept as small whole numbers. Rows from K
on of ``observed``, ``total`` and ``score`` are nobody's: an arm that was never there. An answer may be told to it where
there is none to tell, so that no branch depends on whether there is; its sum is -inf and stays so, and no index of the
package's is then above that of an arm. Numbers of arms are unsigned 32-bit: compiled code then needs no test for
negative places, and mixed with signed numbers they stay whole."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline

_NOT_ONE = -1e300
"""Nobody's count of answers: however often one is added, it stays below 1."""

_CACHE_LINE, _PAGE, _VECTOR = 64, 4096, 8

Wanted = tuple[Any, tuple[int, ...]]
"""An array's type of number and shape."""

REGISTERS = 4
"""How many whole numbers a form may keep beside the arms."""


class State(NamedTuple):
    """The state of K arms. Before round t it holds everything known by then and nothing else."""

    arms: int  # K
    pulls: npt.NDArray[np.int64]  # (rows,) m: how often each arm was pulled
    observed: npt.NDArray[np.float64]  # (rows,) n: how many of these pulls were answered
    total: npt.NDArray[np.float64]  # (rows,) S: sum of the answers, in the order of their arrival
    score: npt.NDArray[np.float64]  # (rows,) the cached index, +inf before the first pull; the bar. Or upper bounds
    floor: Any  # (K,) elimination: the lower bounds, where both are kept; else nothing
    winner: npt.NDArray[np.uint32]  # (leaves,) index policies with many arms: the winner tree, its root at 1
    active: npt.NDArray[np.uint32]  # (K,) elimination: the arms left, in index order
    sweep: npt.NDArray[np.uint32]  # (K,) elimination in phases: the arms of the present sweep
    eliminated_at: npt.NDArray[np.int64]  # (K,) the first round without the arm; -1 while it is active
    register: npt.NDArray[np.int64]  # (REGISTERS,) small numbers of the form
    memory: npt.NDArray[np.float64]  # (K + 1, M) statistics of the policy's own; the last row for all arms together
    key: npt.NDArray[np.uint64]  # (2,) the policy's own random stream, for rng.word(key[0], key[1], now, j)


class Arm(NamedTuple):
    """What a formula sees of one arm. Policies of the paper use ``pulls``, ``observed`` and ``total`` alone."""

    pulls: Any  # m
    observed: Any  # n
    total: Any  # S
    number: Any  # which arm: row of ``memory``
    arms: Any  # K
    now: Any  # the round
    memory: Any  # (K, M): the policy's own statistics are at [number, :]


class Shape(NamedTuple):
    """Which parts of the state a policy needs, and how large."""

    scored: bool = False
    tree_from: int = 1 << 30  # a winner tree for at least this many arms
    eliminates: bool = False
    bounded: bool = False  # both bounds of each arm may be kept
    memory: int = 0  # numbers of its own for each arm


def allocate(arms: int, shape: Shape, *more: Wanted) -> tuple[State, list[npt.NDArray[Any]]]:
    """The state, its arrays of the right sizes, and more arrays beside them; ``reset`` gives the state its first
    values."""
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    listed = arms if shape.eliminates else 0
    rows = -(-(arms + 2) // _VECTOR) * _VECTOR
    wanted: dict[str, Wanted] = {
        "pulls": (np.int64, (rows,)),
        "observed": (np.float64, (rows,)),
        "total": (np.float64, (rows,)),
        "score": (np.float64, (rows if shape.scored else 0,)),
        "winner": (np.uint32, (leaves,)),
        "active": (np.uint32, (listed,)),
        "sweep": (np.uint32, (listed,)),
        "eliminated_at": (np.int64, (arms,)),
        "register": (np.int64, (REGISTERS,)),
        "memory": (np.float64, (arms + 1, shape.memory)),
        "key": (np.uint64, (2,)),
    }
    arrays = side_by_side(*wanted.values(), *more)
    state = State(arms=arms, floor=(), **dict(zip(wanted, arrays, strict=False)))
    state.observed[arms:] = _NOT_ONE
    state.total[arms:] = -np.inf
    return state, arrays[len(wanted) :]


def side_by_side(*wanted: Wanted) -> list[npt.NDArray[Any]]:
    """Arrays of zeros in one block of memory, each of (type, shape). Where they are small, no two numbers of them have
    the same place in a page, which a processor would at times take for the same number."""
    sizes = [-(-math.prod(shape) * np.dtype(kind).itemsize // _CACHE_LINE) * _CACHE_LINE for kind, shape in wanted]
    block = np.zeros(sum(sizes) + _PAGE, np.uint8)
    start = -block.ctypes.data % _PAGE
    arrays = []
    for (kind, shape), size in zip(wanted, sizes, strict=True):
        bytes_of = math.prod(shape) * np.dtype(kind).itemsize
        arrays.append(block[start : start + bytes_of].view(kind).reshape(shape))
        start += size
    return arrays


@inline
def reset(state: State) -> None:
    """The state before the first round; the key is left as it is."""
    for arm in range(state.arms):
        state.pulls[arm] = 0
        state.observed[arm] = 0
        state.total[arm] = 0
        state.eliminated_at[arm] = -1
    for arm in range(state.memory.shape[0]):
        for cell in range(state.memory.shape[1]):
            state.memory[arm, cell] = 0.0
    for arm in range(state.score.shape[0]):
        state.score[arm] = np.inf if arm != state.arms else -np.inf
    for place in range(state.register.shape[0]):
        state.register[place] = 0
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
