"""sweep(): pseudo-regret against one parameter, the same seed for every value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter, SweepInterrupted
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.simulation.progress import Progress, progress_reporter
from belated.simulation.result import Result
from belated.studies.runner import RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.studies.study import Axis, Cell, Study, column_labels
from belated.validation import MAX_HORIZON, check_integer

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Sweep:
    """Pseudo-regret at the horizon of P policies for V values of one parameter; R runs for each value.

    Run r meets the same draws for every value, so that differences between values are paired too."""

    name: str
    """The parameter."""
    values: list[Any]
    """(V,) its values."""
    labels: list[str]
    """(P,) a label for each policy."""
    results: list[Result]
    """(V,) the whole result for each value."""

    @property
    def runs(self) -> int:
        """R, the number of runs for each value."""
        return self.results[0].runs

    @cached_property
    def mean(self) -> npt.NDArray[np.float64]:
        """(P, V) mean pseudo-regret at the horizon."""
        return np.array([result.final.mean(axis=1) for result in self.results]).T

    @cached_property
    def stderr(self) -> npt.NDArray[np.float64]:
        """(P, V) its standard error; NaN for a single run."""
        if self.runs == 1:
            return np.full(self.mean.shape, np.nan)
        return np.array([result.final.std(axis=1, ddof=1) / np.sqrt(self.runs) for result in self.results]).T

    def to_frame(self) -> pandas.DataFrame:
        """A tidy table: one row for each policy and value, with mean, standard error and quantiles of the pseudo-regret
        at the horizon."""
        import pandas

        count = len(self.values)
        quantiles = np.array([np.quantile(result.final, (0.05, 0.5, 0.95), axis=1) for result in self.results])
        low, middle, high = quantiles.transpose(1, 2, 0)
        return pandas.DataFrame(
            {
                "policy": np.repeat(self.labels, count),
                "parameter": self.name,
                "value": self.values * len(self.labels),
                "mean": self.mean.ravel(),
                "stderr": self.stderr.ravel(),
                "q05": low.ravel(),
                "median": middle.ravel(),
                "q95": high.ravel(),
                "runs": self.runs,
                "horizon": [result.horizon for result in self.results] * len(self.labels),
            }
        )

    def plot(self, ax: Axes | None = None) -> Figure:
        """Mean pseudo-regret at the horizon against the parameter, with bands of four standard errors."""
        from belated.simulation.figures import plot_sweep

        return plot_sweep(self.name, np.array(self.values), self.mean, self.stderr, self.labels, self.runs, ax)


def sweep(
    problem_of: Callable[[Any], Problem | Family],
    values: Iterable[Any],
    policies: Policy | Sequence[Policy] | Callable[[Any], Policy | Sequence[Policy]],
    *,
    horizon: int | Callable[[Any], int],
    runs: int,
    seed: int = 0,
    name: str = "value",
    checkpoints: int | npt.ArrayLike = 100,
    workers: int | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
) -> Sweep:
    """Simulate ``problem_of(value)`` for each value: regret against one parameter, such as the delay, the gap, or K.

    ``policies`` and ``horizon`` may be functions of the value too. All values have the same seed, so that run r of one
    is paired with run r of the others. ``workers`` and ``progress`` are as in :func:`~belated.simulate`.
    Ctrl-C raises :class:`SweepInterrupted`, whose ``sweep`` holds the values finished by then.

    >>> from belated.delays import Fixed
    >>> from belated.policies import UCB, SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> swept = sweep(lambda delay: Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(delay)), [0, 100, 400],
    ...               [UCB(), SuccessiveElimination()], horizon=1000, runs=50, name="delay")
    >>> swept.mean.shape, bool(swept.mean[0, 2] > swept.mean[0, 0])
    ((2, 3), True)
    """
    points = _points(values)
    lists = [_policies(policies(value) if callable(policies) else policies, value) for value in points]
    if len({len(one) for one in lists}) > 1:
        value, odd = next((value, one) for value, one in zip(points, lists, strict=True) if len(one) != len(lists[0]))
        raise InvalidParameter(f"policies for {value!r} is {odd!r}; give the same number of policies for each value.")
    cells = []
    for value, chosen in zip(points, lists, strict=True):
        rounds = check_integer("horizon", horizon(value) if callable(horizon) else horizon, 1, MAX_HORIZON)
        cells.append(Cell({name: value}, problem_of(value), chosen, rounds))
    runs = check_integer("runs", runs, 1, 2**31)
    axis, rounds_kept = Axis(name, tuple(points)), cast("int | Sequence[int]", checkpoints)
    study = Study(name, "", (axis,), column_labels(lists), tuple(cells), runs, runs, rounds_kept)
    return sweep_study(study, seed=seed, workers=workers, progress=progress)


def sweep_study(
    study: Study,
    *,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
) -> Sweep:
    """Play a study with one axis, value by value."""
    (axis,) = study.axes
    results: list[Result] = []
    before = 0

    def swept() -> Sweep:
        return Sweep(axis.name, list(axis.values[: len(results)]), list(study.labels), results)

    def rule() -> StoppingRule[Sweep]:
        nonlocal before
        for cell in range(len(study.cells)):
            before = 0
            played = yield RunBatch([cell], study.runs)
            results.append(played[cell])
        return swept()

    rounds = study.runs * len(study.labels) * sum(cell.horizon for cell in study.cells)
    with progress_reporter(progress, rounds) as report:

        def watch(step: RunnerStep) -> None:
            nonlocal before
            report(step.progress.done - before)
            before = step.progress.done

        try:
            with StudyRunner(seed=seed, workers=workers, watch=watch) as runner:
                return runner.run(study, rule())
        except KeyboardInterrupt as error:
            message = f"interrupted after {len(results)} of {len(axis.values)} values."
            raise SweepInterrupted(message, swept() if results else None, getattr(error, "result", None)) from None


def _points(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(f"values is {values!r}; give a list of at least one value.")
    points = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not points:
        raise InvalidParameter("values is empty; give a list of at least one value.")
    return points


def _policies(policies: Any, value: Any) -> tuple[Policy, ...]:
    chosen = (policies,) if isinstance(policies, Policy) else tuple(policies)
    if not chosen or not all(isinstance(policy, Policy) for policy in chosen):
        raise InvalidParameter(
            f"policies for {value!r} is {list(chosen)!r}; give at least one policy, such as [UCB(confidence=1.0)]."
        )
    return chosen
