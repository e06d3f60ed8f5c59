"""Problems and families of problems from plain data (laws of each arm, their short forms, numbers drawn for each run),
and as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from belated.delays import DelayLaw
from belated.errors import BelatedError, ConfigurationError, NotReproducible
from belated.problem import Family, Problem, support_of
from belated.registry import import_object
from belated.rewards import Bernoulli, RewardLaw
from belated.specs.laws import delay_spec, read_delay, read_reward, reward_spec
from belated.specs.tables import fmt, indexed, integer, mapping, reject_unknown, within
from belated.validation import Domain, check_range

MAX_ARMS = 1_000_000


def read_problem(data: Any, at: str = "problem") -> Problem | Family:
    """A problem or a family from plain data; errors name the key."""
    values = mapping(data, at, "a table with rewards and delays")
    if "family" in values:
        reject_unknown(values, ("family",), at, "A problem with a family of its own")
        return _imported_family(values["family"], f"{at}.family")
    reject_unknown(values, ("rewards", "delays", "reward_range"), at, "A problem")
    for key in ("rewards", "delays"):
        if key not in values:
            raise ConfigurationError(f"{at}.{key} is missing; a problem needs rewards and delays.")
    if _is_random(values):
        return DeclaredFamily(dict(values), at)
    laws = {key: read(values[key], f"{at}.{key}") for key, (read, _) in _READERS.items()}
    return _build_problem(laws["rewards"], laws["delays"], read_reward_range(values, at), at)


def read_reward_range(values: Mapping[str, Any], at: str) -> tuple[float, float] | None:
    """The range of rewards that a table states, as ``reward_range = [low, high]``."""
    if "reward_range" not in values:
        return None
    return check_range(f"{at}.reward_range", values["reward_range"], error=ConfigurationError, show=fmt)


def _build_problem(rewards: Any, delays: Any, reward_range: tuple[float, float] | None, at: str) -> Problem:
    try:
        return Problem(rewards, delays, reward_range=reward_range)
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error


def _imported_family(name: Any, at: str) -> Family:
    """A user's function, given as ``package.module:function``; it is called once, so that a mistake shows here."""
    try:
        family = import_object(str(name))
    except Exception as error:  # a user's module may fail in any way
        why = str(error) if isinstance(error, ImportError | AttributeError | ValueError) else repr(error)
        raise ConfigurationError(
            f"{at} is {fmt(name)}, which cannot be imported: {why}. Give 'package.module:function'."
        ) from error
    if not callable(family):
        raise ConfigurationError(f"{at} is {fmt(name)}, which is not a function. Give 'package.module:function'.")
    try:
        problem = family(np.random.default_rng(0))
    except Exception as error:
        why = str(error) if isinstance(error, BelatedError) else repr(error)
        raise ConfigurationError(f"{at} is {fmt(name)}, which failed when it was called: {why}") from error
    if not isinstance(problem, Problem):
        raise ConfigurationError(f"{at} is {fmt(name)}, which returned {problem!r}; it must return a Problem.")
    return family  # type: ignore[no-any-return]


# ---- arms: one reward law and one delay law for each ----


def _read_delays(data: Any, at: str) -> DelayLaw | list[DelayLaw]:
    if not isinstance(data, list) and not (isinstance(data, Mapping) and "repeat" in data):
        return read_delay(data, at)
    return [read_delay(law, key) for key, law in expand_repeats(data, at)]


def _read_rewards(data: Any, at: str) -> list[RewardLaw]:
    if isinstance(data, Mapping) and "law" not in data:
        return _from_gap(data, at)
    if isinstance(data, Mapping) and "repeat" not in data:
        raise ConfigurationError(
            f"{at} is one law, {fmt(data)}; give a list with one for each arm, or add repeat, the number of arms."
        )
    return [read_reward(law, key) for key, law in expand_repeats(data, at)]


def _from_gap(data: Mapping[str, Any], at: str) -> list[RewardLaw]:
    """Bernoulli arms, the first of which is best: its mean, the gap of the others (or a list of gaps), the number of
    arms."""
    example = "{best = 0.6, gap = 0.1, arms = 10}"
    reject_unknown(data, ("best", "gap", "arms"), at, f"{at} without a law, such as {example},")
    for key in ("best", "gap", "arms"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing; give best, gap and arms, such as {example}.")
    arms = integer(data["arms"], f"{at}.arms", 1, MAX_ARMS)
    gaps = data["gap"] if isinstance(data["gap"], list) else [data["gap"]] * (arms - 1)
    if len(gaps) != arms - 1:
        raise ConfigurationError(
            f"{at}.gap has {len(gaps)} gaps and arms is {arms}; give {arms - 1} gaps, or one number."
        )
    best = within(Domain(0.0, 1.0), data["best"], f"{at}.best")
    return [Bernoulli(best), *(Bernoulli(best - within(Domain(0.0, best), gap, f"{at}.gap")) for gap in gaps)]


def expand_repeats(data: Any, at: str) -> list[tuple[str, Any]]:
    """The law of each arm with its key; one with ``repeat = n`` counts n times."""
    if isinstance(data, Mapping) and "repeat" in data:
        return _copies(data, at)
    if not isinstance(data, list) or not data:
        example = '{law = "Bernoulli", mean = 0.5}' if at.endswith("rewards") else '{law = "Fixed", rounds = 200}'
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list with a law for each arm, such as [{example}].")
    return [copy for key, law in indexed(data, at) for copy in _copies(law, key)]


def _copies(law: Any, at: str) -> list[tuple[str, Any]]:
    if not isinstance(law, Mapping) or "repeat" not in law:
        return [(at, law)]
    count = integer(law["repeat"], f"{at}.repeat", 1, MAX_ARMS)
    return [(at, {key: value for key, value in law.items() if key != "repeat"})] * count


Reader = Callable[[Any, str], Any]

_READERS: dict[str, tuple[Reader, Reader]] = {
    "rewards": (_read_rewards, read_reward),
    "delays": (_read_delays, read_delay),
}
"""What reads each key of a problem, and what reads one law of it."""


# ---- families: some numbers are drawn again for each run ----


class DeclaredFamily:
    """A family of problems declared as data: numbers given as ``{"uniform": [low, high]}`` are drawn again for each
    run.

    >>> family = DeclaredFamily({"rewards": {"law": "Bernoulli", "mean": {"uniform": [0.25, 0.75]}, "repeat": 3},
    ...                          "delays": {"law": "Fixed", "rounds": 200}})
    >>> family(np.random.default_rng(0)).arms
    3
    """

    def __init__(self, data: dict[str, Any], at: str = "problem") -> None:
        self.data = data
        self._at = at
        self._reward_range = read_reward_range(data, at)
        self._samplers = {key: _sampler(data[key], f"{at}.{key}", *readers) for key, readers in _READERS.items()}
        for generator in (_At(0.0), _At(1.0), np.random.default_rng(0)):  # a mistake shows here, not in some late run
            self(generator)

    def __call__(self, rng: Generator) -> Problem:
        """Draw a problem of the family."""
        laws = {key: sample(rng) for key, sample in self._samplers.items()}
        return _build_problem(laws["rewards"], laws["delays"], self._reward_range, self._at)

    def at(self, position: float) -> Problem:
        """The problem whose drawn numbers all have this position in their ranges: 0 is the low end, 1 the high end."""
        return self(_At(position))


class _At:
    """Stands in for a generator: draws the same position of every range."""

    def __init__(self, position: float) -> None:
        self._position = position

    def random(self) -> float:
        return self._position

    def integers(self, low: int, high: int, endpoint: bool) -> int:
        return round(low + (high - low) * self._position)


Generator = np.random.Generator | _At
Sampler = Callable[[Generator], Any]


def _sampler(data: Any, at: str, read: Reader, read_law: Reader) -> Sampler:
    """A function that draws the laws of the data; fast, since each run calls it."""
    if _is_random(data) and (isinstance(data, list) or "repeat" in data):
        expanded = expand_repeats(data, at)
        samplers = {id(law): _law_sampler(law, key, read_law) for key, law in expanded}  # copies of a law share one
        each = [samplers[id(law)] for _, law in expanded]
        return lambda rng: [sample(rng) for sample in each]
    return _law_sampler(data, at, read)


def _law_sampler(data: Any, at: str, read: Reader) -> Sampler:
    """A function that draws one law; a law of plain numbers is then built without reading the data again."""
    first = read(_sampled(data, _At(0.0), at), at)
    if not _is_random(data):
        return lambda _: first
    values = {key: value for key, value in data.items() if key != "law"}
    cls = type(first)
    plain = all(isinstance(value, int | float | str) or _is_range(value) for value in values.values())
    if not plain or not is_dataclass(cls) or not set(values) <= {field.name for field in fields(cls)}:
        return lambda rng: read(_sampled(data, rng, at), at)
    ranges = [(key, value["uniform"]) for key, value in values.items() if isinstance(value, Mapping)]
    fixed = {key: value for key, value in values.items() if not isinstance(value, Mapping)}

    def sample(rng: Generator) -> Any:
        drawn = {key: _uniform(ends, rng) for key, ends in ranges}
        try:
            return cls(**fixed, **drawn)
        except BelatedError as error:
            raise ConfigurationError(f"{at}: {error}") from error

    return sample


def _is_range(data: Any) -> bool:
    return isinstance(data, Mapping) and set(data) == {"uniform"}


def _is_random(data: Any) -> bool:
    """Whether some number in the data is drawn."""
    if isinstance(data, Mapping):
        return _is_range(data) or any(_is_random(value) for value in data.values())
    return isinstance(data, list) and any(_is_random(value) for value in data)


def _sampled(data: Any, rng: Generator, at: str) -> Any:
    """The data with every ``{"uniform": [low, high]}`` drawn, in order."""
    if isinstance(data, Mapping):
        if _is_range(data):
            return _uniform(_ends(data["uniform"], f"{at}.uniform"), rng)
        if {"best", "gap", "arms"} <= set(data) and _is_range(data["gap"]):
            arms = integer(data["arms"], f"{at}.arms", 1, MAX_ARMS)
            gaps = [_sampled(data["gap"], rng, f"{at}.gap") for _ in range(arms - 1)]
            return {**data, "best": _sampled(data["best"], rng, f"{at}.best"), "gap": gaps}
        return {key: _sampled(value, rng, f"{at}.{key}") for key, value in data.items()}
    if isinstance(data, list):
        return [_sampled(value, rng, key) for key, value in indexed(data, at)]
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
    return list(ends)


def _uniform(ends: list[Any], rng: Generator) -> float | int:
    """A number between two ends; a whole one, both ends included, where both are whole and not written as decimals."""
    low, high = ends
    if isinstance(low, int) and isinstance(high, int):
        return int(rng.integers(low, high, endpoint=True))
    return float(min(low + (high - low) * rng.random(), high))


# ---- as plain data ----


def problem_spec(problem: Problem | Family) -> dict[str, Any]:
    """A problem or a family as plain data; ``{"unknown": why}`` where it cannot be written down."""
    if isinstance(problem, DeclaredFamily):
        return dict(problem.data)
    try:
        if not isinstance(problem, Problem):
            return {"family": _name_of(problem)}
        stated = problem.scale != support_of(problem.rewards)
        return {
            "rewards": [reward_spec(law) for law in problem.rewards],
            "delays": [delay_spec(d, r) for d, r in zip(problem.delays, problem.rewards_on_scale, strict=True)],
            **({"reward_range": list(problem.scale)} if stated else {}),
        }
    except NotReproducible as error:
        return {"unknown": str(error)}


def _name_of(function: Callable[..., Any]) -> str:
    """``module:name`` of a function that another process can import."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        raise NotReproducible(f"the family {name or function!r} is defined in no module that can be imported.")
    return f"{module}:{name}"
