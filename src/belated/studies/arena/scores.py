"""What the arena found: regrets, ratios to each row's best, and what they come to for each policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.studies.arena.scenarios import KINDS, Scenario

HIGH = 1.25
"""A ratio above this is counted."""
FEW = 30
"""Below so many runs of a row a standard error says little, and is not told."""


def three_figures(ratio: float) -> str:
    """A ratio as tables and pictures show it.

    >>> three_figures(1.254), three_figures(12.34), three_figures(1234.5)
    ('1.25', '12.3', '1,234')
    """
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:,.0f}"


@dataclass(frozen=True)
class Scores:
    """The arena's table. Rows of the arrays are rows of the arena, columns are policies."""

    rows: tuple[Scenario, ...]
    labels: tuple[str, ...]
    regret: npt.NDArray[np.float64]
    stderr: npt.NDArray[np.float64]
    """Of the regrets."""
    error: npt.NDArray[np.float64]
    """Standard error of the ratios, from paired runs."""
    runs: npt.NDArray[np.int64]
    """Of each row."""

    @classmethod
    def of(cls, row: Scenario, labels: Sequence[str], final: npt.NDArray[np.float64]) -> Scores:
        """The scores of one row; ``final`` is (policies, runs)."""
        check_regrets(row.name, labels, final)
        runs = final.shape[1]
        stderr = final.std(axis=1, ddof=1) / math.sqrt(runs)
        error = _ratio_errors(final)
        return cls((row,), tuple(labels), final.mean(axis=1)[None], stderr[None], error[None], np.array([runs]))

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of several sets of rows as one."""
        names = ("regret", "stderr", "error", "runs")
        return cls(
            tuple(row for part in parts for row in part.rows),
            parts[0].labels,
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names),
        )

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        """Each regret over the smallest of its row."""
        found: npt.NDArray[np.float64] = self.regret / self.regret.min(axis=1, keepdims=True)
        return found

    @property
    def known(self) -> float:
        """The largest standard error of a ratio, over the ratio."""
        return float((self.error / self.ratio).max())

    @property
    def precision(self) -> str:
        """How well the ratios are known, as a sentence; empty where a row has too few runs to say."""
        if int(self.runs.min()) < FEW:
            return ""
        return f"Standard errors are at most {100 * self.known:.1f} % of a ratio."

    def among(self, wanted: Callable[[Scenario], bool]) -> Scores:
        """The same for some rows."""
        keep = [place for place, row in enumerate(self.rows) if wanted(row)]
        picked = tuple(self.rows[place] for place in keep)
        return Scores(picked, self.labels, self.regret[keep], self.stderr[keep], self.error[keep], self.runs[keep])

    def of_kind(self, kind: str) -> Scores:
        """The same for the rows of one kind."""
        return self.among(lambda row: row.kind == kind)

    @property
    def kinds(self) -> list[str]:
        """The kinds of row that there are, in their order."""
        return [kind for kind in KINDS if any(row.kind == kind for row in self.rows)]

    def ranked(self) -> list[str]:
        """The policies, that with the smallest geometric mean first."""
        return sorted(self.labels, key=self.geometric_mean)

    def geometric_mean(self, label: str) -> float:
        """Of a policy's ratios; NaN if there are no rows."""
        column = self.ratio[:, self.labels.index(label)]
        return float(np.exp(np.log(column).mean())) if column.size else math.nan

    def means(self) -> npt.NDArray[np.float64]:
        """The geometric mean of each policy."""
        return np.array([self.geometric_mean(label) for label in self.labels])

    def worst(self, label: str) -> tuple[str, float]:
        """(row, ratio) where a policy does worst."""
        column = self.ratio[:, self.labels.index(label)]
        place = int(column.argmax())
        return self.rows[place].name, float(column[place])

    def above(self, label: str, limit: float = HIGH) -> list[str]:
        """The rows in which a policy's ratio is above a limit."""
        column = self.ratio[:, self.labels.index(label)]
        return [row.name for row, ratio in zip(self.rows, column, strict=True) if ratio > limit]


def check_regrets(row: str, labels: Sequence[str], final: npt.NDArray[np.float64]) -> None:
    """An error where some policy has no regret, so that there is no ratio to it; ``final`` is (policies, runs)."""
    none = [label for label, mean in zip(labels, final.mean(axis=1), strict=True) if not mean > 0.0]
    if none:
        raise InvalidParameter(
            f"row {row!r}: the regret of {' and of '.join(none)} is 0, and nothing can be compared with that; give "
            "arms that differ, and policies that do not know the best of them."
        )


def _ratio_errors(final: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The standard error of each policy's ratio to the best mean, by the delta method from paired runs; ``final`` is
    (policies, runs)."""
    means = final.mean(axis=1)
    best = int(means.argmin())
    ratio = means / means[best]
    influence = (final - ratio[:, None] * final[best]) / means[best]
    found: npt.NDArray[np.float64] = influence.std(axis=1, ddof=1) / math.sqrt(final.shape[1])
    return found


def max_rel_error(final: npt.NDArray[np.float64]) -> float:
    """What :attr:`Scores.known` is for one row; ``final`` is (policies, runs)."""
    means = final.mean(axis=1)
    return float((_ratio_errors(final) * means.min() / means).max())
