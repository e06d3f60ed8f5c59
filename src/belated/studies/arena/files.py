"""The files of the arena: scores as data, tables, and pictures."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from belated._version import __version__
from belated.atomic_output import StagedOutput
from belated.errors import InvalidParameter, StateError
from belated.studies.arena.scenarios import Scenario
from belated.studies.arena.scores import HIGH, Scores

FORMAT = "belated.arena.1"
_ARRAYS = ("regret", "stderr", "error", "runs")


def write(stage: StagedOutput, scores: Scores) -> None:
    """Write scores.json, ratios.csv, arena.md, and the pictures arena and arena-small as png and svg."""
    from belated.simulation.figures import save_figure
    from belated.studies.arena.picture import heat_map, small_map

    stage.path("scores.json").write_text(json.dumps(to_dict(scores), indent=1) + "\n", encoding="utf-8")
    stage.path("ratios.csv").write_text(_csv(scores), encoding="utf-8")
    stage.path("arena.md").write_text(markdown(scores), encoding="utf-8")
    for name, figure in (("arena", heat_map(scores)), ("arena-small", small_map(scores))):
        for suffix in ("png", "svg"):
            save_figure(figure, stage.path(f"{name}.{suffix}"))


def to_dict(scores: Scores) -> dict[str, Any]:
    """The scores as plain data."""
    arrays = {name: getattr(scores, name).tolist() for name in _ARRAYS}
    rows = [scenario.to_dict() for scenario in scores.scenarios]
    return {"format": FORMAT, "version": __version__, "labels": list(scores.labels), "rows": rows, **arrays}


def read(path: Path) -> Scores:
    """The scores of a file ``scores.json``."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if (format := data["format"]) == FORMAT:
            return _scores(data)
    except FileNotFoundError:
        raise StateError(f"there is no file {str(path)!r}; give the scores.json that belated arena wrote.") from None
    except OSError as error:
        raise StateError(f"{str(path)!r} cannot be read: {error.strerror}; give a scores.json.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"{str(path)!r} is not a scores.json of the arena, or is damaged: {error!r}.") from error
    raise StateError(f"{str(path)!r} has the format {format!r}; this version reads {FORMAT!r}. Play the arena again.")


def _scores(data: Mapping[str, Any]) -> Scores:
    """The scores of plain data; a ValueError where its parts do not fit."""
    rows, labels = tuple(Scenario.from_dict(row) for row in data["rows"]), tuple(data["labels"])
    regret, stderr, error = (np.array(data[name], np.float64) for name in _ARRAYS[:3])
    runs = np.array(data["runs"], np.int64)
    shape = (len(rows), len(labels))
    if not rows or not labels or any(array.shape != shape for array in (regret, stderr, error)):
        raise InvalidParameter(f"regret, stderr and error must be {shape[0]} rows of {shape[1]} policies")
    if runs.shape != shape[:1]:
        raise InvalidParameter(f"runs must be one number for each of {shape[0]} rows")
    if not (np.all(np.isfinite([regret, stderr, error])) and np.all(regret > 0.0)):
        raise InvalidParameter("regrets must be numbers above 0, and their errors numbers")
    return Scores(rows, labels, regret, stderr, error, runs)


def _csv(scores: Scores) -> str:
    """A tidy table: one line for each scenario and policy."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["row", "kind", "held", "horizon", "runs", "policy", "regret", "stderr", "ratio", "ratio_stderr"])
    ratio = scores.ratio
    for i, scenario in enumerate(scores.scenarios):
        for j, label in enumerate(scores.labels):
            numbers = (scores.regret[i, j], scores.stderr[i, j], ratio[i, j], scores.error[i, j])
            held = str(scenario.held_out).lower()
            start = (scenario.name, scenario.kind, held, scenario.horizon, scores.runs[i], label)
            lines.writerow([*start, *(f"{number:.6g}" for number in numbers)])
    return text.getvalue()


def markdown(scores: Scores) -> str:
    """The means of each policy, those of held-out scenarios separately, and every ratio."""
    parts = ["# Arena", "", *_summary(scores, "All scenarios", (False, True))]
    if len({scenario.held_out for scenario in scores.scenarios}) > 1:
        parts += _summary(scores, "Development scenarios", (False,))
        parts += _summary(scores, "Held-out scenarios", (True,))
    parts += [
        "## Regret divided by the lowest in the scenario",
        "",
        "| scenario | " + " | ".join(map(_cell, scores.labels)) + " |",
    ]
    parts.append("| :-- |" + " --: |" * len(scores.labels))
    for scenario, ratios in zip(scores.scenarios, scores.ratio, strict=True):
        cells = " | ".join(f"**{ratio:.2f}**" if ratio == 1.0 else f"{ratio:.2f}" for ratio in ratios)
        parts.append(f"| {scenario.name}{' (held out)' if scenario.held_out else ''} | {cells} |")
    parts += ["", *([scores.precision, ""] if scores.precision else []), *_above(scores)]
    return "\n".join(parts)


def _cell(text: str) -> str:
    """A text for a cell of a table, escaped."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _above(scores: Scores) -> list[str]:
    """For each policy the scenarios above the limit, the worst first."""
    lines = [f"## Scenarios above {HIGH:g}", "", "| policy | scenarios |", "| :-- | :-- |"]
    for label in scores.ranked():
        column = scores.ratio[:, scores.labels.index(label)]
        ratio = {scenario.name: value for scenario, value in zip(scores.scenarios, column, strict=True)}
        names = sorted(scores.above(label), key=lambda name: -ratio[name])
        lines.append(f"| {_cell(label)} | {', '.join(f'{name} ({ratio[name]:.2f})' for name in names) or 'none'} |")
    return [*lines, ""]


def _summary(scores: Scores, title: str, held_out: Sequence[bool]) -> list[str]:
    """A table with a line for each policy, the best first."""
    kept = scores.select(lambda scenario: scenario.held_out in held_out)
    kinds = kept.kinds
    lines = [
        f"## {title} ({len(kept.scenarios)})",
        "",
        f"| policy | all | {' | '.join(kinds)} | worst scenario | above {HIGH:g} |",
        "| :-- |" + " --: |" * (1 + len(kinds)) + " :-- | --: |",
    ]
    for label in kept.ranked():
        means = [kept.geometric_mean(label)]
        means += [kept.of_kind(kind).geometric_mean(label) for kind in kinds]
        name, ratio = kept.worst(label)
        columns = " | ".join(f"{mean:.2f}" for mean in means)
        lines.append(
            f"| {_cell(label)} | {columns} | {name} ({ratio:.2f}) | {len(kept.above(label))} of {len(kept.scenarios)} |"
        )
    return [*lines, "", "Geometric means of the ratio to the best policy of each scenario.", ""]
