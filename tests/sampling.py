"""Many draws at once: the engine's own draw of a pull in a compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated import Problem
from belated.engine import environment
from belated.engine.environment import Environment
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.law_table import NEVER

_pull = environment._pull


@entry
def _fill(
    laws: Any,
    reward_row: Any,
    delay_row: Any,
    key_a: Any,
    key_b: Any,
    arm: Any,
    first: Any,
    now: Any,
    out: Any,
    late: Any,
) -> None:
    for place in range(out.shape[0]):
        out[place], late[place] = _pull(laws, reward_row, delay_row, key_a, key_b, arm, first + place, now)


def sample(
    draws: Environment, arm: int, count: int, first: int = 0, now: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Rewards and delays (``inf`` for never) of the pulls ``first``, ``first + 1``, ... of an arm,
    as if all were made in round ``now``."""
    rewards, delays = np.zeros(count), np.zeros(count, np.int64)
    rows = np.uint32(arm), np.uint32(draws._arms + arm)
    with ignore_overflow():
        _fill(draws._laws, *rows, draws._key[0], draws._key[1], arm, first, now, rewards, delays)
    return rewards, np.where(delays == NEVER, np.inf, delays.astype(np.float64))


class Prefetched:
    """``Draws`` that fetches an arm's pulls a block at a time, for simulators that ask for many. Not for delays that
    depend on the round."""

    def __init__(self, problem: Problem, *, horizon: int, seed: int, run: int) -> None:
        self._draws = Environment(problem, horizon=horizon, seed=seed, run=run)
        self._block = min(max(horizon // problem.arms, 16), 4096)
        self._known: dict[int, list[tuple[float, int | None]]] = {arm: [] for arm in range(problem.arms)}
        self.own_word = self._draws.own_word
        self.own_uniform = self._draws.own_uniform

    def pull(self, arm: int, rank: int, now: int) -> tuple[float, int | None]:
        known = self._known[arm]
        while rank >= len(known):
            rewards, delays = sample(self._draws, arm, self._block, len(known))
            pairs = zip(rewards.tolist(), delays.tolist(), strict=True)
            known.extend((reward, None if delay == np.inf else int(delay)) for reward, delay in pairs)
        return known[rank]
