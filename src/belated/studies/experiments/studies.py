"""Reading the studies of an experiment: a set-up, and the values that are put in place of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from belated.errors import ConfigurationError
from belated.policies import Policy
from belated.simulation.manifest import labels_of
from belated.specs import read_policy, read_problem
from belated.specs.paths import set_path, steps_of, values_of
from belated.specs.tables import fmt, integer, mapping, reject_unknown, suggest
from belated.studies.experiments.fields import tables, text
from belated.studies.study import Axis, Cell, Study
from belated.validation import MAX_HORIZON

_STUDY = ("about", "horizon", "runs", "most", "checkpoints", "problem", "policies", "axes")
_CHANGED = ("horizon", "problem", "policies")
"""What the values of axes may take the place of."""
_COLUMNS = ("study", "panel", "policy", "round", "mean", "stderr", "runs", "what", "name", "value")
_MOST_RUNS = 2**31


def like(name: str, studies: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study; with ``like``, those of another one where it has none of its own."""
    at = f"studies.{name}"
    own = dict(mapping(studies[name], at, "a table"))
    if "like" not in own:
        return own
    other = own.pop("like")
    known = [key for key in studies if key != name and "like" not in mapping(studies[key], f"studies.{key}", "a table")]
    if other not in known:
        listed = ", ".join(known)
        raise ConfigurationError(f"{at}.like is {fmt(other)}; give a study that is not like another one: {listed}.")
    return {**studies[other], **own}


def read_study(name: str, data: Mapping[str, Any]) -> Study:
    """A study from its keys: every cell is made, so that a mistake shows before anything is played."""
    at = f"studies.{name}"
    reject_unknown(data, _STUDY, at, "A study")
    for key in ("horizon", "runs", "problem", "policies"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing.")
    axes: list[Axis] = []
    settings = []
    for place, given in tables(data.get("axes", []), f"{at}.axes"):
        axis, keys = _axis(given, place)
        if axis.name in [other.name for other in axes]:
            raise ConfigurationError(f"{place}.name is {axis.name!r}, and another axis has that name.")
        axes.append(axis)
        settings.append(keys)
    labels = _labels(data["policies"], f"{at}.policies")
    base = {key: value for key, value in data.items() if key in _CHANGED}
    cells = []
    for numbers in product(*(range(len(axis.values)) for axis in axes)):
        changed = base
        for keys, number in zip(settings, numbers, strict=True):
            for key, values in keys.items():
                changed = set_path(changed, key, values[number], f"{at}.axes")
        where = {axis.name: axis.values[number] for axis, number in zip(axes, numbers, strict=True)}
        cells.append(_cell(changed, where, at))
    checkpoints = _checkpoints(data.get("checkpoints", 1), f"{at}.checkpoints")
    shortest = min(cell.horizon for cell in cells)
    if isinstance(checkpoints, tuple) and max(checkpoints) > shortest:
        raise ConfigurationError(f"{at}.checkpoints is {max(checkpoints)} at the last; give rounds up to {shortest}.")
    runs = integer(data["runs"], f"{at}.runs", 2, _MOST_RUNS)
    most = integer(data.get("most", runs), f"{at}.most", runs, _MOST_RUNS)
    return Study(
        name,
        str(data.get("about", "")),
        tuple(axes),
        labels,
        tuple(cells),
        runs,
        most,
        checkpoints,
    )


def _axis(data: Mapping[str, Any], at: str) -> tuple[Axis, dict[str, list[Any]]]:
    reject_unknown(data, ("name", "values", "key", "set"), at, "An axis")
    name = text(data, "name", at)
    if name in _COLUMNS:
        raise ConfigurationError(f"{at}.name is {name!r}, which is a column of the figures' tables; give another name.")
    values = values_of(data.get("values"), f"{at}.values")
    if ("key" in data) == ("set" in data):
        raise ConfigurationError(f"{at} needs either key, which takes the values, or set, with a list for each key.")
    keys: dict[str, list[Any]] = (
        {text(data, "key", at): values}
        if "key" in data
        else dict(mapping(data["set"], f"{at}.set", "a table of lists"))
    )
    for key, given in keys.items():
        first = steps_of(key, at)[0]
        if first not in _CHANGED:
            raise ConfigurationError(
                f"{at} sets {key!r}.{suggest(first, _CHANGED)} Give horizon, or a key below problem or policies."
            )
        if not isinstance(given, list) or len(given) != len(values):
            raise ConfigurationError(f"{at}.set.{key} is {fmt(given)}; give a list of {len(values)}, one a value.")
    return Axis(name, tuple(values)), keys


def _cell(data: Mapping[str, Any], place: Mapping[str, Any], at: str) -> Cell:
    policies = [
        read_policy({key: value for key, value in given.items() if key != "label"}, f"{at}.policies[{j}]")
        for j, given in enumerate(data["policies"])
    ]
    horizon = integer(data["horizon"], f"{at}.horizon", 1, MAX_HORIZON)
    filled: list[Policy] = [policy.for_horizon(horizon) for policy in policies]
    return Cell(place, read_problem(data["problem"], f"{at}.problem"), tuple(filled), horizon)


def _labels(policies: Any, at: str) -> tuple[str, ...]:
    """The labels that are given, and the policies' own where none is."""
    listed = tables(policies, at)
    if not listed:
        raise ConfigurationError(f"{at} is empty; give a policy or more.")
    own = labels_of([read_policy({k: v for k, v in given.items() if k != "label"}, key) for key, given in listed])
    labels: list[str] = []
    for (key, given), label in zip(listed, own, strict=True):
        labels.append(text(given, "label", key) if "label" in given else label)
        if labels[-1] in labels[:-1]:
            raise ConfigurationError(f"{key}.label is {labels[-1]!r}, and another policy has that label; give another.")
    return tuple(labels)


def _checkpoints(data: Any, at: str) -> int | tuple[int, ...]:
    if isinstance(data, list) and data:
        return tuple(integer(value, f"{at}[{place}]", 1, MAX_HORIZON) for place, value in enumerate(data))
    return integer(data, at, 1, 10_000)
