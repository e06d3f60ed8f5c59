"""The scores of the arena: regrets, ratios to the best of each scenario, their means for each policy; and their
files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.atomic_output import StagedOutput
from belated.errors import InvalidParameter, StateError
from belated.studies.arena.scenarios import KINDS, Scenario
from belated.studies.arena.twins import TwinLimit, pairs, twin_limit

HIGH = 1.25
"""Ratios above this are counted."""
FORMATS = ("belated.arena.1", "belated.arena.2", "belated.arena.3")
"""Files are written in the last. The first has no shares of runs that still lose, the first two have one number of runs
for each scenario."""
_ARRAYS = ("regret", "stderr", "error", "losing", "runs")


@dataclass(frozen=True)
class TwinScores:
    """What no policy can have on two twins, and what each policy has."""

    first: Scenario
    second: Scenario
    limit: TwinLimit
    least: float
    """What the geometric mean of a policy's two ratios is at least."""
    means: npt.NDArray[np.float64]
    """This mean of each policy."""


@dataclass(frozen=True)
class Scores:
    """The arena's table: a row of the arrays for each scenario, a column for each policy."""

    scenarios: tuple[Scenario, ...]
    labels: tuple[str, ...]
    regret: npt.NDArray[np.float64]
    stderr: npt.NDArray[np.float64]
    """Of the regrets."""
    error: npt.NDArray[np.float64]
    """Standard error of the ratios."""
    losing: npt.NDArray[np.float64]
    """Share of the runs that still lose at the end, by :func:`~belated.studies.arena.still_losing.still_losing`; NaN
    where it is not known."""
    runs: npt.NDArray[np.int64]
    """Of each policy in each scenario."""
    reference: tuple[str, ...] = ()
    """The policies by whose lowest regret the others are divided; all if empty."""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        labels: Sequence[str],
        final: Sequence[npt.NDArray[np.float64]],
        losing: Sequence[npt.NDArray[np.bool_]],
    ) -> Scores:
        """The scores of one scenario; ``final`` and ``losing`` have the runs of each policy, of which the first are
        paired. Standard errors of ratios are by the delta method. An error if some policy has no regret, so that
        nothing can be divided by it."""
        means, runs = np.array([regrets.mean() for regrets in final]), np.array([regrets.size for regrets in final])
        without = [label for label, mean in zip(labels, means, strict=True) if not mean > 0.0]
        if without:
            raise InvalidParameter(
                f"row {scenario.name!r}: the regret of {' and of '.join(without)} is 0, and nothing can be compared "
                "with that; give arms that differ, and policies that do not know the best of them."
            )
        stderr = np.array([regrets.std(ddof=1) for regrets in final]) / np.sqrt(runs)
        best = int(means.argmin())
        error = np.array([_ratio_error(regrets, final[best]) for regrets in final])
        share = np.array([lost.mean() for lost in losing])
        return cls((scenario,), tuple(labels), means[None], stderr[None], error[None], share[None], runs[None])

    @staticmethod
    def joined(parts: Sequence[Scores]) -> Scores:
        """The scores of several sets of scenarios as one."""
        rows = tuple(scenario for part in parts for scenario in part.scenarios)
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
        return replace(parts[0], scenarios=rows, **arrays)

    @property
    def lowest(self) -> npt.NDArray[np.float64]:
        """The smallest regret of each scenario, as a column: that of :attr:`reference`."""
        columns = [self.labels.index(label) for label in self.reference or self.labels]
        return np.asarray(self.regret[:, columns].min(axis=1, keepdims=True))

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        """Each regret over the smallest of its scenario."""
        return np.asarray(self.regret / self.lowest)

    @property
    def rel_error(self) -> npt.NDArray[np.float64]:
        """The standard error of each ratio, relative to the ratio."""
        return np.asarray(self.error * self.lowest / self.regret)

    @property
    def max_rel_error(self) -> float:
        """The largest of them."""
        return float(self.rel_error.max())

    @property
    def precision(self) -> str:
        """How precise the ratios are, as a sentence; empty where a scenario has too few runs to say."""
        if int(self.runs.min()) < 30:
            return ""
        few = self.select(lambda scenario: scenario.has_few_runs)
        others = self.select(lambda scenario: not scenario.has_few_runs)
        texts = [f"{100 * others.max_rel_error:.1f} % of a ratio"] if others.scenarios else []
        texts += [f"{100 * few.max_rel_error:.1f} % where scenarios are long"] if few.scenarios else []
        return f"Standard errors are at most {', '.join(texts)}."

    def select(self, condition: Callable[[Scenario], bool]) -> Scores:
        """The scores of some scenarios."""
        kept = [number for number, scenario in enumerate(self.scenarios) if condition(scenario)]
        rows = tuple(self.scenarios[number] for number in kept)
        return replace(self, scenarios=rows, **{name: getattr(self, name)[kept] for name in _ARRAYS})

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

    @property
    def limits(self) -> npt.NDArray[np.float64]:
        """Of each scenario with a twin, the least that the geometric mean of any policy's ratios on the two can be, by
        the twin lemma with the lowest regrets of this table; 1 of all others, and where the twin is not there."""
        limits = np.ones(len(self.scenarios))
        best = self.lowest[:, 0]
        for first, second in pairs(self.scenarios):
            limit = twin_limit(self.scenarios[first], self.scenarios[second])
            limits[[first, second]] = limit.ratio(float(best[first]), float(best[second]))
        return limits

    def twins(self) -> Iterator[TwinScores]:
        """The pairs of twins on which some regret is lost to every policy: those with a limit above 1."""
        limits, ratio = self.limits, self.ratio
        for first, second in pairs(self.scenarios):
            if limits[first] > 1.0:
                one, other = self.scenarios[first], self.scenarios[second]
                means = np.sqrt(ratio[first] * ratio[second])
                yield TwinScores(one, other, twin_limit(one, other), float(limits[first]), means)

    def relative_mean(self, label: str) -> float:
        """The geometric mean of a policy's ratios, each divided by the limit of its scenario: how far the policy is
        from what the twin lemma leaves to all policies. Apart from the error of the measured regrets it is never below
        1, unless the policy is not in :attr:`reference`; the lemma does not say that a policy can have 1."""
        return self.geometric_mean(label) / float(np.exp(np.log(self.limits).mean()))

    def losing_mean(self, label: str) -> float:
        """The share of a policy's runs that still lose at the end, the mean over the scenarios; NaN if not known."""
        column = self.losing[:, self.labels.index(label)]
        return float(column.mean()) if column.size else math.nan

    def most_losing(self, label: str) -> tuple[str, float]:
        """The scenario in which the largest share of a policy's runs still loses at the end, and the share."""
        column = np.nan_to_num(self.losing[:, self.labels.index(label)])
        number = int(column.argmax())
        return self.scenarios[number].name, float(column[number])

    def worst(self, label: str) -> tuple[str, float]:
        """The scenario in which a policy does worst, and its ratio there."""
        column = self.ratio[:, self.labels.index(label)]
        number = int(column.argmax())
        return self.scenarios[number].name, float(column[number])

    def above(self, label: str, limit: float = HIGH) -> list[str]:
        """The scenarios in which a policy's ratio is above a limit."""
        column = self.ratio[:, self.labels.index(label)]
        return [scenario.name for scenario, ratio in zip(self.scenarios, column, strict=True) if ratio > limit]


def _ratio_error(regrets: npt.NDArray[np.float64], best: npt.NDArray[np.float64]) -> float:
    """The standard error of the ratio of two means, by the delta method. The first runs are paired; those that only one
    of them has are not."""
    paired, most = sorted((regrets.size, best.size))
    ratio = regrets.mean() / best.mean()
    variance = (regrets[:paired] - ratio * best[:paired]).var(ddof=1) / most
    fewer = regrets if regrets.size == paired else ratio * best
    variance += fewer.var(ddof=1) * (1.0 / paired - 1.0 / most)
    return math.sqrt(variance) / float(best.mean())


# ---- files ----


def write(stage: StagedOutput, scores: Scores) -> None:
    """Write scores.json, ratios.csv, arena.md, and the pictures arena and arena-small as png and svg."""
    from belated.simulation.figures import save_figure
    from belated.studies.arena.page import markdown
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
    arrays["losing"] = [[None if math.isnan(share) else share for share in row] for row in arrays["losing"]]
    rows = [scenario.to_dict() for scenario in scores.scenarios]
    return {"format": FORMATS[-1], "version": __version__, "labels": list(scores.labels), "rows": rows, **arrays}


def read(path: Path) -> Scores:
    """The scores of a file ``scores.json``."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if (format := data["format"]) in FORMATS:
            return _scores(data)
    except FileNotFoundError:
        raise StateError(f"there is no file {str(path)!r}; give the scores.json that belated arena wrote.") from None
    except OSError as error:
        raise StateError(f"{str(path)!r} cannot be read: {error.strerror}; give a scores.json.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"{str(path)!r} is not a scores.json of the arena, or is damaged: {error!r}.") from error
    raise StateError(
        f"{str(path)!r} has the format {format!r}; this version reads {FORMATS[-1]!r}. Play the arena again."
    )


def _scores(data: Mapping[str, Any]) -> Scores:
    """The scores of plain data; a ValueError where its parts do not fit."""
    rows, labels = tuple(Scenario.from_dict(row) for row in data["rows"]), tuple(data["labels"])
    shape = (len(rows), len(labels))
    if data["format"] == FORMATS[0]:
        data = {**data, "losing": np.full(shape, np.nan)}
    regret, stderr, error, losing = (np.array(data[name], np.float64) for name in _ARRAYS[:4])
    runs = np.array(data["runs"], np.int64)
    if data["format"] != FORMATS[-1]:
        if runs.shape != shape[:1]:
            raise InvalidParameter(f"runs must be one number for each of {shape[0]} rows")
        runs = np.repeat(runs[:, None], len(labels), axis=1)
    if not rows or not labels or any(array.shape != shape for array in (regret, stderr, error, losing, runs)):
        raise InvalidParameter(f"regret, stderr, error, losing and runs must be {shape[0]} rows of {shape[1]} policies")
    if not (np.all(np.isfinite([regret, stderr, error])) and np.all(regret > 0.0)):
        raise InvalidParameter("regrets must be numbers above 0, and their errors numbers")
    if np.any((losing < 0.0) | (losing > 1.0)):
        raise InvalidParameter("losing must be shares from 0 to 1, or null")
    return Scores(rows, labels, regret, stderr, error, losing, runs)


def _csv(scores: Scores) -> str:
    """A tidy table: one line for each scenario and policy."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    numbers = ["regret", "stderr", "ratio", "ratio_stderr", "limit", "losing"]
    lines.writerow(["row", "kind", "held", "horizon", "runs", "policy", *numbers])
    ratio, limits = scores.ratio, scores.limits
    for i, scenario in enumerate(scores.scenarios):
        for j, label in enumerate(scores.labels):
            values = (scores.regret[i, j], scores.stderr[i, j], ratio[i, j], scores.error[i, j], limits[i])
            losing = "" if math.isnan(scores.losing[i, j]) else f"{scores.losing[i, j]:.6g}"
            held = str(scenario.held_out).lower()
            start = (scenario.name, scenario.kind, held, scenario.horizon, scores.runs[i, j], label)
            lines.writerow([*start, *(f"{value:.6g}" for value in values), losing])
    return text.getvalue()
