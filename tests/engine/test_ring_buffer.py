"""One delay for all arms: the ring buffer gives the bits of the timing wheel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed
from belated.rewards import Bernoulli
from own_policies import Impatient
from same import assert_same_bits
from support.loops import only_timing_wheel, watch_loops
from support.policies import every_variant

POLICIES: list[Any] = [*every_variant(), Impatient()]


def family(rng: np.random.Generator) -> Problem:
    return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.1, 0.9, 4)], Fixed(6))


def problem(arms: int, delay: int) -> Problem:
    return Problem([Bernoulli(0.2 + 0.6 * (7 * arm % 11) / 11) for arm in range(arms)], Fixed(delay))


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "no delay": (problem(3, 0), {"horizon": 300}),
    "a delay of one round": (problem(3, 1), {"horizon": 300}),
    "delays": (problem(5, 40), {"horizon": 700}),
    "the longest that is heard of": (problem(3, 49), {"horizon": 50}),
    "longer than the horizon": (problem(3, 50), {"horizon": 50}),
    "one round": (problem(2, 0), {"horizon": 1}),
    "one arm": (problem(1, 3), {"horizon": 20}),
    "a tree of arms": (problem(70, 5), {"horizon": 400}),
    "more arms than rounds": (problem(70, 5), {"horizon": 40}),
    "one run": (problem(4, 9), {"horizon": 200, "runs": 1}),
    "a problem for each run": (family, {"horizon": 300}),
    "checkpoints before the horizon": (problem(4, 9), {"horizon": 200, "checkpoints": [1, 2, 63, 64, 150]}),
    "easily decided": (Problem([Bernoulli(0.05), Bernoulli(0.95)], Fixed(30)), {"horizon": 2000}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_ring_buffer_gives_the_bits_of_the_timing_wheel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting, options = CASES[name]
    options = {"runs": 13, "seed": 4, "checkpoints": 7, **options}
    called = watch_loops(monkeypatch)
    ring = simulate(setting, POLICIES, **options)
    loops = set(called)
    only_timing_wheel(monkeypatch)
    called.clear()
    wheel = simulate(setting, POLICIES, **options)
    assert set(called) == {"play_wheel"}
    assert loops == ({"play_wheel", "play_speculatively"} if name == "longer than the horizon" else {"play_ring"})
    assert_same_bits(ring, wheel)
