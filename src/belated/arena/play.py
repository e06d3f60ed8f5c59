"""Play rows with policies, until each ratio is known well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from belated.arena.rows import Row
from belated.arena.scores import Scores, known
from belated.errors import ArenaInterrupted, InvalidParameter
from belated.forms.base import Policy
from belated.progress import Progress
from belated.simulate import simulate

FIRST, MOST = 60, 3840
"""Runs of a row at first, and at the most."""
PRECISION = 0.05
"""The standard error of a ratio, over the ratio, that is small enough."""
_BATCH = 2**64
"""Between the seeds of two batches of runs: users' own are smaller."""


@dataclass(frozen=True)
class Step:
    """How far the arena is."""

    row: str
    place: int
    rows: int
    runs: int
    progress: Progress


Watch = Callable[[Step], None]


def play(
    rows: Sequence[Row],
    policies: Sequence[Policy],
    *,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    watch: Watch | None = None,
) -> Scores:
    """Every policy on every row; within a row all meet the same rewards and delays, run by run.

    ``runs`` is the number of runs of each row. Without it a row is played until the standard error of each policy's
    ratio to the row's best is at most a twentieth of the ratio, or the runs are 3,840.

    >>> from belated.arena import entrants, rows
    >>> scores = play(rows(["fixed-500"]), entrants(["UCB", "ThompsonSampling"]), runs=8)
    >>> [round(float(ratio)) for ratio in scores.ratio[0]]
    [7, 1]
    """
    if not rows:
        raise InvalidParameter("rows is empty; give at least one row, such as rows(['fixed-*']).")
    if len(policies) < 2:
        raise InvalidParameter(f"policies has {len(policies)}; give at least two, as they are compared.")
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int) or runs < 2):
        raise InvalidParameter(f"runs is {runs!r}; give a whole number >= 2, or None for as many as are needed.")
    played: list[Scores] = []
    try:
        for place, row in enumerate(rows):

            def batch(
                number: int, count: int, before: int, row: Row = row, place: int = place
            ) -> npt.NDArray[np.float64]:
                def show(progress: Progress) -> None:
                    if watch is not None:
                        watch(Step(row.name, place, len(rows), before + count, progress))

                return simulate(
                    row.problem,
                    policies,
                    horizon=row.horizon,
                    runs=count,
                    seed=seed + number * _BATCH,
                    checkpoints=1,
                    workers=workers,
                    device=device,
                    progress=show,
                ).final

            labels, final = _labels(policies), _play_row(batch, runs)
            played.append(Scores.of(row, labels, final))
    except KeyboardInterrupt:
        message = f"interrupted after {len(played)} of {len(rows)} rows."
        raise ArenaInterrupted(message, Scores.joined(played) if played else None) from None
    return Scores.joined(played)


def _play_row(batch: Callable[[int, int, int], npt.NDArray[np.float64]], runs: int | None) -> npt.NDArray[np.float64]:
    """(policies, runs) the regrets at the end."""
    final = batch(0, runs or FIRST, 0)
    number = 1
    while runs is None and final.shape[1] < MOST:
        off = known(final) / PRECISION
        if off <= 1.0:
            break
        wanted = min(int(1.1 * final.shape[1] * off**2) + 1, 4 * final.shape[1], MOST)
        final = np.concatenate([final, batch(number, wanted - final.shape[1], final.shape[1])], axis=1)
        number += 1
    return final


def _labels(policies: Sequence[Policy]) -> tuple[str, ...]:
    """Of each policy its label; where several have the same, with the parameters in which they differ."""
    return tuple(_label(policy, [other for other in policies if other.label == policy.label]) for policy in policies)


def _label(policy: Policy, alike: Sequence[Policy]) -> str:
    told = [policy.label]
    for field in fields(policy):
        values = [getattr(other, field.name, None) for other in alike]
        value = getattr(policy, field.name)
        if any(other != value for other in values) and value is not False:
            told.append(field.name if value is True else f"{field.name}={value}")
    return " ".join(told)
