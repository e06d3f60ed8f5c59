"""What a policy knows in one run: the same layout in the simulator and in a live bandit.

Formulas see counts as float64, exact up to 2^53.
Row K of ``observed``, ``total`` and ``score`` is nobody's: an arm that was never there. An answer may be told to it
where there is none to tell, so that no branch depends on whether there is; its sum is -inf and stays so, and no index
of the package's is then above that of an arm.
Numbers of arms are unsigned 32-bit: compiled code then needs no test for negative places, and mixed with signed numbers
they stay whole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel import inner

_NOT_ONE = -1e300
"""Nobody's count of answers: however often one is added, it stays below 1."""

REGISTERS = 4
"""How many whole numbers a form may keep beside the arms."""


class State(NamedTuple):
    """The state of K arms. Before round t it holds everything known by then and nothing else."""

    arms: int  # K
    pulls: npt.NDArray[np.int64]  # (K + 1,) m: how often each arm was pulled
    observed: npt.NDArray[np.float64]  # (K + 1,) n: how many of these pulls were answered
    total: npt.NDArray[np.float64]  # (K + 1,) S: sum of the answers, in the order of their arrival
    score: npt.NDArray[np.float64]  # (K + 2,) the cached index, +inf before the first pull; the bar. Or upper bounds
    winner: npt.NDArray[np.uint32]  # (leaves,) index policies with many arms: the winner tree, its root at 1
    active: npt.NDArray[np.uint32]  # (K,) elimination: the arms left, in index order
    sweep: npt.NDArray[np.uint32]  # (K,) elimination: the arms of the present sweep
    eliminated_at: npt.NDArray[np.int64]  # (K,) the first round without the arm; -1 while it is active
    register: npt.NDArray[np.int64]  # (REGISTERS,) small numbers of the form
    memory: npt.NDArray[np.float64]  # (K + 1, M) bounded statistics of the policy's own
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
    memory: int = 0  # numbers of its own for each arm


def allocate(arms: int, shape: Shape) -> State:
    """Arrays of the right sizes; ``reset`` gives them their first values."""
    leaves = 1 << (arms - 1).bit_length() if shape.scored and arms >= shape.tree_from else 0
    listed = arms if shape.eliminates else 0
    return State(
        arms=arms,
        pulls=np.zeros(arms + 1, np.int64),
        observed=np.zeros(arms + 1),
        total=np.zeros(arms + 1),
        score=np.zeros(arms + 2 if shape.scored else 0),
        winner=np.zeros(leaves, np.uint32),
        active=np.zeros(listed, np.uint32),
        sweep=np.zeros(listed, np.uint32),
        eliminated_at=np.zeros(arms, np.int64),
        register=np.zeros(REGISTERS, np.int64),
        memory=np.zeros((arms + 1, shape.memory)),
        key=np.zeros(2, np.uint64),
    )


@inner
def reset(state: State) -> None:
    """The state before the first round; the key is left as it is."""
    for arm in range(state.arms):
        state.pulls[arm] = 0
        state.observed[arm] = 0.0
        state.total[arm] = 0.0
        state.eliminated_at[arm] = -1
        for cell in range(state.memory.shape[1]):
            state.memory[arm, cell] = 0.0
    state.observed[state.arms] = _NOT_ONE
    state.total[state.arms] = -np.inf
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


@inner
def view(state: State, arm: Any, now: Any) -> Arm:
    """One arm as a formula sees it."""
    counts = float(state.pulls[arm]), float(state.observed[arm])
    return Arm(counts[0], counts[1], state.total[arm], arm, state.arms, now, state.memory)
