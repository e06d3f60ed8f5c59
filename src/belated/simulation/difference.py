"""Paired differences of two policies."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from belated.formatting import plus_minus, quantity
from belated.html_table import html_table
from belated.simulation.standard_error import standard_error
from belated.validation import Domain, check_number

_LEVEL = Domain(0, 1, open_low=True, open_high=True)


class _Values(NamedTuple):
    mean: float
    stderr: float
    runs: npt.NDArray[np.float64]


class Difference(_Values):
    """The paired difference of the pseudo-regret of two policies at the horizon: first minus second, run by run.

    ``mean`` and ``stderr`` are over the runs, ``runs`` has each of them; ``labels`` names the two policies."""

    labels: tuple[str, str] = ("first", "second")

    @classmethod
    def of(cls, runs: npt.NDArray[np.float64], labels: tuple[str, str]) -> Self:
        """The difference from that of each run."""
        stderr = float(standard_error(runs))
        difference = cls(float(runs.mean()), stderr, runs)
        difference.labels = labels
        return difference

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A confidence interval of the mean difference, by Student's t: for regrets with heavy tails use many runs.

        >>> low, high = Difference.of(np.array([1.0, 2.0, 3.0]), ("UCB", "SE")).interval()
        >>> round(low, 2), round(high, 2)
        (-0.48, 4.48)
        """
        check_number("level", level, _LEVEL)
        if self.runs.size < 2:
            return -math.inf, math.inf
        from scipy.special import stdtrit

        half = self.stderr * float(stdtrit(self.runs.size - 1, (1.0 + level) / 2.0))
        return self.mean - half, self.mean + half

    def __repr__(self) -> str:
        first, second = self.labels
        return f"<Difference {first} - {second}: {plus_minus(self.mean, self.stderr, '+')} in {self.runs.size:,} runs>"

    def _repr_html_(self) -> str:
        first, second = self.labels
        low, high = self.interval()
        better = float(np.mean(self.runs < 0.0)) if self.runs.size else math.nan
        return html_table(
            f"Regret of {first} minus {second}",
            ["", ""],
            [
                ["mean ± standard error", plus_minus(self.mean, self.stderr, "+")],
                ["95% interval", f"{quantity(low)} to {quantity(high)}"],
                [f"runs where {first} has less regret", f"{100.0 * better:.1f}%"],
            ],
            note=f"{self.runs.size:,} paired runs",
        )
