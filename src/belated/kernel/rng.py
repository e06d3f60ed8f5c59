"""Counter-based randomness: a draw is a pure function of where it is drawn.

A *word* is 64 random bits, computed from a 128-bit key and a 64-bit counter by three rounds of multiply and xor-shift.
The environment's word of a pull has the counter (arm, how often the arm was pulled before) under the key of (seed,
run); the policy's own words have the counter (round, j) under another key of (seed, run). So a result depends on no
thread, chunk or machine, all policies of a run meet the same rewards and delays, and any run can be played alone.

>>> a, b = run_key(seed_words(7)[0], seed_words(7)[1], 3)
>>> bool(word(a, b, 0, 0) == word(a, b, 0, 0)), bool(word(a, b, 0, 0) == word(a, b, 0, 1))
(True, False)
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline
from belated.validation import check_integer

_WEYL = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, odd
_MIX_1 = np.uint64(0xD6E8FEB86659FD93)
_MIX_2 = np.uint64(0xA5CB9243F18DC1C3)
_MIX_3 = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX_4 = np.uint64(0x9FB21C651E98DF25)
_12 = np.uint64(12)
_29 = np.uint64(29)
_31 = np.uint64(31)
_32 = np.uint64(32)
_HALF_STEP = 2.0**-52


@inline
def mix(z: Any) -> Any:
    """A bijection of 64 bits in which every bit of the input moves about half of the output's."""
    z = (z ^ (z >> _32)) * _MIX_1
    z = (z ^ (z >> _29)) * _MIX_2
    return z ^ (z >> _32)


@inline
def word(key_a: Any, key_b: Any, high: Any, low: Any) -> Any:
    """The 64 random bits at counter (high, low), both below 2^32, under a 128-bit key."""
    z = ((np.uint64(high) << _32) | np.uint64(low)) * _WEYL + key_a
    z = (z ^ (z >> _32)) * _MIX_1
    z = ((z ^ (z >> _29)) + key_b) * _MIX_2
    z = (z ^ (z >> _32)) * _MIX_3
    return z ^ (z >> _31)


@inline
def two_words(key_a: Any, key_b: Any, high: Any, low: Any) -> Any:
    """(``word``, another one) at the same counter: for the reward and the delay of a pull, neither waiting for the
    other."""
    z = ((np.uint64(high) << _32) | np.uint64(low)) * _WEYL + key_a
    z = (z ^ (z >> _32)) * _MIX_1
    z = ((z ^ (z >> _29)) + key_b) * _MIX_2
    first = (z ^ (z >> _32)) * _MIX_3
    second = (z ^ (z >> _31)) * _MIX_4
    return first ^ (first >> _31), second ^ (second >> _32)


@inline
def next_word(z: Any) -> Any:
    """The word after ``z`` in the sequence that a word starts, for draws that need more than one."""
    return mix(z + _WEYL)


@inline
def to_unit(z: Any) -> Any:
    """A word as a number strictly between 0 and 1: the middles of 2^52 equal cells."""
    return (np.int64(z >> _12) + 0.5) * _HALF_STEP


@inline
def run_key(seed_a: Any, seed_b: Any, run: Any) -> Any:
    """The 128-bit key of one run from the two words of a seed."""
    step = np.uint64(run) * _WEYL
    return mix(mix(seed_a + step) ^ seed_b), mix(mix(seed_b - step) + seed_a)


def seed_words(seed: int) -> npt.NDArray[np.uint64]:
    """Four well-mixed words of a seed: two for the environment, two for the policies."""
    return np.random.SeedSequence(check_seed(seed)).generate_state(4, np.uint64).astype(np.uint64)


def family_generator(seed: int, run: int) -> np.random.Generator:
    """The generator from which a family of problems draws the problem of one run."""
    return np.random.default_rng(np.random.SeedSequence(check_seed(seed), spawn_key=(run,)))


def fresh_seed() -> int:
    """A seed from the operating system's entropy; small enough for every reader of JSON."""
    return secrets.randbelow(2**53)


def check_seed(seed: int) -> int:
    """Check that a seed is a whole number >= 0, of any size."""
    return check_integer("seed", seed, 0)
