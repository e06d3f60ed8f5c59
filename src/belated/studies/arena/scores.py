"""The scores of the arena: regrets, ratios to the best of each scenario, their means for each policy; and their
files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.atomic_output import StagedOutput
from belated.errors import InvalidParameter, StateError
from belated.studies.arena.scenarios import KINDS, Scenario

HIGH = 1.25
"""Ratios above this are counted."""
FORMAT = "belated.arena.1"
_ARRAYS = ("regret", "stderr", "error", "runs")


@dataclass(frozen=True)
class Scores:
    """The arena's table: a row of the arrays for each scenario, a column for each policy."""

    scenarios: tuple[Scenario, ...]
    labels: tuple[str, ...]
    regret: npt.NDArray[np.float64]
    stderr: npt.NDArray[np.float64]
    """Of the regrets."""
    error: npt.NDArray[np.float64]
    """Standard error of the ratios, from paired runs."""
    runs: npt.NDArray[np.int64]
    """Of each scenario."""

    @classmethod
    def of(cls, scenario: Scenario, labels: Sequence[str], final: npt.NDArray[np.float64]) -> Scores:
        """The scores of one scenario; ``final`` is (policies, runs). Standard errors of ratios are by the delta method
        from paired runs. An error if some policy has no regret, so that nothing can be divided by it."""
        means, runs = final.mean(axis=1), final.shape[1]
        without = [label for label, mean in zip(labels, means, strict=True) if not mean > 0.0]
        if without:
            raise InvalidParameter(
                f"row {scenario.name!r}: the regret of {' and of '.join(without)} is 0, and nothing can be compared "
                "with that; give arms that differ, and policies that do not know the best of them."
            )
        best = int(means.argmin())
        ratio = means / means[best]
        influence = (final - ratio[:, None] * final[best]) / means[best]
        stderr, error = (numbers.std(axis=1, ddof=1) / math.sqrt(runs) for numbers in (final, influence))
        return cls((scenario,), tuple(labels), means[None], stderr[None], error[None], np.array([runs]))

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several sets of scenarios as one."""
        rows = tuple(scenario for part in parts for scenario in part.scenarios)
        arrays = (np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS)
        return cls(rows, parts[0].labels, *arrays)

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        """Each regret over the smallest of its scenario."""
        ratio: npt.NDArray[np.float64] = self.regret / self.regret.min(axis=1, keepdims=True)
        return ratio

    @property
    def max_rel_error(self) -> float:
        """The largest standard error of a ratio, relative to the ratio."""
        return float((self.error * self.regret.min(axis=1, keepdims=True) / self.regret).max())

    @property
    def precision(self) -> str:
        """How precise the ratios are, as a sentence; empty where a scenario has too few runs to say."""
        if int(self.runs.min()) < 30:
            return ""
        return f"Standard errors are at most {100 * self.max_rel_error:.1f} % of a ratio."

    def select(self, condition: Callable[[Scenario], bool]) -> Scores:
        """The scores of some scenarios."""
        kept = [number for number, scenario in enumerate(self.scenarios) if condition(scenario)]
        rows = tuple(self.scenarios[number] for number in kept)
        return Scores(rows, self.labels, *(getattr(self, name)[kept] for name in _ARRAYS))

    def of_kind(self, kind: str) -> Scores:
        return self.select(lambda scenario: scenario.kind == kind)

    @property
    def kinds(self) -> list[str]:
        """The kinds of scenario that there are, in their order."""
        return [kind for kind in KINDS if any(scenario.kind == kind for scenario in self.scenarios)]

    def ranked(self) -> list[str]:
        """The policies by geometric mean, the smallest first."""
        return sorted(self.labels, key=self.geometric_mean)

    def geometric_mean(self, label: str) -> float:
        """Of a policy's ratios; NaN if there are no scenarios."""
        column = self.ratio[:, self.labels.index(label)]
        return float(np.exp(np.log(column).mean())) if column.size else math.nan

    def means(self) -> npt.NDArray[np.float64]:
        return np.array([self.geometric_mean(label) for label in self.labels])

    def worst(self, label: str) -> tuple[str, float]:
        """The scenario in which a policy does worst, and its ratio there."""
        column = self.ratio[:, self.labels.index(label)]
        number = int(column.argmax())
        return self.scenarios[number].name, float(column[number])

    def above(self, label: str, limit: float = HIGH) -> list[str]:
        """The scenarios in which a policy's ratio is above a limit."""
        column = self.ratio[:, self.labels.index(label)]
        return [scenario.name for scenario, ratio in zip(self.scenarios, column, strict=True) if ratio > limit]


# ---- files ----


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
    blocks = ["# Arena", *_summary(scores, "All scenarios", (False, True))]
    if len({scenario.held_out for scenario in scores.scenarios}) > 1:
        blocks += _summary(scores, "Development scenarios", (False,))
        blocks += _summary(scores, "Held-out scenarios", (True,))
    lines = [f"| scenario | {' | '.join(map(_cell, scores.labels))} |", "| :-- |" + " --: |" * len(scores.labels)]
    for scenario, ratios in zip(scores.scenarios, scores.ratio, strict=True):
        cells = " | ".join(f"**{ratio:.2f}**" if ratio == 1.0 else f"{ratio:.2f}" for ratio in ratios)
        lines.append(f"| {scenario.name}{' (held out)' if scenario.held_out else ''} | {cells} |")
    blocks += ["## Regret divided by the lowest in the scenario", "\n".join(lines)]
    blocks += [scores.precision] if scores.precision else []
    lines = ["| policy | scenarios |", "| :-- | :-- |"]
    for label in scores.ranked():
        column = scores.ratio[:, scores.labels.index(label)]
        ratio_of = {scenario.name: ratio for scenario, ratio in zip(scores.scenarios, column, strict=True)}
        worst = sorted(scores.above(label), key=lambda name: -ratio_of[name])
        lines.append(f"| {_cell(label)} | {', '.join(f'{name} ({ratio_of[name]:.2f})' for name in worst) or 'none'} |")
    return "\n\n".join([*blocks, f"## Scenarios above {HIGH:g}", "\n".join(lines)]) + "\n"


def _cell(text: str) -> str:
    """A text for a cell of a table, escaped."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _summary(scores: Scores, title: str, held_out: Sequence[bool]) -> list[str]:
    """A heading, a table with a line for each policy, the best first, and a remark."""
    kept = scores.select(lambda scenario: scenario.held_out in held_out)
    kinds = kept.kinds
    lines = [
        f"| policy | all | {' | '.join(kinds)} | worst scenario | above {HIGH:g} |",
        "| :-- |" + " --: |" * (1 + len(kinds)) + " :-- | --: |",
    ]
    for label in kept.ranked():
        parts = [kept, *(kept.of_kind(kind) for kind in kinds)]
        columns = " | ".join(f"{part.geometric_mean(label):.2f}" for part in parts)
        name, ratio = kept.worst(label)
        above = f"{len(kept.above(label))} of {len(kept.scenarios)}"
        lines.append(f"| {_cell(label)} | {columns} | {name} ({ratio:.2f}) | {above} |")
    remark = "Geometric means of the ratio to the best policy of each scenario."
    return [f"## {title} ({len(kept.scenarios)})", "\n".join(lines), remark]
