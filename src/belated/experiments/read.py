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
from pathlib import Path
from typing import Any

from belated.claims import TESTS, Claim
from belated.errors import ConfigurationError
from belated.experiments.fields import chosen, text, texts
from belated.experiments.studies import like, read_study
from belated.panels import ROWS, Picture
from belated.spec.keys import only, shown, table
from belated.spec.toml import load_toml
from belated.study import Study

_KEYS = ("title", "place", "about", "extra", "assumed", "studies", "claims", "figures")


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
    studies = {key: read_study(key, like(key, given)) for key in given}
    return Experiment(
        name,
        text(data, "title", ""),
        text(data, "place", ""),
        text(data, "about", ""),
        bool(data.get("extra", False)),
        tuple(texts(data.get("assumed", []), "assumed")),
        studies,
        tuple(_claim(claim, f"claims[{j}]", studies) for j, claim in enumerate(data.get("claims", []))),
        tuple(_picture(picture, f"figures[{j}]", studies) for j, picture in enumerate(data.get("figures", []))),
    )


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
        text(values, "sentence", at),
        text(values, "place", at),
        text(values, "reading", at),
        study.name,
        chosen(TESTS, values.get("test"), f"{at}.test"),
        dict(table(values.get("where", {}), f"{at}.where", "a table such as {delay = 200}")),
        tuple(texts(values.get("each", []), f"{at}.each")),
        float(values.get("confidence", 0.999)),
        bool(values.get("own", False)),
        text(values, "why", at) if "why" in values else "",
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
        text(values, "name", at),
        text(values, "caption", at),
        tuple(rows),
        bool(values.get("page", False)),
        float(values.get("height", 1.0)),
    )


def _known(data: Mapping[str, Any], at: str, studies: Mapping[str, Study]) -> Study:
    name = data.get("study")
    if name not in studies:
        raise ConfigurationError(f"{at}.study is {shown(name)}; give one of {', '.join(studies)}.")
    return studies[str(name)]
