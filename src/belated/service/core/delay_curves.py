"""Delay curves: how long answers take, from those that came and those that are still out."""

from __future__ import annotations

import warnings
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats

from belated.service.api.messages import CurveAnswer, DelaysAnswer
from belated.service.core.errors import unknown_experiment
from belated.service.core.timestamps import now, shown
from belated.service.storage.journal import Journal

NEWEST = 100_000
"""How many decisions are looked at, the newest ones."""
POINTS = 200
"""Points of a curve, at the most."""


def delay_curves(journal: Journal, name: str, arms: list[str]) -> DelaysAnswer:
    """The Kaplan-Meier curve of each arm's delay. A pending answer is one that takes longer than its age; one that
    silence gave is pending still."""
    stored = journal.experiment(name)
    if stored is None:
        raise unknown_experiment(name)
    time = now()
    waited: list[list[float]] = [[] for _ in arms]
    came: list[list[bool]] = [[] for _ in arms]
    lives = journal.lives(stored.id, NEWEST)
    for arm, decided, answered, _, extra in lives:
        if arm >= len(arms):
            continue  # of an arm that was added just now
        end = time if answered is None else _seen(answered, extra)
        waited[arm].append(max(end - decided, 0) / 1e6)
        came[arm].append(answered is not None)
    curves = [_curve(arm, np.array(w), np.array(c, bool)) for arm, w, c in zip(arms, waited, came, strict=True)]
    return DelaysAnswer(name, shown(time), len(lives), curves)


def _seen(answered: int, extra: str | None) -> int:
    return int(msgspec.json.decode(extra).get("observed_at", answered)) if extra else answered


def _curve(arm: str, waited: npt.NDArray[np.float64], came: npt.NDArray[np.bool_]) -> CurveAnswer:
    observed = int(came.sum())
    if not observed:
        return CurveAnswer(arm, 0, int(came.size), [], [], [], [])
    found: Any = stats.ecdf(stats.CensoredData.right_censored(waited, ~came))
    with warnings.catch_warnings():  # where nothing is left at risk, the interval is not defined
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = found.cdf.confidence_interval(0.95)
    steps = np.flatnonzero(np.diff(found.cdf.probabilities, prepend=0.0) > 0.0)
    chosen = steps[np.unique(np.linspace(0, steps.size - 1, min(steps.size, POINTS)).round().astype(int))]
    return CurveAnswer(
        arm,
        observed,
        int(came.size) - observed,
        found.cdf.quantiles[chosen].tolist(),
        found.cdf.probabilities[chosen].tolist(),
        _known(interval.low.probabilities[chosen]),
        _known(interval.high.probabilities[chosen]),
    )


def _known(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
