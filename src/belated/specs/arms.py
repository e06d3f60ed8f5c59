"""Reading the arms of a problem: one reward law and one delay law for each, and the short forms of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from belated.delays._base import DelayLaw
from belated.errors import BelatedError, ConfigurationError
from belated.problem import Problem
from belated.rewards import Bernoulli
from belated.rewards._base import RewardLaw
from belated.specs.laws import read_delay, read_reward
from belated.specs.tables import fmt, integer, reject_unknown
from belated.validation import Domain, check_number

MOST_ARMS = 1_000_000


def build_problem(rewards: Any, delays: Any, at: str) -> Problem:
    """The problem of these laws."""
    try:
        return Problem(rewards, delays)
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error


def _read_delays(data: Any, at: str) -> DelayLaw | list[DelayLaw]:
    if not isinstance(data, list) and not (isinstance(data, Mapping) and "repeat" in data):
        return read_delay(data, at)
    return [read_delay(law, key) for key, law in expand_repeats(data, at)]


def _read_rewards(data: Any, at: str) -> list[RewardLaw]:
    if isinstance(data, Mapping) and "law" not in data:
        return from_gap(data, at)
    if isinstance(data, Mapping) and "repeat" not in data:
        raise ConfigurationError(
            f"{at} is one law, {fmt(data)}; give a list with one for each arm, or add repeat, the number of arms."
        )
    return [read_reward(law, key) for key, law in expand_repeats(data, at)]


def from_gap(data: Mapping[str, Any], at: str) -> list[RewardLaw]:
    """Bernoulli arms of which the first is best: its mean, the gap of the others (or a list of gaps), the number of
    arms."""
    example = "{best = 0.6, gap = 0.1, arms = 10}"
    reject_unknown(data, ("best", "gap", "arms"), at, f"{at} without a law, such as {example},")
    for key in ("best", "gap", "arms"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing; give best, gap and arms, such as {example}.")
    arms = integer(data["arms"], f"{at}.arms", 1, MOST_ARMS)
    gaps = data["gap"] if isinstance(data["gap"], list) else [data["gap"]] * (arms - 1)
    if len(gaps) != arms - 1:
        raise ConfigurationError(
            f"{at}.gap has {len(gaps)} gaps and arms is {arms}; give {arms - 1} gaps, or one number."
        )
    best = _number(data["best"], f"{at}.best", 0.0, 1.0)
    return [Bernoulli(best), *(Bernoulli(best - _number(gap, f"{at}.gap", 0.0, best)) for gap in gaps)]


def _number(value: Any, at: str, low: float, high: float) -> float:
    return check_number(at, value, Domain(low, high), error=ConfigurationError, show=fmt)


def expand_repeats(data: Any, at: str) -> list[tuple[str, Any]]:
    """The law of each arm with the key at which it stands; one with ``repeat = n`` counts n times."""
    if isinstance(data, Mapping) and "repeat" in data:
        return _copies(data, at)
    if not isinstance(data, list) or not data:
        example = '{law = "Bernoulli", mean = 0.5}' if at.endswith("rewards") else '{law = "Fixed", rounds = 200}'
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list with a law for each arm, such as [{example}].")
    return [copy for place, law in enumerate(data) for copy in _copies(law, f"{at}[{place}]")]


def _copies(law: Any, at: str) -> list[tuple[str, Any]]:
    if not isinstance(law, Mapping) or "repeat" not in law:
        return [(at, law)]
    count = integer(law["repeat"], f"{at}.repeat", 1, MOST_ARMS)
    return [(at, {key: value for key, value in law.items() if key != "repeat"})] * count


READERS: dict[str, Callable[[Any, str], Any]] = {
    "rewards": _read_rewards,
    "delays": _read_delays,
    "rewards[]": read_reward,
    "delays[]": read_delay,
}
"""What reads each key of a problem, and what reads one law of it."""
