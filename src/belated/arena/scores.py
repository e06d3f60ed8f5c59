"""What the arena found: regrets, ratios to each row's best, and what they come to for each policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.arena.rows import Row

HIGH = 1.25
"""A ratio above this is counted."""


@dataclass(frozen=True)
class Scores:
    """The arena's table. Rows of the arrays are rows of the arena, columns are policies."""

    rows: tuple[Row, ...]
    labels: tuple[str, ...]
    regret: npt.NDArray[np.float64]
    stderr: npt.NDArray[np.float64]
    """Of the regrets."""
    error: npt.NDArray[np.float64]
    """Standard error of the ratios, from paired runs."""
    runs: npt.NDArray[np.int64]
    """Of each row."""

    @property
    def ratio(self) -> npt.NDArray[np.float64]:
        """Each regret over the smallest of its row."""
        return self.regret / self.regret.min(axis=1, keepdims=True)

    def among(self, wanted: Callable[[Row], bool]) -> Scores:
        """The same for some rows."""
        keep = [place for place, row in enumerate(self.rows) if wanted(row)]
        picked = tuple(self.rows[place] for place in keep)
        return Scores(picked, self.labels, self.regret[keep], self.stderr[keep], self.error[keep], self.runs[keep])

    def geometric_mean(self, label: str) -> float:
        """Of a policy's ratios; NaN if there are no rows."""
        column = self.ratio[:, self.labels.index(label)]
        return float(np.exp(np.log(column).mean())) if column.size else math.nan

    def worst(self, label: str) -> tuple[str, float]:
        """(row, ratio) where a policy does worst."""
        column = self.ratio[:, self.labels.index(label)]
        place = int(column.argmax())
        return self.rows[place].name, float(column[place])

    def above(self, label: str, limit: float = HIGH) -> list[str]:
        """The rows in which a policy's ratio is above a limit."""
        column = self.ratio[:, self.labels.index(label)]
        return [row.name for row, ratio in zip(self.rows, column, strict=True) if ratio > limit]


def ratio_errors(final: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The standard error of each policy's ratio to the best mean, by the delta method from paired runs; ``final`` is
    (policies, runs)."""
    means = final.mean(axis=1)
    best = int(means.argmin())
    ratio = means / means[best]
    influence = (final - ratio[:, None] * final[best]) / means[best]
    found: npt.NDArray[np.float64] = influence.std(axis=1, ddof=1) / math.sqrt(final.shape[1])
    return found


def joined(parts: Sequence[Scores]) -> Scores:
    """The scores of several sets of rows as one."""
    first = parts[0]
    return Scores(
        tuple(row for part in parts for row in part.rows),
        first.labels,
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("regret", "stderr", "error", "runs")),
    )
