"""Paths into nested data, such as ``problem.delays[1].alpha``, and the values that a sweep puts there."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from belated.errors import ConfigurationError
from belated.specs.tables import Key, fmt, from_table, indexed, suggest
from belated.validation import Domain

SWEEPABLE = ("problem", "policies", "horizon")
"""The keys of a file whose values may vary from cell to cell."""
_STEP = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|\[(\d+|\*)\]|([^.\[\]"'\s]+))\s*(?:\.(?!\s*$)|(?=\[)|$)""")


def steps_of(path: str, at: str) -> list[str]:
    """The parts of a path.

    >>> steps_of("policies[0].confidence", "key"), steps_of('problem.delays.laws."0.5".rounds', "key")
    (['policies', '0', 'confidence'], ['problem', 'delays', 'laws', '0.5', 'rounds'])
    """
    steps = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            break
        steps.append(next(part for part in match.groups() if part is not None))
        position = match.end()
    if not steps or position < len(path):
        raise ConfigurationError(
            f'{at} is {path!r}; give keys joined by dots, such as "problem.delays.rounds" or "policies[0].confidence".'
        )
    return steps


def check_sweepable(path: str, at: str) -> None:
    """Raise an error if values of an axis cannot be put at this path."""
    first = steps_of(path, at)[0]
    if first not in SWEEPABLE:
        raise ConfigurationError(
            f"{at} is {path!r}.{suggest(first, SWEEPABLE)} Give horizon, or a key below problem or policies, such as "
            '"problem.delays.rounds", "problem.rewards.gap" or "policies[0].confidence".'
        )


def set_path(data: Mapping[str, Any], path: str, value: Any, at: str) -> dict[str, Any]:
    """A copy of the data with the value at the path; ``*`` stands for every entry of a list. All keys but the last must
    exist.

    >>> set_path({"policies": [{"policy": "UCB"}, {"policy": "UCB"}]}, "policies[*].confidence", 1.0, "key")
    {'policies': [{'policy': 'UCB', 'confidence': 1.0}, {'policy': 'UCB', 'confidence': 1.0}]}
    """
    changed = copy.deepcopy(dict(data))
    _set(changed, steps_of(path, at), value, "", f"{at} is {path!r}")
    return changed


def _set(data: Any, steps: list[str], value: Any, done: str, prefix: str) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(data, list):
        for number in range(len(data)) if step == "*" else [_index(data, step, done, prefix)]:
            if rest:
                _set(data[number], rest, value, f"{done}[{number}]", prefix)
            else:
                data[number] = value
    elif not isinstance(data, dict):
        raise ConfigurationError(f"{prefix}, and {done} is {fmt(data)}, which has no keys.")
    elif rest:
        here = f"{done}.{step}" if done else step
        if step not in data:
            keys = ", ".join(data)
            raise ConfigurationError(f"{prefix}, and the file has no {here}.{suggest(step, data)} There is {keys}.")
        _set(data[step], rest, value, here, prefix)
    else:
        data[step] = value


def _index(data: list[Any], step: str, done: str, prefix: str) -> int:
    if not step.isdigit() or int(step) >= len(data):
        last = len(data) - 1
        raise ConfigurationError(f"{prefix}, and {done} is a list; give {done}[0] to {done}[{last}], or {done}[*].")
    return int(step)


def values_of(data: Any, at: str) -> list[Any]:
    """The values of an axis: a list, or ``{from, to, steps}``, evenly spaced; with ``scale = "log"`` by equal ratios.

    >>> values_of({"from": 0, "to": 500, "steps": 6}, "values")
    [0, 100, 200, 300, 400, 500]
    >>> values_of({"from": 0.01, "to": 1.0, "steps": 3, "scale": "log"}, "values")
    [0.01, 0.1, 1.0]
    """
    if isinstance(data, Mapping):
        values = _spaced(from_table(_Range, data, at, at), at)
    elif isinstance(data, list) and data:
        values = list(data)
    else:
        raise ConfigurationError(
            f"{at} is {fmt(data)}; give a list such as [0, 100, 200], or {{from = 0, to = 500, steps = 11}}."
        )
    for number, (key, value) in enumerate(indexed(values, at)):
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ConfigurationError(f"{key} is {fmt(value)}; give a number, or text in quotes.")
        if value in values[:number]:
            raise ConfigurationError(f"{at} has {fmt(value)} twice; give each value once.")
    return values


def _end(value: Any, at: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigurationError(f"{at} is {fmt(value)}; give a number.")
    return value


@dataclass(frozen=True)
class _Range:
    low: Annotated[float, Key(name="from", read=_end, give="a number, as in {from = 0, to = 500, steps = 11}")]
    high: Annotated[float, Key(name="to", read=_end, give="a number, as in {from = 0, to = 500, steps = 11}")]
    steps: Annotated[int, Domain(2, 10_000, whole=True)]
    scale: str = "linear"


def _spaced(span: _Range, at: str) -> list[float | int]:
    low, high, steps = span.low, span.high, span.steps
    if span.scale not in ("linear", "log"):
        raise ConfigurationError(f'{at}.scale is {fmt(span.scale)}; give "linear" or "log".')
    log = span.scale == "log"
    if log and not (low > 0 and high > 0):
        raise ConfigurationError(f'{at} runs from {low} to {high} with scale = "log"; give numbers > 0.')
    spaced = np.geomspace(low, high, steps) if log else np.linspace(low, high, steps)
    if not (isinstance(low, int) and isinstance(high, int)):
        digits = 4 if log else 12  # only values that people would write
        return [low, *(float(f"{value:.{digits}g}") for value in spaced[1:-1].tolist()), high]
    values = [round(value) for value in spaced.tolist()]
    if len(set(values)) < steps:
        raise ConfigurationError(
            f"{at}: from {low} to {high} there are not {steps} different whole numbers with this spacing; give fewer "
            f"steps, or write the ends as decimals, {low}.0 and {high}.0."
        )
    return values
