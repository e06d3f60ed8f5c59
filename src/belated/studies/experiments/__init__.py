"""The paper's experiments as data: one file each, with set-ups, claims and figures, checked before anything is played.

:data:`PAPER` are those of the paper; :data:`EXTRA` go further: how robust its claims are, and what it did not plot. A
file:

::

    title = "..."                       what it is about
    place = "Section 5, Figure 1"       where it is in the paper
    about = "..."                       the set-up in a paragraph
    assumed = ["..."]                   what the paper leaves open, and what was assumed

    [studies.bottom]                    a set-up, played for every combination of the axes' values
    horizon = 200_000
    runs = 100                          of each combination
    most = 6400                         while a claim is undecided, four times as many runs, up to this number
    checkpoints = 1                     points of the curves
    shuffle = false                     whether the arms are relabelled in each run
    problem = {...}                     as for belated simulate
    like = "top"                        keys not given here are taken from that study
    [[studies.bottom.policies]]         as for belated simulate, with a label
    [[studies.bottom.axes]]             name, values, and the key that takes them; or set = {key = [values], ...}

    [[claims]]                          sentence, place, reading, study, test = {kind = "...", ...}; where, each, why
    [[claims.tests]]                    a sentence with several tests: for each its reading, study, test, ...; variant
    [[figures]]                         name, caption, rows = [{kind = "...", study = "...", ...}]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from belated.errors import ConfigurationError, UnknownName
from belated.specs.laws import read_policy
from belated.specs.paths import SWEEPABLE, check_sweepable, set_path, values_of
from belated.specs.problems import read_problem
from belated.specs.tables import (
    STANDARD_INPUT,
    Key,
    Text,
    find_modules_beside,
    fmt,
    from_table,
    indexed,
    integer,
    load_toml,
    mapping,
    naming,
    read_checkpoints,
    source_name,
    source_stem,
    suggest,
    tables,
    text,
)
from belated.studies.claims import Claim
from belated.studies.figures import FigureSpec, PanelRow
from belated.studies.study import Axis, Cell, Study, column_labels
from belated.validation import MAX_HORIZON, Domain

PAPER = ("figure1", "figure2", "figure3", "figure4", "figure5", "table1", "theorem1", "theorem6")
EXTRA = ("robustness", "beyond")
NAMES = PAPER + EXTRA
_COLUMNS = ("study", "panel", "policy", "round", "mean", "stderr", "runs", "what", "name", "value")
_RUNS = Domain(2, 2**31, whole=True)


@dataclass(frozen=True)
class ExperimentFile:
    """Set-ups, what is claimed about them, and how they are drawn."""

    name: str
    title: str
    place: str
    about: str
    assumed: tuple[str, ...]
    studies: Mapping[str, Study]
    claims: tuple[Claim, ...]
    """One for each test of each sentence."""
    figures: tuple[FigureSpec, ...]
    paper: bool = False
    """Whether it is one of the paper's."""

    @property
    def sentences(self) -> int:
        """How many sentences its claims are about."""
        return len({(claim.sentence, claim.own) for claim in self.claims})

    def file_name(self, figure: FigureSpec) -> str:
        """The name of a figure's files: the experiment's, and the figure's if it is another."""
        return figure.name if figure.name == self.name else f"{self.name}-{figure.name}"


@dataclass(frozen=True)
class _ExperimentTable:
    title: Text
    place: Text
    about: Text
    studies: Annotated[Mapping[str, Any], Key(give="a table [studies.NAME] for each set-up")]
    assumed: tuple[Text, ...] = ()
    claims: Annotated[list[Any], Key(read=tables)] = field(default_factory=list)
    figures: Annotated[list[Any], Key(read=tables)] = field(default_factory=list)


@dataclass(frozen=True)
class _AxisTable:
    name: Text
    values: Annotated[list[Any], Key(read=values_of, give="a list of values, such as [0, 100, 200]")]
    key: Text = ""
    set: Mapping[str, Any] = field(default_factory=dict)

    def paths(self, at: str) -> dict[str, list[Any]]:
        """The paths that the axis sets, each with its list of values."""
        if self.name in _COLUMNS:
            raise ConfigurationError(
                f"{at}.name is {self.name!r}, which is a column of the figures' tables; give another name."
            )
        if bool(self.key) == bool(self.set):
            raise ConfigurationError(
                f"{at} needs either key, which takes the values, or set, with a list for each key."
            )
        paths = {self.key: self.values} if self.key else dict(self.set)
        for path, values in paths.items():
            check_sweepable(path, f"{at}.key" if self.key else f"{at}.set")
            if not isinstance(values, list) or len(values) != len(self.values):
                raise ConfigurationError(
                    f"{at}.set.{path} is {fmt(values)}; give a list of {len(self.values)}, one for each value."
                )
        return paths


def _read_axes(data: Any, at: str) -> tuple[_AxisTable, ...]:
    return tuple(from_table(_AxisTable, table, key, "An axis") for key, table in tables(data, at))


@dataclass(frozen=True)
class _StudyTable:
    horizon: Annotated[Any, Key(give="the rounds of a run")]
    runs: Annotated[int, _RUNS]
    problem: Annotated[Any, Key(give="a table with rewards and delays")]
    policies: Annotated[list[Any], Key(read=tables, give="a list of policies")]
    about: str = ""
    most: Annotated[int, _RUNS] = 0
    checkpoints: Annotated[int | list[int], Key(read=read_checkpoints)] = 1
    shuffle: bool = False
    axes: Annotated[tuple[_AxisTable, ...], Key(read=_read_axes)] = ()


def read_file(path: Path) -> ExperimentFile:
    """The experiment that a file declares."""
    find_modules_beside(path)
    is_input = path == STANDARD_INPUT
    with naming(source_name(path) if is_input else path.name):
        return _experiment(load_toml(path), source_stem(path))


def load(name: str) -> ExperimentFile:
    """The experiment of this name."""
    if name not in NAMES:
        raise UnknownName(
            f"{name!r} is not an experiment.{suggest(name, NAMES)} There are {', '.join(NAMES)}; 'all' means all of "
            "these; files of your own end in .toml."
        )
    return replace(read_file(Path(__file__).parent / f"{name}.toml"), paper=name in PAPER)


def select(names: Sequence[str]) -> list[ExperimentFile]:
    """The experiments of these names, each once: all of the paper's for none, all there are for "all"; a user's own
    files by their path, and ``-`` for one from standard input."""
    listed = [part for name in names or PAPER for part in (NAMES if name == "all" else [name])]
    experiments = [
        read_file(Path(name)) if name.endswith(".toml") or name == "-" else load(name) for name in dict.fromkeys(listed)
    ]
    for name in _repeated([experiment.name for experiment in experiments]):
        raise ConfigurationError(f"two experiments are named {name!r}; rename a file, or give one of them.")
    for name in _repeated([one.file_name(figure) for one in experiments for figure in one.figures]):
        raise ConfigurationError(f"two figures would be written to {name!r}; rename one of them, or its file.")
    return experiments


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for number, name in enumerate(names) if name in names[:number]]


def _experiment(data: dict[str, Any], name: str) -> ExperimentFile:
    table = from_table(_ExperimentTable, data, "", "An experiment")
    if not table.studies:
        raise ConfigurationError("studies is empty; give a table [studies.NAME] for each set-up.")
    studies = {key: _study(key, _inherit(key, table.studies)) for key in table.studies}
    figures: list[FigureSpec] = []
    for at, keys in table.figures:
        figure = _figure(keys, at, studies)
        if figure.name in [other.name for other in figures]:
            raise ConfigurationError(f"{at}.name is {figure.name!r}, and another figure has that name.")
        figures.append(figure)
    claims = tuple(_claim(keys, at, studies) for at, keys in _each_test(table.claims))
    return ExperimentFile(name, table.title, table.place, table.about, table.assumed, studies, claims, tuple(figures))


# ---- studies ----


def _inherit(name: str, studies: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a study; with ``like``, the keys of another study where it has none itself."""
    at = f"studies.{name}"
    keys = dict(mapping(studies[name], at, "a table"))
    if "like" not in keys:
        return keys
    other = keys.pop("like")
    bases = [key for key in studies if key != name and "like" not in mapping(studies[key], f"studies.{key}", "a table")]
    if other not in bases:
        listed = ", ".join(bases)
        raise ConfigurationError(f"{at}.like is {fmt(other)}; give a study that is not like another one: {listed}.")
    return {**studies[other], **keys}


def _study(name: str, data: Mapping[str, Any]) -> Study:
    """A study from its keys: every cell is built, so that a mistake shows before anything is played."""
    at = f"studies.{name}"
    table = from_table(_StudyTable, data, at, "A study")
    paths = []
    for number, (key, axis) in enumerate(indexed(table.axes, f"{at}.axes")):
        if axis.name in [other.name for other in table.axes[:number]]:
            raise ConfigurationError(f"{key}.name is {axis.name!r}, and another axis has that name.")
        paths.append(axis.paths(key))
    base = {key: data[key] for key in SWEEPABLE}
    cells = []
    for numbers in product(*(range(len(axis.values)) for axis in table.axes)):
        changed = base
        for number, values_at in zip(numbers, paths, strict=True):
            for path, values in values_at.items():
                changed = set_path(changed, path, values[number], f"{at}.axes")
        coordinates = {axis.name: axis.values[number] for axis, number in zip(table.axes, numbers, strict=True)}
        cells.append(_cell(changed, coordinates, at))
    shortest = min(cell.horizon for cell in cells)
    if isinstance(table.checkpoints, list) and max(table.checkpoints) > shortest:
        raise ConfigurationError(f"{at}.checkpoints ends at {max(table.checkpoints)}; give rounds up to {shortest}.")
    axes = tuple(Axis(axis.name, tuple(axis.values)) for axis in table.axes)
    most = integer(table.most or table.runs, f"{at}.most", table.runs, 2**31)
    labels = _labels(table.policies, f"{at}.policies")
    return Study(name, table.about, axes, labels, tuple(cells), table.runs, most, table.checkpoints, table.shuffle)


def _cell(data: Mapping[str, Any], coordinates: Mapping[str, Any], at: str) -> Cell:
    policies = [read_policy(_unlabelled(table), key) for key, table in tables(data["policies"], f"{at}.policies")]
    horizon = integer(data["horizon"], f"{at}.horizon", 1, MAX_HORIZON)
    problem = read_problem(data["problem"], f"{at}.problem")
    return Cell(coordinates, problem, tuple(policy.for_horizon(horizon) for policy in policies), horizon)


def _unlabelled(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != "label"}


def _labels(policies: list[tuple[str, Mapping[str, Any]]], at: str) -> tuple[str, ...]:
    """The labels given in the file, and the policies' own where none is."""
    if not policies:
        raise ConfigurationError(f"{at} is empty; give one or more policies.")
    defaults = column_labels([[read_policy(_unlabelled(table), key) for key, table in policies]])
    labels: list[str] = []
    for (key, table), label in zip(policies, defaults, strict=True):
        labels.append(text(table["label"], f"{key}.label") if "label" in table else label)
        if labels[-1] in labels[:-1]:
            raise ConfigurationError(f"{key}.label is {labels[-1]!r}, and another policy has that label; give another.")
    return tuple(labels)


# ---- claims and figures ----


def _each_test(claims: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The keys of each test of each sentence, those of the sentence included."""
    for at, keys in claims:
        if "tests" not in keys:
            yield at, keys
            continue
        shared = {key: value for key, value in keys.items() if key != "tests"}
        listed = tables(keys["tests"], f"{at}.tests")
        if not listed:
            raise ConfigurationError(f"{at}.tests is empty; give one or more tests.")
        for where, test in listed:
            for key in ("sentence", "place", "own"):
                if key in test:
                    raise ConfigurationError(f"{where}.{key} is that of the sentence; give it in {at}.")
            yield where, {**shared, **test}


def _claim(values: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> Claim:
    study = _named_study(values.get("study"), at, studies)
    claim = from_table(Claim, values, at, "A claim")
    part = _part(study, claim.where, f"{at}.where")
    with naming(f"{at}.each"):
        cases = claim.cases(part)
    test = claim.test
    low, high = getattr(test, "low", 0.0), getattr(test, "high", 0.0)
    if not low <= high or (math.isinf(low) and math.isinf(high)):
        raise ConfigurationError(
            f"{at}.test: low is {low:g} and high {high:g}; give one of them or both, low not above high."
        )
    for coordinates in cases:
        case, _ = part.at(coordinates)
        _check_names(test, case, f"{at}.test")
        with naming(f"{at}.test"):
            test.check(case)
    return claim


def _figure(values: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> FigureSpec:
    figure = from_table(FigureSpec, values, at, "A figure")
    if not re.fullmatch(r"[\w-]+", figure.name):
        raise ConfigurationError(
            f"{at}.name is {figure.name!r}, which names files; give only letters, digits, - and _."
        )
    if not figure.rows:
        raise ConfigurationError(f"{at}.rows is empty; give one or more rows of panels.")
    for key, row in indexed(figure.rows, f"{at}.rows"):
        _check_row(row, key, studies)
    return figure


def _check_row(row: PanelRow, at: str, studies: Mapping[str, Study]) -> None:
    part = _part(_named_study(row.study, at, studies), row.where, f"{at}.where")
    _check_names(row, part, at)
    if not set(row.log) <= {"x", "y"}:
        raise ConfigurationError(f'{at}.log is {fmt(list(row.log))}; give "x", "y" or both.')
    if row.split:
        part, _ = part.within({row.split: part.axis(row.split).values[0]})
    with naming(at):
        row.check(part)


def _check_names(owner: Any, study: Study, at: str) -> None:
    """Raise an error if an object names a policy or an axis that the study does not have."""
    hints = get_type_hints(type(owner), include_extras=True)
    lookups: dict[str, Callable[[str], Any]] = {"policy": study.policy, "axis": study.axis}
    for one in fields(owner):
        value = getattr(owner, one.name)
        many = isinstance(value, tuple)
        hint = get_args(hints[one.name])[0] if many else hints[one.name]
        roles = [role for role in getattr(hint, "__metadata__", ()) if role in lookups]
        items = indexed(value, f"{at}.{one.name}") if many else [(f"{at}.{one.name}", value)]
        for key, item in items:
            if is_dataclass(item):
                _check_names(item, study, key)
            elif roles and item:
                with naming(key):
                    lookups[roles[0]](item)


def _part(study: Study, where: Mapping[str, Any], at: str) -> Study:
    """The part of a study that a claim or a row is about."""
    for name, value in where.items():
        with naming(f"{at}.{name}"):
            study.where({name: value})
    return study.within(where)[0]


def _named_study(name: Any, at: str, studies: Mapping[str, Study]) -> Study:
    if not isinstance(name, str) or name not in studies:
        raise ConfigurationError(f"{at}.study is {fmt(name)}; give one of {', '.join(studies)}.")
    return studies[name]
