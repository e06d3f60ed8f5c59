"""Speculative execution has the bits of the timing wheel and of the plain simulator."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import Problem, simulate
from belated.delays import ByReward, Fixed, Geometric, LogNormal, Mixture, Never, PacketLoss, Pareto, Poisson, Uniform
from belated.engine.speculative import packed_wheel
from belated.engine.speculative.play import LONGEST
from belated.kernel.intrinsics import byte_count, write_bytes
from belated.policies import POLICIES, UCB, Arm, policy
from belated.rewards import Bernoulli, Beta
from same import assert_same_bits
from strategies import delays_for, examples
from support.laws import DELAY_CASES
from support.loops import only_timing_wheel, watch_loops
from support.parity import assert_agree

EDGE = 63 - LONGEST
"""The longest delay for which a wheel of 64 buckets is large enough."""
POLICY = [UCB(confidence=0.3), UCB(confidence=1.0), UCB(confidence="theory")]


def bernoulli(arms: int) -> list[Any]:
    return [Bernoulli(0.2 + 0.6 * (7 * arm % 11) / 11) for arm in range(arms)]


def assert_as_in_the_wheel(setting: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[str]:
    """The result is that of the wheel, to the bit; how it was played before."""
    options = {"horizon": 3000, "runs": 5, "seed": 4, "checkpoints": 7, **options}
    called = watch_loops(monkeypatch)
    result = simulate(setting, POLICY, **options)
    loops = list(called)
    only_timing_wheel(monkeypatch)
    assert_same_bits(result, simulate(setting, POLICY, **options))
    assert called[len(loops) :] == ["play_wheel"] * (len(called) - len(loops))
    return loops


@pytest.mark.parametrize("case", DELAY_CASES, ids=lambda case: repr(case.law)[:60])
@pytest.mark.parametrize("arms", [5, 64])
def test_every_delay_law(case: Any, arms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(bernoulli(arms), [case.law] * (arms - 1) + [Uniform(0, 3)])
    assert set(assert_as_in_the_wheel(problem, monkeypatch)) == {"play_speculatively"}


LATE_SUCCESSES = ByReward({0.0: Fixed(0), 1.0: Geometric(40)})
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a leader that seldom stays": (Problem(bernoulli(12), LATE_SUCCESSES), {"horizon": 20_000}),
    "a law of the reward for each arm": (Problem(bernoulli(3), [LATE_SUCCESSES, Fixed(9), PacketLoss(0.5)]), {}),
    "equal arms": (Problem([Bernoulli(0.5)] * 20, Poisson(9)), {"horizon": 9000}),
    "one round": (Problem(bernoulli(3), Pareto(1)), {"horizon": 1}),
    "more arms than rounds": (Problem(bernoulli(40), Pareto(1)), {"horizon": 30}),
    "every round a checkpoint": (Problem(bernoulli(4), LogNormal(20, 1)), {"horizon": 700, "checkpoints": 700}),
    "checkpoints before the horizon": (Problem(bernoulli(4), Pareto(1)), {"checkpoints": [1, 2, 63, 64, 150]}),
    "delays around the horizon": (Problem(bernoulli(4), Uniform(190, 210)), {"horizon": 200}),
    "delays of a power of two": (Problem(bernoulli(4), Mixture([(1, Fixed(64)), (1, Fixed(0))])), {}),
    "delays of that, less the rounds played at once": (Problem(bernoulli(4), Uniform(EDGE - 2, EDGE + 1)), {}),
    "never, beside the longest delay that a wheel has": (
        Problem(bernoulli(4), Mixture([(1, Fixed(EDGE)), (1, Never())])),
        {},
    ),
    "a problem for each run": (
        lambda rng: Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.1, 0.9, 6)], Geometric(30)),
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_all_kinds_of_games(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting, options = CASES[name]
    assert set(assert_as_in_the_wheel(setting, monkeypatch, **options)) == {"play_speculatively"}


@examples(60)
@given(
    means=st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]), min_size=1, max_size=6),
    data=st.data(),
    horizon=st.one_of(st.integers(1, 1500), st.integers(800, 1500)),
    seed=st.integers(0, 2**40),
)
def test_as_the_plain_simulator(means: list[float], data: st.DataObject, horizon: int, seed: int) -> None:
    rewards = [Bernoulli(mean) for mean in means]
    problem = Problem(rewards, [data.draw(delays_for(reward)) for reward in rewards])
    assert_agree(problem, [UCB(confidence=0.5)], horizon=horizon, seed=seed, checkpoints=7)


def test_what_is_not_played_speculatively(monkeypatch: pytest.MonkeyPatch) -> None:
    """More arms than fit into a byte, other rewards than 0 and 1, delays longer than the largest packed wheel."""
    called = watch_loops(monkeypatch)
    for problem, horizon in (
        (Problem(bernoulli(65), Pareto(1)), 200),
        (Problem([Beta(2, 3), Bernoulli(0.5)], Pareto(1)), 200),
        (Problem(bernoulli(2), Uniform(0, 1 << 16)), 1 << 17),
    ):
        simulate(problem, [UCB()], horizon=horizon, runs=1)
    assert set(called) == {"play_wheel"}


def test_who_stays() -> None:
    """With an index that depends on pulls, or on how old feedback is, the choice changes without feedback."""
    assert {name for name, policy in POLICIES.items() if policy.changes_on_feedback_only} == {"UCB"}


@policy
class Wide(UCB):
    """UCB with c = 50, whatever its own is."""

    label = "Wide"

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return arm.total / max(arm.observed, 1.0) + math.sqrt(100.0 / max(arm.observed, 1.0))


@pytest.mark.parametrize("delays", [Fixed(3), Pareto(1)])
def test_a_users_upper_bound_is_the_index(delays: Any) -> None:
    problem = Problem(bernoulli(4), delays)
    pulls = simulate(problem, [Wide(confidence=1.0), UCB(confidence=50.0)], horizon=500, runs=3).pulls
    assert np.array_equal(pulls[0], pulls[1])


# ---- more feedback in a round than a bucket holds ----


CROWDED = Problem(bernoulli(64), [Fixed(100 - arm) for arm in range(64)])
"""The feedback of the first 64 rounds is all due at the end of round 101."""


@pytest.mark.parametrize("first", [99, 100, 101, 102])
def test_feedback_that_finds_its_bucket_full(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first of the rounds played at once, in the last, or in another."""
    assert set(assert_as_in_the_wheel(CROWDED, monkeypatch, checkpoints=[first, 3000])) == {"play_speculatively"}


def test_where_too_much_is_due_at_once_the_timing_wheel_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_wheel, "OVERFLOW", 55)  # the bucket takes eight
    assert assert_as_in_the_wheel(CROWDED, monkeypatch, workers=1)[:2] == ["play_speculatively", "play_wheel"]


@numba.njit  # type: ignore[untyped-decorator]
def _carry(wheel: Any, delays: Any, rounds: Any, stays: Any, known: Any, due: Any) -> Any:
    """Play ``rounds[i]`` rounds at once, of which ``stays[i]`` stay; fills in the feedback in the order of delivery and
    the rounds at whose end it is delivered. Feedback is the number of its round, modulo 127, plus 1."""
    now = 1
    count = 0
    for span in range(rounds.shape[0]):
        first = np.uint32(now)
        for step in range(rounds[span]):
            packed = packed_wheel.with_delay(np.uint32(1 + (now + step) % 127), delays[now + step], wheel.longest)
            wheel.packed[step] = packed
            if not packed_wheel.send(wheel, np.uint32(first + np.uint32(step)), packed):
                return -1
        size = np.uint32(rounds[span])
        end = packed_wheel.list_known(wheel, first, size)
        kept = np.uint32(stays[span])
        entry = 0
        while entry < end:
            after, until = packed_wheel.round_end(wheel, first, entry)
            if after > kept:
                break
            for number in range(entry, until):
                known[count] = wheel.known[number]
                due[count] = now + np.int64(after) - 1
                count += 1
            entry = until
        step = size
        while step > kept:
            step -= np.uint32(1)
            packed_wheel.unsend(wheel, np.uint32(first + step), wheel.packed[step])
        packed_wheel.drop(wheel, first, kept)
        now += np.int64(kept)
    return count


@numba.njit  # type: ignore[untyped-decorator]
def _cleared(wheel: Any) -> None:
    packed_wheel.clear(wheel)


@st.composite
def _carried(draw: Any) -> tuple[npt.NDArray[np.int64], list[int], list[int]]:
    """(delays of all rounds, rounds played at once, how many of these stay): now and then all are due together,
    or come never."""
    rounds = draw(st.lists(st.integers(1, LONGEST), min_size=1, max_size=30))
    stays = [draw(st.integers(1, size)) for size in rounds]
    last = sum(stays) + LONGEST
    delays = np.array([draw(st.sampled_from([0, 0, 1, 2, 5, EDGE - 7, EDGE, EDGE + 1, 1000])) for _ in range(last + 1)])
    together = draw(st.integers(0, 40))
    for number in range(together, min(together + draw(st.integers(0, 40)), last + 1)):
        delays[number] = max(together + EDGE - number, 0)
    return delays, rounds, stays


@examples(150)
@given(_carried())
def test_a_packed_wheel_carries_feedback_to_its_round(carried: Any) -> None:
    delays, rounds, stays = carried
    wheel = packed_wheel.allocate(EDGE, 1 << 20, LONGEST, LONGEST, np.zeros(packed_wheel.MAX_ARMS, np.uint64))
    _cleared(wheel)
    known, due = np.zeros(2000, np.int64), np.zeros(2000, np.int64)
    count = _carry(wheel, delays, np.array(rounds), np.array(stays), known, due)
    last = sum(stays)
    expected = sorted(
        (number + int(delays[number]), 1 + number % 127)
        for number in range(1, last + 1)
        if delays[number] <= int(wheel.longest) and number + delays[number] <= last
    )
    assert sorted(zip(due[:count].tolist(), known[:count].tolist(), strict=True)) == expected


@numba.njit  # type: ignore[untyped-decorator]
def _written(array: Any, start: Any, word: Any) -> Any:
    write_bytes(array, start, word)
    return byte_count(word)


@given(st.lists(st.integers(1, 255), max_size=8), st.integers(0, 8))
def test_words_are_short_lists(values: list[int], start: int) -> None:
    word = np.uint64(int.from_bytes(bytes(values), "little"))
    array = np.full(16, 7, np.uint8)
    assert _written(array, start, word) == len(values)
    assert array.tolist() == [7] * start + (values + [0] * 8)[:8] + [7] * (8 - start)
