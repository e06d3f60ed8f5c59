"""sweep(): pseudo-regret against one parameter, the same seeds for every value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter, SweepInterrupted
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.simulation.progress import Progress, progress_reporter
from belated.simulation.result import Result
from belated.simulation.simulate import simulate
from belated.validation import MAX_HORIZON, Domain

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HORIZON = Domain(1, MAX_HORIZON, whole=True)
_RUNS = Domain(1, 2**31, whole=True)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Pseudo-regret at the horizon of P policies for V values of one parameter; R runs for each value.

    Run r meets the same draws for every value, so that differences between values are paired too."""

    name: str
    """The parameter."""
    values: list[Any]
    """(V,) its values."""
    labels: list[str]
    """(P,) a name for each policy."""
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
    >>> found = sweep(lambda delay: Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(delay)), [0, 100, 400],
    ...               [UCB(), SuccessiveElimination()], horizon=1000, runs=50, name="delay")
    >>> found.mean.shape, bool(found.mean[0, 2] > found.mean[0, 0])
    ((2, 3), True)
    """
    points = _points(values)
    lists = [_listed(policies(value) if callable(policies) else policies) for value in points]
    labels = _labels(lists, points)
    problems = [problem_of(value) for value in points]
    horizons = [_whole(_HORIZON, "horizon", horizon(value) if callable(horizon) else horizon) for value in points]
    runs = _whole(_RUNS, "runs", runs)
    results: list[Result] = []
    with progress_reporter(progress, total=runs * len(labels) * sum(horizons)) as report:
        same: dict[str, Any] = {"runs": runs, "seed": seed, "checkpoints": checkpoints, "workers": workers}
        try:
            for problem, chosen, rounds in zip(problems, lists, horizons, strict=True):
                results.append(simulate(problem, chosen, horizon=rounds, progress=_increments(report), **same))
        except KeyboardInterrupt as error:
            done = len(results)
            finished = Sweep(name, points[:done], labels, results) if done else None
            message = f"interrupted after {done} of {len(points)} values."
            stopped = SweepInterrupted(message, finished, getattr(error, "result", None))
            raise stopped from None
    return Sweep(name, points, labels, results)


def _increments(report: Callable[[int], None]) -> Callable[[Progress], None]:
    """Hands on the rounds played since the last call."""
    before = 0

    def show(progress: Progress) -> None:
        nonlocal before
        report(progress.done - before)
        before = progress.done

    return show


def _points(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(f"values is {values!r}; give a list of at least one value.")
    points = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not points:
        raise InvalidParameter("values is empty; give a list of at least one value.")
    return points


def _listed(policies: Any) -> list[Policy]:
    return [policies] if isinstance(policies, Policy) else list(policies)


def _whole(domain: Domain, name: str, value: Any) -> int:
    found = domain.check("sweep", name, value)
    assert found is not None
    return int(found)


def _labels(lists: Sequence[Sequence[Policy]], points: Sequence[Any]) -> list[str]:
    """A label for each policy: short where that is unique, with its parameters where these tell it apart and are the
    same for all values."""
    for value, chosen in zip(points, lists, strict=True):
        if not chosen or len(chosen) != len(lists[0]) or not all(isinstance(policy, Policy) for policy in chosen):
            raise InvalidParameter(
                f"policies for {value!r} is {chosen!r}; give the same number of policies for each value, at least one, "
                "such as [UCB(confidence=1.0)]."
            )
    columns = list(zip(*lists, strict=True))
    names = [" / ".join(dict.fromkeys(policy.label for policy in column)) for column in columns]
    count = Counter(names)
    for place, column in enumerate(columns):
        told = {policy.describe() for policy in column}
        if count[names[place]] > 1 and len(told) == 1:
            names[place] = told.pop()
    return [name if names.count(name) == 1 else f"{name} #{names[: j + 1].count(name)}" for j, name in enumerate(names)]
