"""Keys of keys: ``problem.delays[1].alpha`` says which number of nested data to change, and to what values."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from belated.errors import ConfigurationError
from belated.specs.tables import fmt, integer, mapping, reject_unknown, suggest

_STEP = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|\[(\d+|\*)\]|([^.\[\]"'\s]+))\s*(?:\.(?!\s*$)|(?=\[)|$)""")


def steps_of(path: str, at: str) -> list[str]:
    """The parts of a path.

    >>> steps_of("policies[0].confidence", "key"), steps_of('problem.delays.laws."0.5".rounds', "key")
    (['policies', '0', 'confidence'], ['problem', 'delays', 'laws', '0.5', 'rounds'])
    """
    steps = []
    place = 0
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            break
        steps.append(next(part for part in found.groups() if part is not None))
        place = found.end()
    if not steps or place < len(path):
        raise ConfigurationError(
            f'{at} is {path!r}; give keys joined by dots, such as "problem.delays.rounds" or "policies[0].confidence".'
        )
    return steps


def set_path(data: Mapping[str, Any], path: str, value: Any, at: str) -> dict[str, Any]:
    """A copy of the data with the value at the path; ``*`` stands for every entry of a list. All but the last key must
    be there.

    >>> placed({"policies": [{"policy": "UCB"}, {"policy": "UCB"}]}, "policies[*].confidence", 1.0, "key")
    {'policies': [{'policy': 'UCB', 'confidence': 1.0}, {'policy': 'UCB', 'confidence': 1.0}]}
    """
    changed = copy.deepcopy(dict(data))
    _put(changed, steps_of(path, at), value, "", f"{at} is {path!r}")
    return changed


def _put(data: Any, steps: list[str], value: Any, done: str, prefix: str) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(data, list):
        places = list(range(len(data))) if step == "*" else [_place(data, step, done, prefix)]
        for place in places:
            if rest:
                _put(data[place], rest, value, f"{done}[{place}]", prefix)
            else:
                data[place] = value
    elif not isinstance(data, dict):
        raise ConfigurationError(f"{prefix}, and {done} is {fmt(data)}, which has no keys.")
    elif rest:
        here = f"{done}.{step}" if done else step
        if step not in data:
            keys = ", ".join(data)
            raise ConfigurationError(f"{prefix}, and the file has no {here}.{suggest(step, data)} There is {keys}.")
        _put(data[step], rest, value, here, prefix)
    else:
        data[step] = value


def _place(data: list[Any], step: str, done: str, prefix: str) -> int:
    if not step.isdigit() or int(step) >= len(data):
        last = len(data) - 1
        raise ConfigurationError(f"{prefix}, and {done} is a list; give {done}[0] to {done}[{last}], or {done}[*].")
    return int(step)


def values_of(data: Any, at: str) -> list[Any]:
    """The values of a sweep: a list, or ``{from, to, steps}``, evenly spaced; with ``scale = "log"`` by equal ratios.

    >>> values_of({"from": 0, "to": 500, "steps": 6}, "values")
    [0, 100, 200, 300, 400, 500]
    >>> values_of({"from": 0.01, "to": 1.0, "steps": 3, "scale": "log"}, "values")
    [0.01, 0.1, 1.0]
    """
    if isinstance(data, Mapping):
        found = _spaced(data, at)
    elif isinstance(data, list) and data:
        found = list(data)
    else:
        raise ConfigurationError(
            f"{at} is {fmt(data)}; give a list such as [0, 100, 200], or {{from = 0, to = 500, steps = 11}}."
        )
    for place, value in enumerate(found):
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ConfigurationError(f"{at}[{place}] is {fmt(value)}; give a number, or text in quotes.")
        if value in found[:place]:
            raise ConfigurationError(f"{at} has {fmt(value)} twice; give each value once.")
    return found


def _spaced(data: Mapping[str, Any], at: str) -> list[float | int]:
    reject_unknown(data, ("from", "to", "steps", "scale"), at, at)
    for key in ("from", "to", "steps"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing; give {{from = 0, to = 500, steps = 11}}, say.")
    low, high, scale = data["from"], data["to"], data.get("scale", "linear")
    for key, end in (("from", low), ("to", high)):
        if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise ConfigurationError(f"{at}.{key} is {fmt(end)}; give a number.")
    steps = integer(data["steps"], f"{at}.steps", 2, 10_000)
    if scale not in ("linear", "log"):
        raise ConfigurationError(f'{at}.scale is {fmt(scale)}; give "linear" or "log".')
    if scale == "log" and not (low > 0 and high > 0):
        raise ConfigurationError(f'{at} runs from {low} to {high} with scale = "log"; give numbers > 0.')
    spaced = np.geomspace(low, high, steps) if scale == "log" else np.linspace(low, high, steps)
    if not (isinstance(low, int) and isinstance(high, int)):
        figures = 4 if scale == "log" else 12  # no value that nobody could write
        return [low, *(float(f"{value:.{figures}g}") for value in spaced[1:-1].tolist()), high]
    found = [round(value) for value in spaced.tolist()]
    if len(set(found)) < steps:
        raise ConfigurationError(
            f"{at}: from {low} to {high} there are no {steps} different whole numbers so spaced; give fewer steps, or "
            f"write the ends as decimals, {low}.0 and {high}.0."
        )
    return found


def sweep_section(data: Mapping[str, Any]) -> dict[str, Any]:
    """The section [sweep] of a file, its own keys checked."""
    asked = dict(mapping(data["sweep"], "sweep", "a section with key and values"))
    reject_unknown(asked, ("key", "values", "name"), "sweep", "A sweep")
    for key in ("key", "values"):
        if key not in asked:
            raise ConfigurationError(
                f'sweep.{key} is missing; give key = "problem.delays.rounds" and values = [0, 100, 200], say.'
            )
    for key in ("key", "name"):
        if key in asked and (not isinstance(asked[key], str) or not asked[key].strip()):
            raise ConfigurationError(f"sweep.{key} is {fmt(asked[key])}; give text in quotes.")
    first = steps_of(asked["key"], "sweep.key")[0]
    if first not in ("problem", "policies", "horizon"):
        near = suggest(first, ("problem", "policies", "horizon"))
        raise ConfigurationError(
            f"sweep.key is {asked['key']!r}.{near} Give horizon, or a key below problem or policies, such as "
            '"problem.delays.rounds", "problem.rewards.gap" or "policies[0].confidence".'
        )
    return asked
