"""A second text of delays that depend on the round: each round is a problem of its own, whose laws do not."""

from __future__ import annotations

from typing import Any

from belated import Problem
from belated.delays import Batch, ByReward, ByRound, DelayLaw, Fixed, Mixture
from belated.engine.environment import Environment


def law_in(law: DelayLaw, now: int) -> DelayLaw:
    """What a law is in round ``now``."""
    if isinstance(law, Batch):
        last = law.offset if law.offset > 0 else law.size  # round of the first batch
        while last < now:
            last += law.size
        return Fixed(last - now)
    if isinstance(law, ByRound):
        begun = max(first for first in law.laws if first <= now)
        later = [first for first in law.laws if first > now]
        if not law.drift or not later or begun == now:
            return law_in(law.laws[begun], now)
        old, new = law_in(law.laws[begun], now), law_in(law.laws[min(later)], now)
        weight = (min(later) - now) / (min(later) - begun)
        return Mixture([(weight, old), (1.0 - weight, new)])
    if isinstance(law, Mixture):
        return Mixture([(weight, law_in(part, now)) for weight, part in law.parts])
    if isinstance(law, ByReward):
        laws: Any = law.laws
        if callable(laws):
            return ByReward(lambda reward: law_in(laws(reward), now), law.cells)
        return ByReward({value: law_in(part, now) for value, part in laws.items()})
    return law


class RoundByRound:
    """The environment of such a problem: a pull is drawn from the problem of its round."""

    def __init__(self, problem: Problem, *, horizon: int, seed: int, run: int) -> None:
        self._problem = problem
        self._setting = {"horizon": horizon, "seed": seed, "run": run}
        self._environments: dict[int, Environment] = {}
        any_round = self._at(1)
        self.own_word = any_round.own_word
        self.own_uniform = any_round.own_uniform

    def pull(self, arm: int, rank: int, now: int) -> tuple[float, int | None]:
        return self._at(now).pull(arm, rank, 1)

    def _at(self, now: int) -> Environment:
        if now not in self._environments:
            laws = [law_in(law, now) for law in self._problem.delays]
            self._environments[now] = Environment(Problem(self._problem.rewards, laws), **self._setting)
        return self._environments[now]
