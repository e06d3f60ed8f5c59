"""Reading a file that declares an experiment: set-ups, claims, figures. Everything is checked before anything is
played.

::

    title = "..."                       what it is about
    place = "Section 5, Figure 1"       where the paper has it
    about = "..."                       the set-up in a paragraph
    extra = false                       whether it goes beyond the paper
    assumed = ["..."]                   what the paper leaves open, and what was taken

    [studies.bottom]                    a set-up, played for every combination of the axes' values
    horizon = 200_000
    runs = 100                          of each combination
    most = 6400                         where a claim is undecided, four times as many runs until it is, or so many
    checkpoints = 1                     points of the curves
    problem = {...}                     as for belated simulate
    like = "top"                        what is not given here is as in that study
    [[studies.bottom.policies]]         as for belated simulate, with a label
    [[studies.bottom.axes]]             name, values, and the key that takes them; or set = {key = [values], ...}

    [[claims]]                          sentence, place, reading, study, test = {kind = "...", ...}; where, each, why
    [[figures]]                         name, caption, rows = [{kind = "...", study = "...", ...}]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from belated.claims import TESTS, Claim
from belated.domains import MAX_HORIZON
from belated.errors import ConfigurationError
from belated.experiments.fields import chosen
from belated.forms.base import Policy
from belated.manifest import labels_of
from belated.panels import ROWS, Picture
from belated.spec import read_policy, read_problem
from belated.spec.keys import only, shown, table, whole
from belated.spec.paths import placed, values_of
from belated.spec.toml import load_toml
from belated.study import Axis, Cell, Study

_KEYS = ("title", "place", "about", "extra", "assumed", "studies", "claims", "figures")
_STUDY = ("about", "horizon", "runs", "most", "checkpoints", "problem", "policies", "axes")
_MOST_RUNS = 2**31


@dataclass(frozen=True)
class Experiment:
    """Set-ups, what is claimed about them, and how they are drawn."""

    name: str
    title: str
    place: str
    about: str
    extra: bool
    """Whether it goes beyond the paper."""
    assumed: tuple[str, ...]
    studies: Mapping[str, Study]
    claims: tuple[Claim, ...]
    figures: tuple[Picture, ...]


def read_file(path: Path) -> Experiment:
    """The experiment that a file declares."""
    try:
        return _experiment(load_toml(path), path.stem)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path.name}: {error}") from error


def _experiment(data: dict[str, Any], name: str) -> Experiment:
    only(data, _KEYS, "", "An experiment")
    given = table(data.get("studies"), "studies", "a table [studies.NAME] for each set-up")
    studies = {key: _study(key, _like(key, given)) for key in given}
    return Experiment(
        name,
        _text(data, "title", ""),
        _text(data, "place", ""),
        _text(data, "about", ""),
        bool(data.get("extra", False)),
        tuple(_texts(data.get("assumed", []), "assumed")),
        studies,
        tuple(_claim(claim, f"claims[{j}]", studies) for j, claim in enumerate(data.get("claims", []))),
        tuple(_picture(picture, f"figures[{j}]", studies) for j, picture in enumerate(data.get("figures", []))),
    )


# ---- studies ----


def _like(name: str, studies: Mapping[str, Any]) -> dict[str, Any]:
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


def _study(name: str, data: Mapping[str, Any]) -> Study:
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
    name = _text(data, "name", at)
    values = values_of(data.get("values"), f"{at}.values")
    if ("key" in data) == ("set" in data):
        raise ConfigurationError(f"{at} needs either key, which takes the values, or set, with a list for each key.")
    keys: dict[str, list[Any]] = (
        {_text(data, "key", at): values} if "key" in data else dict(table(data["set"], f"{at}.set", "a table of lists"))
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


# ---- claims and figures ----


def _claim(data: Any, at: str, studies: Mapping[str, Study]) -> Claim:
    values = table(data, at, "a table with sentence, place, reading, study and test")
    only(
        values,
        ("sentence", "place", "reading", "study", "test", "where", "each", "confidence", "own", "why"),
        at,
        "A claim",
    )
    study = _known(values, at, studies)
    claim = Claim(
        _text(values, "sentence", at),
        _text(values, "place", at),
        _text(values, "reading", at),
        study.name,
        chosen(TESTS, values.get("test"), f"{at}.test"),
        dict(table(values.get("where", {}), f"{at}.where", "a table such as {delay = 200}")),
        tuple(_texts(values.get("each", []), f"{at}.each")),
        float(values.get("confidence", 0.999)),
        bool(values.get("own", False)),
        _text(values, "why", at) if "why" in values else "",
    )
    if not 0.5 < claim.confidence < 1.0:
        raise ConfigurationError(f"{at}.confidence is {claim.confidence}; give a number between 0.5 and 1.")
    study.where(claim.where)
    for name in claim.each:
        study.axis(name)
    for name in ("along", "over", "average", "largest"):
        if getattr(claim.test, name, ""):
            study.axis(getattr(claim.test, name))
    for name in ("policy", "than"):
        if hasattr(claim.test, name):
            study.policy(getattr(claim.test, name))
    return claim


def _picture(data: Any, at: str, studies: Mapping[str, Study]) -> Picture:
    values = table(data, at, "a table with name, caption and rows")
    only(values, ("name", "caption", "rows", "page", "height"), at, "A figure")
    rows = []
    for place, given in enumerate(values.get("rows", [])):
        row = chosen(ROWS, given, f"{at}.rows[{place}]")
        study = _known(given, f"{at}.rows[{place}]", studies)
        for name in ("split", "x", "y", "over"):
            if getattr(row, name, ""):
                study.axis(getattr(row, name))
        for label in row.policies:
            study.policy(label)
        rows.append(row)
    return Picture(
        _text(values, "name", at),
        _text(values, "caption", at),
        tuple(rows),
        bool(values.get("page", False)),
        float(values.get("height", 1.0)),
    )


def _known(data: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> Study:
    name = data.get("study")
    if name not in studies:
        raise ConfigurationError(f"{at}.study is {shown(name)}; give one of {', '.join(studies)}.")
    return studies[str(name)]


def _text(data: Mapping[str, Any], key: str, at: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{at}{'.' if at else ''}{key} is {shown(value)}; give text in quotes.")
    return " ".join(value.split())


def _texts(data: Any, at: str) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(value, str) for value in data):
        raise ConfigurationError(f"{at} is {shown(data)}; give a list of texts.")
    return [" ".join(value.split()) for value in data]
