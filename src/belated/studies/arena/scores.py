"""The scores of the arena: regrets, ratios to the best of each scenario, and their means for each policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.studies.arena.scenarios import KINDS, Scenario

HIGH = 1.25
"""Ratios above this are counted."""
FEW_RUNS = 30
"""With fewer runs of a scenario a standard error says little, and is not shown."""


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
        """The scores of one scenario; ``final`` is (policies, runs)."""
        check_regrets(scenario.name, labels, final)
        runs = final.shape[1]
        stderr = final.std(axis=1, ddof=1) / math.sqrt(runs)
        error = _ratio_errors(final)
        return cls((scenario,), tuple(labels), final.mean(axis=1)[None], stderr[None], error[None], np.array([runs]))

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several sets of scenarios as one."""
        names = ("regret", "stderr", "error", "runs")
        return cls(
            tuple(scenario for part in parts for scenario in part.scenarios),
            parts[0].labels,
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names),
        )

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        """Each regret over the smallest of its scenario."""
        ratio: npt.NDArray[np.float64] = self.regret / self.regret.min(axis=1, keepdims=True)
        return ratio

    @property
    def max_rel_error(self) -> float:
        """The largest standard error of a ratio, relative to the ratio."""
        return float((self.error / self.ratio).max())

    @property
    def precision(self) -> str:
        """How precise the ratios are, as a sentence; empty where a scenario has too few runs to say."""
        if int(self.runs.min()) < FEW_RUNS:
            return ""
        return f"Standard errors are at most {100 * self.max_rel_error:.1f} % of a ratio."

    def select(self, condition: Callable[[Scenario], bool]) -> Scores:
        """The scores of some scenarios."""
        kept = [number for number, scenario in enumerate(self.scenarios) if condition(scenario)]
        scenarios = tuple(self.scenarios[number] for number in kept)
        return Scores(scenarios, self.labels, self.regret[kept], self.stderr[kept], self.error[kept], self.runs[kept])

    def of_kind(self, kind: str) -> Scores:
        """The scores of the scenarios of one kind."""
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
        """The geometric mean of each policy."""
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


def check_regrets(scenario: str, labels: Sequence[str], final: npt.NDArray[np.float64]) -> None:
    """Raise an error if some policy has no regret, so that nothing can be divided by it; ``final`` is (policies,
    runs)."""
    without = [label for label, mean in zip(labels, final.mean(axis=1), strict=True) if not mean > 0.0]
    if without:
        raise InvalidParameter(
            f"row {scenario!r}: the regret of {' and of '.join(without)} is 0, and nothing can be compared with that; "
            "give arms that differ, and policies that do not know the best of them."
        )


def _ratio_errors(final: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The standard error of each policy's ratio to the best mean, by the delta method from paired runs; ``final`` is
    (policies, runs)."""
    means = final.mean(axis=1)
    best = int(means.argmin())
    ratio = means / means[best]
    influence = (final - ratio[:, None] * final[best]) / means[best]
    errors: npt.NDArray[np.float64] = influence.std(axis=1, ddof=1) / math.sqrt(final.shape[1])
    return errors


def max_rel_error(final: npt.NDArray[np.float64]) -> float:
    """:attr:`Scores.max_rel_error` of one scenario; ``final`` is (policies, runs)."""
    means = final.mean(axis=1)
    return float((_ratio_errors(final) * means.min() / means).max())
