"""Play rows with policies, until each ratio is known well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from belated.errors import ArenaInterrupted, InvalidParameter
from belated.kernel.rng import check_seed
from belated.policies import Policy
from belated.simulation.progress import Progress
from belated.simulation.simulate import check_device, simulate
from belated.studies.arena.contestants import labels_of
from belated.studies.arena.scenarios import Scenario
from belated.studies.arena.scores import Scores, check_regrets, max_rel_error

FIRST, MOST = 120, 15_360
"""Runs of a row at first, and at the most."""
ROWS_ON_DEVICE = 32
"""Rows that a device plays at a time."""
PRECISION = 0.05
"""The standard error of a ratio, over the ratio, that is small enough."""
_BATCH = 2**64
"""Between the seeds of two batches of runs: users' own are smaller."""


@dataclass(frozen=True)
class ArenaStep:
    """How far the arena is: the row that is played, how many of so many rows are finished, and how far the row is."""

    row: str
    finished: int
    rows: int
    runs: int
    progress: Progress


Watch = Callable[[ArenaStep], None]


def play(
    rows: Sequence[Scenario],
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
    ratio to the row's best is at most a twentieth of the ratio, or the runs are 15,360. ``watch`` is called on the way,
    with a device from several threads, one after the other.

    >>> from belated.studies.arena import entrants, rows
    >>> scores = play(rows(["fixed-500"]), entrants(["UCB", "ThompsonSampling"]), runs=8)
    >>> [round(float(ratio)) for ratio in scores.ratio[0]]
    [8, 1]
    """
    if not rows:
        raise InvalidParameter("rows is empty; give at least one row, such as rows(['fixed-*']).")
    if len(policies) < 2:
        raise InvalidParameter(f"policies has {len(policies)}; give at least two, as they are compared.")
    for place, policy in enumerate(policies):
        if not isinstance(policy, Policy):
            raise InvalidParameter(f"policies[{place}] is {policy!r}; give a policy, such as UCB(confidence=1.0).")
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int) or runs < 2):
        raise InvalidParameter(f"runs is {runs!r}; give a whole number >= 2, or leave it out: as many as are needed.")
    check_device(device)
    player = _Player(tuple(policies), runs, seed, workers, device, len(rows), watch)
    found: dict[Scenario, Scores] = {}
    try:
        if device == "cpu":
            for row in rows:
                found[row] = player.row(row)
        else:
            _play_together(player, rows, found)
    except KeyboardInterrupt:
        finished = [found[row] for row in rows if row in found]
        message = f"interrupted after {len(finished)} of {len(rows)} rows."
        raise ArenaInterrupted(message, Scores.joined(finished) if finished else None) from None
    return Scores.joined([found[row] for row in rows])


def _play_together(player: _Player, rows: Sequence[Scenario], found: dict[Scenario, Scores]) -> None:
    """A device plays several rows at a time, as one does not fill it; the long ones first."""
    pool = ThreadPoolExecutor(ROWS_ON_DEVICE)
    try:
        waiting = {pool.submit(player.row, row): row for row in sorted(rows, key=lambda row: -row.horizon)}
        for future in as_completed(waiting):
            found[waiting[future]] = future.result()
    finally:
        player.stop()
        pool.shutdown(cancel_futures=True)


class _Player:
    """Plays rows."""

    def __init__(
        self,
        policies: tuple[Policy, ...],
        runs: int | None,
        seed: int,
        workers: int | None,
        device: str,
        rows: int,
        watch: Watch | None,
    ) -> None:
        self._policies, self._labels = policies, labels_of(policies)
        self._runs, self._seed, self._workers, self._device = runs, check_seed(seed), workers, device
        self._rows, self._watch = rows, watch
        self._finished = 0
        self._stopped = False
        self._one_at_a_time = Lock()

    def stop(self) -> None:
        """No row begins another batch of runs."""
        self._stopped = True

    def row(self, row: Scenario) -> Scores:
        """Play a row, as often as is needed."""
        final = self._batch(row, 0, self._runs or FIRST, 0)
        check_regrets(row.name, self._labels, final)
        number = 1
        while self._runs is None and not self._stopped and final.shape[1] < MOST:
            runs, off = final.shape[1], max_rel_error(final) / PRECISION
            if off <= 1.0:
                break
            wanted = min(int(1.1 * runs * off**2) + 1, 4 * runs, MOST)
            final = np.concatenate([final, self._batch(row, number, wanted - runs, runs)], axis=1)
            number += 1
        with self._one_at_a_time:
            self._finished += 1
        return Scores.of(row, self._labels, final)

    def _batch(self, row: Scenario, number: int, runs: int, before: int) -> npt.NDArray[np.float64]:
        """(policies, runs) the regrets at the end."""

        def show(progress: Progress) -> None:
            if self._watch is not None:
                with self._one_at_a_time:
                    self._watch(ArenaStep(row.name, self._finished, self._rows, before + runs, progress))

        return simulate(
            row.problem,
            self._policies,
            horizon=row.horizon,
            runs=runs,
            seed=self._seed + number * _BATCH,
            checkpoints=1,
            workers=self._workers,
            device=self._device,
            progress=show,
        ).final
