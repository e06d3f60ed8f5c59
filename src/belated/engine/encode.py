"""From problems to the engine's rows."""

from __future__ import annotations

from collections.abc import Sequence

from belated.engine.laws import BEYOND, Laws, LawsBuilder
from belated.problem import Problem


def encode(problems: Sequence[Problem], horizon: int, *, guided: bool) -> tuple[Laws, int]:
    """(laws, longest delay): the rewards' rows of all problems' arms, then the delays', then those they lead to."""
    arms = problems[0].arms
    half = len(problems) * arms
    builder = LawsBuilder(horizon, roots=2 * half, guided=guided)
    longest = 0.0
    for number, problem in enumerate(problems):
        for arm, (reward, delay) in enumerate(zip(problem.rewards, problem.delays, strict=True)):
            place = number * arms + arm
            builder.root(place, builder.once(reward))
            builder.root(
                half + place, builder.once(delay, reward) if delay.depends_on_reward else builder.once(delay, None)
            )
            longest = max(longest, problem.delay_law(arm).longest)
    return builder.build(), int(min(longest, BEYOND))
