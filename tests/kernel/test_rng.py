"""Random streams: independent between runs, arms, pulls, seeds, rewards and delays, environment and policy.

All seeds are fixed, so the tests are deterministic; thresholds are the 1e-4 tails of exact or chi-square laws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from belated.errors import BelatedError, InvalidParameter
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.rng import family_generator, next_word, run_key, seed_words, to_unit, two_words, word

Words = npt.NDArray[np.uint64]
SIZE = 1 << 16
WEYL = 0x9E3779B97F4A7C15
RARE = 1e-4


@entry
def _words(seed: Any, own: Any, run: Any, high: Any, low: Any, out: Any) -> None:
    """The words of (run, high, low), each an array or one number for all, of a seed."""
    for place in range(out.shape[0]):
        r, h, n = run[place % run.shape[0]], high[place % high.shape[0]], low[place % low.shape[0]]
        key_a, key_b = run_key(seed[2 * own], seed[2 * own + 1], r)
        out[place] = word(key_a, key_b, h, n)


@entry
def _twins(seed: Any, run: Any, high: Any, low: Any, first: Any, second: Any) -> None:
    """The words of the reward and of the delay of pulls."""
    for place in range(first.shape[0]):
        r, h, n = run[place % run.shape[0]], high[place % high.shape[0]], low[place % low.shape[0]]
        key_a, key_b = run_key(seed[0], seed[1], r)
        first[place], second[place] = two_words(key_a, key_b, h, n)


@entry
def _following(words: Any, out: Any) -> None:
    for place in range(out.shape[0]):
        out[place] = next_word(words[place])


@entry
def _keyed(key_a: Any, key_b: Any, high: Any, low: Any, out: Any) -> None:
    for place in range(out.shape[0]):
        out[place] = word(key_a[place], key_b[place], high[place], low[place])


def words(*, seed: int = 0, own: int = 0, run: Any = 0, high: Any = 0, low: Any = 0, size: int = SIZE) -> Words:
    """Words at counters (high, low) of runs: by default one place; arrays are repeated to the size."""
    out = np.zeros(size, np.uint64)
    places = (np.atleast_1d(np.asarray(place, np.int64)) for place in (run, high, low))
    with ignore_overflow():
        _words(seed_words(seed), own, *places, out)
    return out


def twins(*, seed: int = 0, run: Any = 0, high: Any = 0, low: Any = 0, size: int = SIZE) -> tuple[Words, Words]:
    """The words from which the rewards and the delays of pulls are drawn."""
    first, second = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    places = (np.atleast_1d(np.asarray(place, np.int64)) for place in (run, high, low))
    with ignore_overflow():
        _twins(seed_words(seed), *places, first, second)
    return first, second


def next_words(given: Words) -> Words:
    """The words after ``given``, for draws that need more than one."""
    out = np.zeros_like(given)
    with ignore_overflow():
        _following(given, out)
    return out


def over_seeds(seeds: list[int], **place: Any) -> Words:
    """The words at a place under many seeds."""
    return np.concatenate([words(seed=seed, size=64, low=np.arange(64), **place) for seed in seeds])


COUNT = np.arange(SIZE)


@cache
def ranks() -> Words:
    """The words of the rewards of an arm's pulls."""
    return twins(low=COUNT)[0]


@cache
def delays() -> Words:
    """The words of the delays of an arm's pulls."""
    return twins(low=COUNT)[1]


ACROSS = np.repeat(np.arange(SIZE // 128), 128)
FEW = list(range(SIZE // 64))
SHIFTED = [(seed * WEYL) % 2**64 for seed in range(len(FEW) + 1)]

# Pairs of streams that could be related, and must not be.
STREAMS: dict[str, Callable[[], tuple[Words, Words]]] = {
    "a pull and the next": lambda: (ranks()[:-1], ranks()[1:]),
    "a pull and the one after the next": lambda: (ranks()[:-2], ranks()[2:]),
    "a pull and the 64th after": lambda: (ranks()[:-64], ranks()[64:]),
    "an arm and the next": lambda: (ranks(), words(high=1, low=COUNT)),
    "arms far apart": lambda: (ranks(), words(high=65536, low=COUNT)),
    "arm and pull swapped": lambda: (
        words(high=COUNT % 300, low=COUNT // 300),
        words(high=COUNT // 300, low=COUNT % 300),
    ),
    "many arms, a pull and the next": lambda: (words(high=COUNT, low=0), words(high=COUNT, low=1)),
    "neighbours among many arms": lambda: (words(high=COUNT, low=0), words(high=COUNT + 1, low=0)),
    "a run and the next": lambda: (words(run=ACROSS, low=COUNT), words(run=ACROSS + 1, low=COUNT)),
    "the first pulls of a run and the next": lambda: (words(run=COUNT), words(run=COUNT + 1)),
    "runs far apart": lambda: (words(run=COUNT), words(run=COUNT + 2**20)),
    "a run's pull and the next run's pull before": lambda: (words(run=COUNT, low=1), words(run=COUNT + 1, low=0)),
    "a seed and the next": lambda: (over_seeds(FEW), over_seeds([seed + 1 for seed in FEW])),
    "seeds that differ in a high bit": lambda: (over_seeds(FEW), over_seeds([seed + 2**63 for seed in FEW])),
    "seeds at multiples of the Weyl constant": lambda: (over_seeds(SHIFTED[:-1]), over_seeds(SHIFTED[1:])),
    "a seed's run and the next seed's run before": lambda: (
        over_seeds(FEW, run=1),
        over_seeds([s + 1 for s in FEW], run=0),
    ),
    "rewards and delays": lambda: (ranks(), delays()),
    "rewards and delays of many runs": lambda: twins(run=COUNT),
    "rewards and delays of many arms": lambda: twins(high=COUNT),
    "a delay and the next reward": lambda: (delays()[:-1], ranks()[1:]),
    "a reward and the next delay": lambda: (ranks()[:-1], delays()[1:]),
    "a delay and the next": lambda: (delays()[:-1], delays()[1:]),
    "delays of an arm and the next": lambda: (delays(), twins(high=1, low=COUNT)[1]),
    "delays of a run and the next": lambda: (twins(run=COUNT)[1], twins(run=COUNT + 1)[1]),
    "a reward's word and the word after it": lambda: (ranks(), next_words(ranks())),
    "a delay and the word after the reward's": lambda: (delays(), next_words(ranks())),
    "words after neighbours": lambda: (next_words(ranks())[:-1], next_words(ranks())[1:]),
    "environment and policy": lambda: (ranks(), words(own=1, low=COUNT)),
    "environment and policy, place by place": lambda: (words(high=0, low=COUNT), words(own=1, high=COUNT, low=0)),
    "a policy's numbers in a round": lambda: (words(own=1, high=COUNT, low=0), words(own=1, high=COUNT, low=1)),
    "a policy's rounds": lambda: (words(own=1, high=COUNT, low=0), words(own=1, high=COUNT + 1, low=0)),
    "a policy in a run and the next": lambda: (words(own=1, run=COUNT, high=1), words(own=1, run=COUNT + 1, high=1)),
}


@cache
def stream(name: str) -> tuple[Words, Words]:
    """Two streams by their name."""
    return STREAMS[name]()


def flat_bits(given: Words) -> npt.NDArray[np.uint8]:
    """(64, N) the bits of N words."""
    return np.unpackbits(given.view(np.uint8).reshape(-1, 8), axis=1).T


def packed(bits: npt.NDArray[np.uint8]) -> Words:
    """Rows of bits as rows of words, filled up with zeros."""
    rows = np.packbits(bits, axis=1)
    filled = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8)))
    return np.ascontiguousarray(filled).view(np.uint64)


def scores(x: npt.NDArray[np.uint8], y: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """N times the squared correlation of each row of bits with each: chi-square with one degree of freedom."""
    size = x.shape[1]
    other = packed(y)
    differ = np.array([np.bitwise_count(row ^ other).sum(axis=1, dtype=np.int64) for row in packed(x)])
    return (size - 2.0 * differ) ** 2 / size


def unit(given: Words) -> npt.NDArray[np.float64]:
    """Words as numbers in (0, 1), by the definition: the middles of 2^52 cells."""
    return ((given >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def two_sided(statistic: float, law: Any) -> float:
    """A p-value that is small for too much and for too little."""
    return float(2.0 * min(law.cdf(statistic), law.sf(statistic)))


pairs = pytest.mark.parametrize("name", list(STREAMS))


@pairs
def test_no_bit_of_one_tells_a_bit_of_the_other(name: str) -> None:
    """64 x 64 correlations."""
    x, y = stream(name)
    found = scores(flat_bits(x), flat_bits(y))
    assert two_sided(found.sum(), scipy.stats.chi2(64 * 64)) > RARE
    assert 64 * 64 * scipy.stats.chi2(1).sf(found.max()) > RARE


@pairs
def test_pairs_fill_the_square_evenly(name: str) -> None:
    """64 x 64 cells of the two uniforms."""
    x, y = stream(name)
    cells = np.histogram2d(unit(x), unit(y), bins=64, range=((0, 1), (0, 1)))[0]
    expected = len(x) / cells.size
    assert two_sided(((cells - expected) ** 2 / expected).sum(), scipy.stats.chi2(cells.size - 1)) > RARE


@pairs
def test_each_is_uniform(name: str) -> None:
    for given in stream(name):
        assert scipy.stats.kstest(unit(given), "uniform").pvalue > RARE
        ones = (2.0 * flat_bits(given).sum(axis=1, dtype=np.int64) - len(given)) ** 2 / len(given)
        assert two_sided(ones.sum(), scipy.stats.chi2(64)) > RARE


@pairs
def test_linear_correlation(name: str) -> None:
    x, y = stream(name)
    z = np.corrcoef(unit(x), unit(y))[0, 1] * np.sqrt(len(x))
    assert 2.0 * scipy.stats.norm.sf(abs(z)) > RARE


def test_runs_of_a_seed_together_are_uniform_in_three_dimensions() -> None:
    """The first reward, delay and second reward of each run, on 16^3 cells."""
    first, delay = twins(run=COUNT)
    points = np.stack([unit(first), unit(delay), unit(words(run=COUNT, low=1))], axis=1)
    cells = np.histogramdd(points, bins=16, range=[(0, 1)] * 3)[0]
    expected = len(points) / cells.size
    assert two_sided(((cells - expected) ** 2 / expected).sum(), scipy.stats.chi2(cells.size - 1)) > RARE


def test_rewards_and_delays_share_no_parity_of_bits() -> None:
    """Every exclusive-or of two bits of a reward's word against every one of two bits of the delay's."""
    size = 1 << 12
    one, other = np.triu_indices(64, 1)
    reward, delay = (flat_bits(given) for given in twins(low=np.arange(size), size=size))
    found = scores(reward[one] ^ reward[other], delay[one] ^ delay[other])
    assert found.size * scipy.stats.chi2(1).sf(found.max()) > RARE


def test_rewards_and_delays_fill_a_fine_square_evenly() -> None:
    size = 1 << 20
    reward, delay = twins(run=np.arange(size) // 64, low=np.arange(size) % 64, size=size)
    for shift in (0, 20, 55):  # the lowest bits, those in the middle, the highest
        cells = ((reward >> np.uint64(shift)) % np.uint64(512)) * np.uint64(512) + (
            delay >> np.uint64(shift)
        ) % np.uint64(512)
        counts = np.bincount(cells.astype(np.int64), minlength=512 * 512)
        expected = size / 512**2
        assert two_sided(((counts - expected) ** 2 / expected).sum(), scipy.stats.chi2(512**2 - 1)) > RARE


def test_the_first_of_two_words_is_the_word() -> None:
    assert np.array_equal(twins(run=COUNT, high=3, low=COUNT)[0], words(run=COUNT, high=3, low=COUNT))


def test_no_two_places_share_a_word() -> None:
    """A million words of runs x arms x pulls and of several seeds: 1e-8 collisions expected."""
    grid = [
        words(seed=seed, own=own, run=COUNT // 4096, high=COUNT // 64 % 64, low=COUNT % 64)
        for seed in (0, 1, 2**64, WEYL, 2 * WEYL % 2**64, 7, 8, 10**30)
        for own in (0, 1)
    ]
    together = np.concatenate([*grid, twins(run=COUNT // 4096, high=COUNT // 64 % 64, low=COUNT % 64)[1]])
    assert len(np.unique(together)) == len(together)


@pytest.mark.parametrize("shift", [0, 32])
def test_collisions_of_half_words_are_as_many_as_chance_has(shift: int) -> None:
    """2^20 words cut to 32 bits: the number of coincidences is Poisson with mean 128."""
    many = words(run=np.arange(2**20) // 1024, high=np.arange(2**20) // 32 % 32, low=np.arange(2**20) % 32, size=2**20)
    halves = (many >> np.uint64(shift)).astype(np.uint32)
    assert two_sided(2**20 - len(np.unique(halves)), scipy.stats.poisson(128)) > RARE


def avalanche(change: Any) -> npt.NDArray[np.float64]:
    """(64 input bits, 64 output bits): how often an output bit flips with an input bit, in 4096 trials."""
    rng = np.random.default_rng(11)
    keys = rng.integers(0, 2**64, (2, 4096), dtype=np.uint64)
    counter = rng.integers(0, 2**64, 4096, dtype=np.uint64)
    flips = np.zeros((64, 64))
    for bit in range(64):
        flip = np.uint64(1 << bit)
        both = [np.zeros(4096, np.uint64), np.zeros(4096, np.uint64)]
        for out, (a, b, c) in zip(both, ((*keys, counter), change(*keys, counter, flip)), strict=True):
            with ignore_overflow():
                _keyed(a, b, (c >> np.uint64(32)).astype(np.int64), (c & np.uint64(2**32 - 1)).astype(np.int64), out)
        flips[bit] = flat_bits(both[0] ^ both[1]).sum(axis=1)
    return flips


@pytest.mark.parametrize(
    "change",
    [lambda a, b, c, flip: (a, b, c ^ flip), lambda a, b, c, flip: (a ^ flip, b, c)],
    ids=["counter", "first key"],
)
def test_avalanche(change: Any) -> None:
    """Flipping any bit of the counter or the key flips every bit of the word half of the time."""
    found = (avalanche(change) - 2048) ** 2 / 1024
    assert found.sum() < scipy.stats.chi2(64 * 64).isf(RARE)
    assert 64 * 64 * scipy.stats.chi2(1).sf(found.max()) > RARE


def test_avalanche_of_the_run_and_the_seed() -> None:
    """Flipping any bit of the run's number, or of the seed, changes half of a word's bits on the average."""
    base = np.arange(1024)
    before = words(run=base, size=1024)
    for bit in range(31):
        changed = flat_bits(before ^ words(run=base ^ (1 << bit), size=1024))
        assert two_sided(changed.sum(), scipy.stats.binom(64 * 1024, 0.5)) > RARE, f"bit {bit} of the run"
    for bit in (0, 1, 31, 32, 63, 64, 200):
        changed = flat_bits(words(low=base, size=1024) ^ words(seed=1 << bit, low=base, size=1024))
        assert two_sided(changed.sum(), scipy.stats.binom(64 * 1024, 0.5)) > RARE, f"bit {bit} of the seed"


@pytest.mark.parametrize(("first", "second"), [(1, 0), (0, -1), (1, -1)])
def test_runs_of_shifted_seed_words_are_no_shifted_copies(first: int, second: int) -> None:
    """Even where the mixed words of two seeds differ by the generator's own increment."""
    seed = seed_words(0).tolist()
    moved = np.array([(seed[0] + first * WEYL) % 2**64, (seed[1] + second * WEYL) % 2**64, 0, 0], np.uint64)
    one, other = np.zeros(SIZE, np.uint64), np.zeros(SIZE, np.uint64)
    none = np.zeros(1, np.int64)
    with ignore_overflow():
        _words(np.array(seed, np.uint64), 0, COUNT + 1, none, none, one)
        _words(moved, 0, COUNT, none, none, other)
    found = scores(flat_bits(one), flat_bits(other))
    assert two_sided(found.sum(), scipy.stats.chi2(64 * 64)) > RARE
    assert len(np.unique(np.concatenate([one, other]))) == 2 * SIZE


@pytest.mark.parametrize("given", [0, 1, 2**12 - 1, 2**12, 2**63, 2**64 - 1])
def test_uniform_is_strictly_inside(given: int) -> None:
    with ignore_overflow():
        found = float(to_unit(np.uint64(given)))
    assert 0.0 < found < 1.0
    assert found == ((given >> 12) + 0.5) / 2**52


def test_the_bits_are_those_of_the_first_release() -> None:
    """A change of these numbers changes every result: it needs a new major version."""
    rewards, delays = twins(low=np.arange(3), size=3)
    later = words(seed=2**70, own=1, run=5, high=3, low=np.arange(2), size=2)
    found = [f"{value:016x}" for value in np.concatenate([rewards, delays, later]).tolist()]
    assert found == GOLDEN


GOLDEN = [
    "c5fa398612177d44",
    "72b0b11a84f0d1a9",
    "a8eb1ad1e965113b",
    "6f1a369dc02f1e9b",
    "106f073bc523afd7",
    "c1db2e628f3893a0",
    "67e03772b74c92bb",
    "64e27fd70527677f",
]


# ---- families and seeds ----


def test_generators_of_a_family_are_independent_between_runs_and_seeds() -> None:
    one = np.array([family_generator(0, run).random(16) for run in range(2000)])
    other = np.array([family_generator(1, run).random(16) for run in range(2000)])
    assert len(np.unique(one)) == one.size
    for x, y in ((one[:-1], one[1:]), (one, other), (one[:-1], other[1:]), (one[:, :-1], one[:, 1:])):
        z = np.corrcoef(x.ravel(), y.ravel())[0, 1] * np.sqrt(x.size)
        assert 2.0 * scipy.stats.norm.sf(abs(z)) > RARE
    assert scipy.stats.kstest(one.ravel(), "uniform").pvalue > RARE


def test_problems_of_a_family_do_not_depend_on_the_rewards_drawn() -> None:
    drawn = np.array([family_generator(3, run).random() for run in range(20_000)])
    rewards = unit(words(seed=3, run=np.arange(20_000), size=20_000))
    z = np.corrcoef(drawn, rewards)[0, 1] * np.sqrt(20_000)
    assert 2.0 * scipy.stats.norm.sf(abs(z)) > RARE


@pytest.mark.parametrize("seed", [-1, 1.0, "0", None, True, float("nan")])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(InvalidParameter, match="seed") as caught:
        seed_words(seed)
    assert isinstance(caught.value, BelatedError)
    assert isinstance(caught.value, ValueError)
    assert repr(seed) in str(caught.value)
