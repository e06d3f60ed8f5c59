"""Reading a file that declares an experiment: set-ups, claims, figures. Everything is checked before anything is
played.

::

    title = "..."                       what it is about
    place = "Section 5, Figure 1"       where the paper has it
    about = "..."                       the set-up in a paragraph
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

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from belated.errors import ConfigurationError
from belated.specs.tables import fmt, mapping, reject_unknown
from belated.specs.toml import find_modules_beside, load_toml
from belated.studies.claims import TESTS, Claim
from belated.studies.experiments.fields import (
    check_names,
    check_range,
    flag,
    from_table_by_kind,
    naming,
    number,
    tables,
    text,
    texts,
)
from belated.studies.experiments.studies import like, read_study
from belated.studies.figures import ROWS, FigureSpec, PanelRow
from belated.studies.study import Study

_KEYS = ("title", "place", "about", "assumed", "studies", "claims", "figures")
_CLAIM = ("sentence", "place", "reading", "study", "test", "where", "each", "confidence", "own", "why")


@dataclass(frozen=True)
class PaperExperiment:
    """Set-ups, what is claimed about them, and how they are drawn."""

    name: str
    title: str
    place: str
    about: str
    assumed: tuple[str, ...]
    studies: Mapping[str, Study]
    claims: tuple[Claim, ...]
    figures: tuple[FigureSpec, ...]
    paper: bool = False
    """Whether it is one of the paper's."""


def named(experiment: PaperExperiment, picture: FigureSpec) -> str:
    """The name of a figure's files: its own if that is the experiment's, else after that of the experiment."""
    return picture.name if picture.name == experiment.name else f"{experiment.name}-{picture.name}"


def read_file(path: Path) -> PaperExperiment:
    """The experiment that a file declares."""
    find_modules_beside(path)
    try:
        return _experiment(load_toml(path), path.stem)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path.name}: {error}") from error


def _experiment(data: dict[str, Any], name: str) -> PaperExperiment:
    reject_unknown(data, _KEYS, "", "An experiment")
    given = mapping(data.get("studies"), "studies", "a table [studies.NAME] for each set-up")
    if not given:
        raise ConfigurationError("studies is empty; give a table [studies.NAME] for each set-up.")
    studies = {key: read_study(key, like(key, given)) for key in given}
    figures = tuple(_picture(picture, at, studies) for at, picture in tables(data.get("figures", []), "figures"))
    for place, picture in enumerate(figures):
        if picture.name in [other.name for other in figures[:place]]:
            raise ConfigurationError(f"figures[{place}].name is {picture.name!r}, and another figure has that name.")
    return PaperExperiment(
        name,
        text(data, "title", ""),
        text(data, "place", ""),
        text(data, "about", ""),
        tuple(texts(data.get("assumed", []), "assumed")),
        studies,
        tuple(_claim(claim, at, studies) for at, claim in tables(data.get("claims", []), "claims")),
        figures,
    )


def _claim(values: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> Claim:
    reject_unknown(values, _CLAIM, at, "A claim")
    study = _known(values, at, studies)
    claim = Claim(
        text(values, "sentence", at),
        text(values, "place", at),
        text(values, "reading", at),
        study.name,
        from_table_by_kind(TESTS, values.get("test"), f"{at}.test"),
        dict(mapping(values.get("where", {}), f"{at}.where", "a table such as {delay = 200}")),
        tuple(texts(values.get("each", []), f"{at}.each")),
        number(values, "confidence", at, 0.999, 0.5, 1.0),
        flag(values, "own", at),
        text(values, "why", at) if "why" in values else "",
    )
    part = _part(study, claim.where, f"{at}.where")
    with naming(f"{at}.each"):
        places = claim.places(part)
    check_range(claim.test, f"{at}.test")
    for place in places:
        fmt, _ = part.at(place)
        check_names(claim.test, fmt, f"{at}.test")
        with naming(f"{at}.test"):
            claim.test.check(fmt)
    return claim


def _picture(values: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> FigureSpec:
    reject_unknown(values, ("name", "caption", "rows", "page", "height"), at, "A figure")
    name = text(values, "name", at)
    if not re.fullmatch(r"[\w-]+", name):
        raise ConfigurationError(f"{at}.name is {name!r}, which names files; give letters, digits, - and _ alone.")
    rows = tuple(_row(row, key, studies) for key, row in tables(values.get("rows"), f"{at}.rows"))
    if not rows:
        raise ConfigurationError(f"{at}.rows is empty; give a row of panels or more.")
    height = number(values, "height", at, 1.0, 0.1, 10.0)
    return FigureSpec(name, text(values, "caption", at), rows, flag(values, "page", at), height)


def _row(values: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> PanelRow:
    row = from_table_by_kind(ROWS, values, at)
    part = _part(_known(values, at, studies), row.where, f"{at}.where")
    check_names(row, part, at)
    if not set(row.log) <= {"x", "y"}:
        raise ConfigurationError(f'{at}.log is {fmt(list(row.log))}; give "x", "y" or both.')
    if row.split:
        part, _ = part.within({row.split: part.axis(row.split).values[0]})
    with naming(at):
        row.check(part)
    return row


def _part(study: Study, where: Mapping[str, Any], at: str) -> Study:
    """The part of a study that a claim or a row is about."""
    for name, value in where.items():
        with naming(f"{at}.{name}"):
            study.where({name: value})
    return study.within(where)[0]


def _known(data: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> Study:
    name = data.get("study")
    if not isinstance(name, str) or name not in studies:
        raise ConfigurationError(f"{at}.study is {fmt(name)}; give one of {', '.join(studies)}.")
    return studies[name]
