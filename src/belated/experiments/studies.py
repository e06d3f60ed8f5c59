"""Reading the studies of an experiment: a set-up, and the values that are put in place of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from belated.domains import MAX_HORIZON
from belated.errors import ConfigurationError
from belated.experiments.fields import text
from belated.forms.base import Policy
from belated.manifest import labels_of
from belated.spec import read_policy, read_problem
from belated.spec.keys import only, shown, table, whole
from belated.spec.paths import placed, values_of
from belated.study import Axis, Cell, Study

_STUDY = ("about", "horizon", "runs", "most", "checkpoints", "problem", "policies", "axes")
_MOST_RUNS = 2**31


def like(name: str, studies: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study; with ``like``, those of another one where it has none of its own."""
    at = f"studies.{name}"
    own = dict(table(studies[name], at, "a table"))
    if "like" not in own:
        return own
    other = own.pop("like")
    if other == name or other not in studies or "like" in table(studies[other], f"studies.{other}", "a table"):
        known = ", ".join(key for key in studies if key != name and "like" not in studies[key])
        raise ConfigurationError(f"{at}.like is {shown(other)}; give a study that is not like another one: {known}.")
    return {**studies[other], **own}


def read_study(name: str, data: Mapping[str, Any]) -> Study:
    """A study from its keys: every cell is made, so that a mistake shows before anything is played."""
    at = f"studies.{name}"
    only(data, _STUDY, at, "A study")
    for key in ("horizon", "runs", "problem", "policies"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing.")
    axes, settings = [], []
    for place, given in enumerate(data.get("axes", [])):
        axis, keys = _axis(table(given, f"{at}.axes[{place}]", "a table"), f"{at}.axes[{place}]")
        axes.append(axis)
        settings.append(keys)
    base = {key: value for key, value in data.items() if key in ("horizon", "problem", "policies")}
    cells = []
    for numbers in product(*(range(len(axis.values)) for axis in axes)):
        changed = base
        for keys, number in zip(settings, numbers, strict=True):
            for key, values in keys.items():
                changed = placed(changed, key, values[number], f"{at}.axes")
        where = {axis.name: axis.values[number] for axis, number in zip(axes, numbers, strict=True)}
        cells.append(_cell(changed, where, at))
    runs = whole(data["runs"], f"{at}.runs", 2, _MOST_RUNS)
    most = whole(data.get("most", runs), f"{at}.most", runs, _MOST_RUNS)
    return Study(
        name,
        str(data.get("about", "")),
        tuple(axes),
        _labels(data["policies"]),
        tuple(cells),
        runs,
        most,
        _checkpoints(data.get("checkpoints", 1), f"{at}.checkpoints"),
    )


def _axis(data: Mapping[str, Any], at: str) -> tuple[Axis, dict[str, list[Any]]]:
    only(data, ("name", "values", "key", "set"), at, "An axis")
    name = text(data, "name", at)
    values = values_of(data.get("values"), f"{at}.values")
    if ("key" in data) == ("set" in data):
        raise ConfigurationError(f"{at} needs either key, which takes the values, or set, with a list for each key.")
    keys: dict[str, list[Any]] = (
        {text(data, "key", at): values} if "key" in data else dict(table(data["set"], f"{at}.set", "a table of lists"))
    )
    for key, given in keys.items():
        if not isinstance(given, list) or len(given) != len(values):
            raise ConfigurationError(f"{at}.set.{key} is {shown(given)}; give a list of {len(values)}, one a value.")
    return Axis(name, tuple(values)), keys


def _cell(data: Mapping[str, Any], place: Mapping[str, Any], at: str) -> Cell:
    policies = [
        read_policy({key: value for key, value in given.items() if key != "label"}, f"{at}.policies[{j}]")
        for j, given in enumerate(data["policies"])
    ]
    horizon = whole(data["horizon"], f"{at}.horizon", 1, MAX_HORIZON)
    filled: list[Policy] = [policy.for_horizon(horizon) for policy in policies]
    return Cell(place, read_problem(data["problem"], f"{at}.problem"), tuple(filled), horizon)


def _labels(policies: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """The labels that are given, and the policies' own where none is."""
    own = labels_of([read_policy({k: v for k, v in given.items() if k != "label"}) for given in policies])
    return tuple(str(given.get("label", label)) for given, label in zip(policies, own, strict=True))


def _checkpoints(data: Any, at: str) -> int | tuple[int, ...]:
    if isinstance(data, list):
        return tuple(whole(value, f"{at}[{place}]", 1, MAX_HORIZON) for place, value in enumerate(data))
    return whole(data, at, 1, 10_000)
