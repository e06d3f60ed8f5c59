"""Accumulates chunk outputs, in any order, into a Result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock

import numpy as np
import numpy.typing as npt

from belated.engine.run_io import RunOutput, total_pulls
from belated.engine.runner import Chunk, Plan
from belated.errors import InvalidParameter
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.simulation.result import Manifest, Result, labels_of
from belated.simulation.standard_error import standard_error

KEPT_NUMBERS = 2**24
"""The curves of all runs are stored up to this many numbers (128 MiB), otherwise those of the first runs."""
BLOCK_NUMBERS = 2**22
"""The largest number of values in the curves of a chunk (32 MiB) of several runs that are not all stored."""
BLOCK = 256
"""Runs in a block of curves that are summed instead of stored; fixed, so that sums do not depend on the workers."""

OF_ARMS = ("pulls", "observed", "lost", "eliminated_at")
"""What a run leaves behind for each arm."""


class ResultBuilder:
    """Accumulates chunk outputs into a Result. ``block`` is the chunk size that it requires, or 0 for any."""

    def __init__(self, problem: Problem | Family, policies: Sequence[Policy], plan: Plan, runs: int, arms: int) -> None:
        self._problem = problem
        self._policies = policies
        self._plan = plan
        self.arms = arms
        count, points = len(policies), plan.checkpoints.size
        self._kept = min(runs, max(KEPT_NUMBERS // (count * points), 1))
        self.block = max(1, min(BLOCK, BLOCK_NUMBERS // points)) if self._kept < runs else 0
        try:
            self._curves = np.empty((count, self._kept, points))
            self._final = np.empty((count, runs))
            self._of_arms = {name: np.empty((count, runs, arms), np.int32) for name in OF_ARMS}
        except MemoryError:
            raise InvalidParameter(
                f"the result of {count} policies x {runs:,} runs x {arms} arms does not fit into memory; give "
                "fewer runs."
            ) from None
        self._pull_sums = np.zeros((count, points if plan.records_pulls else 0, arms), np.int64)
        self._added = 0  # runs whose pulls are in the sums: the first ones
        self._later: dict[int, npt.NDArray[np.int64]] = {}  # sums of chunks that an unfinished one comes before
        self._adding = Lock()
        self._moments: dict[int, tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}
        self._spans: dict[int, int] = {}

    def add(self, chunk: Chunk, outcomes: Sequence[RunOutput]) -> None:
        """Add the outcome of each policy on a chunk of runs."""
        first, runs = chunk.first, chunk.runs
        rows = slice(first, first + runs)
        for number, outcome in enumerate(outcomes):
            kept = max(min(self._kept - first, runs), 0)
            self._curves[number, first : first + kept] = outcome.curve[:kept]
            self._final[number, rows] = outcome.final
            for name, array in self._of_arms.items():
                array[number, rows] = getattr(outcome, name)
        if self.block:
            for start in range(0, runs, self.block):
                curves = np.array([outcome.curve[start : start + self.block] for outcome in outcomes])
                mean = curves.mean(axis=1)
                spread = ((curves - mean[:, None]) ** 2).sum(axis=1)
                self._moments[first + start] = (curves.shape[1], mean, spread)
        with self._adding:  # chunks on a device are added by several threads
            self._spans[first] = runs
            if self._plan.records_pulls:
                self._later[first] = np.array([outcome.pull_sums for outcome in outcomes])
            while self._added in self._later:
                self._pull_sums += self._later.pop(self._added)
                self._added += self._spans[self._added]

    @property
    def finished(self) -> int:
        """The number of complete runs, counted from the first."""
        run = 0
        while run in self._spans:
            run += self._spans[run]
        return run

    def result(self, seconds: float) -> Result:
        """The result of the finished runs."""
        runs = self.finished
        of_arms = {name: array[:, :runs] for name, array in self._of_arms.items()}
        curves = self._curves[:, : min(self._kept, runs)]
        if runs > self._kept:  # fewer after an interruption, as in a rerun
            mean, stderr = self._summed(runs)
        else:
            mean, stderr = curves.mean(axis=1), standard_error(curves, axis=1)
        plan = self._plan
        record = partial(
            Manifest.of,
            self._problem,
            self._policies,
            plan.horizon,
            runs,
            plan.seed,
            plan.checkpoints,
            seconds,
            plan.shuffle,
        )
        return Result(
            horizon=plan.horizon,
            record=record,
            labels=labels_of(self._policies),
            rounds=plan.checkpoints,
            mean=mean,
            stderr=stderr,
            curves=curves,
            final=self._final[:, :runs],
            **of_arms,
            pull_sums=total_pulls(self._pull_sums, plan.checkpoints) if plan.records_pulls else None,
            in_flight=of_arms["pulls"] - of_arms["observed"] - of_arms["lost"],
            source=(self._problem, tuple(self._policies)),
        )

    def _summed(self, runs: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Mean and standard error from the moments of the blocks, combined in the order of the runs."""
        shape = (len(self._policies), self._plan.checkpoints.size)
        count, mean, squares = 0, np.zeros(shape), np.zeros(shape)
        for first in sorted(first for first in self._moments if first < runs):
            size, block_mean, block_squares = self._moments[first]
            delta = block_mean - mean
            squares = squares + block_squares + delta**2 * (count * size / (count + size))
            mean = mean + delta * (size / (count + size))
            count += size
        return mean, np.sqrt(squares / (count - 1) / count) if count > 1 else np.full(shape, np.nan)
