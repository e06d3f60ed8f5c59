"""Families of problems that are declared as data: some numbers are drawn anew for each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from belated.errors import BelatedError, ConfigurationError
from belated.problem import Problem
from belated.specs.arms import MOST_ARMS, READERS, build_problem, expand_repeats
from belated.specs.tables import fmt, integer


class DeclaredFamily:
    """A family of problems that is declared as data: numbers given as ``{"uniform": [low, high]}`` are drawn anew for
    each run.

    >>> family = DeclaredFamily({"rewards": {"law": "Bernoulli", "mean": {"uniform": [0.25, 0.75]}, "repeat": 3},
    ...                          "delays": {"law": "Fixed", "rounds": 200}})
    >>> family(np.random.default_rng(0)).arms
    3
    """

    def __init__(self, data: dict[str, Any], at: str = "problem") -> None:
        self.data = data
        self._at = at
        self._makers = {key: _maker(data[key], f"{at}.{key}", READERS[key]) for key in ("rewards", "delays")}
        for generator in (_End(0), _End(1), np.random.default_rng(0)):  # a mistake shows here, not in some late run
            self(generator)

    def __call__(self, rng: Generator) -> Problem:
        """A problem of the family."""
        drawn = {key: make(rng) for key, make in self._makers.items()}
        return build_problem(drawn["rewards"], drawn["delays"], self._at)


class _End:
    """In place of a generator: draws one end of every range."""

    def __init__(self, end: int) -> None:
        self._end = end

    def random(self) -> float:
        return float(self._end)

    def integers(self, low: int, high: int, endpoint: bool) -> int:
        return (low, high)[self._end]


Generator = np.random.Generator | _End


def _maker(data: Any, at: str, read: Callable[[Any, str], Any]) -> Callable[[Generator], Any]:
    """A function that draws what the data says: as fast as may be, since each run calls it."""
    if not is_random(data):
        once = read(data, at)
        return lambda _: once
    if isinstance(data, list) or "repeat" in data:
        read_law = READERS[f"{at.rpartition('.')[2]}[]"]
        laws = expand_repeats(data, at)
        makers = {id(law): _law_maker(law, key, read_law) for key, law in laws}  # copies of a law share its maker
        each = [makers[id(law)] for _, law in laws]
        return lambda rng: [make(rng) for make in each]
    return lambda rng: read(_sampled(data, rng, at), at)


def _law_maker(data: Any, at: str, read: Callable[[Any, str], Any]) -> Callable[[Generator], Any]:
    """The same for one law; after the first draw, a law of plain numbers is made without reading the data again."""
    if not is_random(data):
        once = read(data, at)
        return lambda _: once
    plain = isinstance(data, Mapping) and all(
        isinstance(value, int | float | str) or _is_range(value) for value in data.values()
    )
    if not plain:
        return lambda rng: read(_sampled(data, rng, at), at)
    law = type(read(_sampled(data, _End(0), at), at))
    values = {key: value for key, value in data.items() if key != "law"}
    ranges = [(key, value["uniform"]) for key, value in values.items() if isinstance(value, Mapping)]
    given = {key: value for key, value in values.items() if not isinstance(value, Mapping)}

    def make(rng: Generator) -> Any:
        drawn = {key: _uniform(ends, rng) for key, ends in ranges}
        try:
            return law(**given, **drawn)
        except BelatedError as error:
            raise ConfigurationError(f"{at}: {error}") from error

    return make


def _is_range(data: Any) -> bool:
    return isinstance(data, Mapping) and set(data) == {"uniform"}


def is_random(data: Any) -> bool:
    """Whether some number in the data is drawn."""
    if isinstance(data, Mapping):
        return _is_range(data) or any(is_random(value) for value in data.values())
    return isinstance(data, list) and any(is_random(value) for value in data)


def _sampled(data: Any, rng: Generator, at: str) -> Any:
    """The data with every ``{"uniform": [low, high]}`` drawn, in order."""
    if isinstance(data, Mapping):
        if _is_range(data):
            return _uniform(_ends(data["uniform"], f"{at}.uniform"), rng)
        if {"best", "gap", "arms"} <= set(data) and _is_range(data["gap"]):
            arms = integer(data["arms"], f"{at}.arms", 1, MOST_ARMS)
            gaps = [_sampled(data["gap"], rng, f"{at}.gap") for _ in range(arms - 1)]
            return {**data, "best": _sampled(data["best"], rng, f"{at}.best"), "gap": gaps}
        return {key: _sampled(value, rng, f"{at}.{key}") for key, value in data.items()}
    if isinstance(data, list):
        return [_sampled(value, rng, f"{at}[{place}]") for place, value in enumerate(data)]
    return data


def _ends(ends: Any, at: str) -> list[Any]:
    good = (
        isinstance(ends, list)
        and len(ends) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
        and all(math.isfinite(end) and abs(end) < 2**62 for end in ends)
    )
    if not good or not ends[0] <= ends[1]:
        raise ConfigurationError(f"{at} is {fmt(ends)}; give [low, high] with low <= high.")
    found: list[Any] = ends
    return found


def _uniform(ends: list[Any], rng: Generator) -> float | int:
    """A number between two ends; a whole one, both ends included, where both are whole and not written as decimals."""
    low, high = ends
    if isinstance(low, int) and isinstance(high, int):
        return int(rng.integers(low, high, endpoint=True))
    return float(min(low + (high - low) * rng.random(), high))
