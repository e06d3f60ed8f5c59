"""sweep(): pseudo-regret against one or two parameters, the same seed for every value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter, SweepInterrupted
from belated.formatting import grouped, plural, plus_minus
from belated.html_table import cut, html_table
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.simulation.progress import Progress, progress_reporter
from belated.simulation.result import Result
from belated.simulation.simulate import check_device
from belated.simulation.standard_error import standard_error
from belated.studies.runner import RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.studies.study import Axis, Cell, Study, column_labels
from belated.studies.sweep_axes import axes_of, call_at, finished_axes
from belated.studies.sweep_files import load_sweep, save_sweep
from belated.validation import MAX_HORIZON, check_bool, check_integer

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Pseudo-regret at the horizon of P policies for V values of one parameter, or pairs of values of two; R runs for
    each value.

    Run r meets the same draws for every value, so that differences between values are paired too."""

    name: str
    """The parameter; both, if there are two."""
    values: list[Any]
    """(V,) its values; pairs, if there are two parameters."""
    labels: list[str]
    """(P,) a label for each policy."""
    results: list[Result]
    """(V,) the whole result for each value."""
    parameters: tuple[Axis, ...] = ()
    """The two parameters with their values, if there are two."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The parameter with its values, or both."""
        return self.parameters or (Axis(self.name, tuple(self.values)),)

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
        return np.array([standard_error(result.final) for result in self.results]).T

    def policy_number(self, name: str | int) -> int:
        """The number of a policy: 0, 1, ...

        Parameters
        ----------
        name
            The label of a policy, or its index.
        """
        return self.results[0].policy_number(self.labels.index(name) if name in self.labels else name)

    def to_frame(self) -> pandas.DataFrame:
        """A tidy table: one row for each policy and value, with mean, standard error and quantiles of the pseudo-regret
        at the horizon. Two parameters have a column each, named for them."""
        import pandas

        count, policies = len(self.values), len(self.labels)
        quantiles = np.array([np.quantile(result.final, (0.05, 0.5, 0.95), axis=1) for result in self.results])
        low, middle, high = quantiles.transpose(1, 2, 0)
        if self.parameters:
            columns = {
                axis.name: [value[place] for value in self.values] * policies for place, axis in enumerate(self.axes)
            }
        else:
            columns = {"parameter": [self.name] * count * policies, "value": self.values * policies}
        return pandas.DataFrame(
            {
                "policy": np.repeat(self.labels, count),
                **columns,
                "mean": self.mean.ravel(),
                "stderr": self.stderr.ravel(),
                "q05": low.ravel(),
                "median": middle.ravel(),
                "q95": high.ravel(),
                "runs": self.runs,
                "horizon": [result.horizon for result in self.results] * policies,
            }
        )

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        bands: float | None = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        kind: str | None = None,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        ax: Axes,
        *,
        bands: float | None = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        kind: str | None = None,
    ) -> Axes: ...

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bands: float | None = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        kind: str | None = None,
    ) -> Figure | Axes:
        """Mean pseudo-regret at the horizon against the parameter, with bands of four standard errors.

        Two parameters are drawn as heat maps, one per policy, or as one panel for each value of one of them, if that
        has few values or they are not numbers.

        Parameters
        ----------
        ax
            The axes to draw into, for one parameter; by default those of a new figure.
        bands
            The half-width of the bands in standard errors; None for no bands. Heat maps have none.
        policies
            Labels or indices of those to show, in this order; by default all.
        log
            The logarithmic axes: "x", "y" or "xy"; by default "x" for values that are spaced by ratios, apart from
            0. Not for heat maps.
        legend
            True, False, or "direct" for labels at the ends of the lines, if there is one parameter.
        kind
            "heatmap" or "facets", for two parameters; by default what suits the values.
        """
        from belated.simulation.figures import chosen_policies, plot_sweep

        shown = chosen_policies(self, policies)
        if self.parameters:
            from belated.studies.sweep_figures import plot_two

            if ax is not None:
                raise InvalidParameter(
                    "ax is given, and this sweep has two parameters, which take several panels; plot without ax."
                )
            return plot_two(self, shown, kind, bands=bands, log=log, legend=legend)
        if kind is not None:
            raise InvalidParameter(f"kind is {kind!r}, and this sweep has one parameter; leave kind out.")
        return plot_sweep(
            self.name,
            self.values,
            self.mean,
            self.stderr,
            self.labels,
            self.runs,
            ax,
            bands=bands,
            policies=shown,
            log=log,
            legend=legend,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the sweep and all its results to one file, atomically; return its path (``.sweep`` is added if
        missing).

        Parameters
        ----------
        path
            The file. Values of the parameter that are neither numbers, text, laws, policies, nor lists or tuples of
            them are written as their text; so are laws that are not plain data, such as ``ByReward`` by a function.
            A law of your own comes back as its text where it cannot be imported.
        """
        return save_sweep(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Sweep:
        """Read a file that :meth:`save` wrote.

        Parameters
        ----------
        path
            The file.
        """
        name, axes, labels, results = load_sweep(path)
        if len(axes) == 1:
            return cls(name, list(axes[0].values), labels, results)
        return cls(name, list(product(*(axis.values for axis in axes))), labels, results, axes)

    def __repr__(self) -> str:
        sizes = " x ".join(f"{len(axis.values):,} values of {axis.name}" for axis in self.axes)
        labels = ", ".join(self.labels[:4]) + (f" and {len(self.labels) - 4} more" if len(self.labels) > 4 else "")
        return f"<Sweep over {sizes}: {labels}; {plural(self.runs, 'run')} each>"

    def _repr_html_(self) -> str:
        shown, hidden = cut(len(self.values))
        rows = []
        for place in shown:
            value = self.values[place]
            coordinates = value if self.parameters else [value]
            means = zip(self.mean[:, place], self.stderr[:, place], strict=True)
            rows.append([*map(grouped, coordinates), *(plus_minus(float(mean), float(error)) for mean, error in means)])
        columns = [*(axis.name for axis in self.axes), *self.labels]
        return html_table(
            f"Sweep over {self.name}",
            columns,
            rows,
            note=f"pseudo-regret at the horizon ± standard error, {plural(self.runs, 'run')} each",
            text_columns=len(self.axes),
            hidden=hidden,
        )


def sweep(
    problem_of: Callable[..., Problem | Family],
    values: Iterable[Any] | Mapping[str, Sequence[Any]],
    policies: Policy | Sequence[Policy] | Callable[..., Policy | Sequence[Policy]],
    *,
    horizon: int | Callable[..., int],
    runs: int,
    seed: int = 0,
    name: str = "value",
    checkpoints: int | npt.ArrayLike = 100,
    workers: int | None = None,
    device: str = "cpu",
    progress: bool | Callable[[Progress], None] | None = None,
    shuffle: bool = False,
    check: bool = True,
) -> Sweep:
    """Simulate a problem for each of several values: regret against one parameter, such as the delay, the gap, or K.

    For two parameters, ``values`` is a mapping ``{"delay": [...], "gap": [...]}``, and ``problem_of``, a function of
    ``delay`` and ``gap``, is called for every pair.

    All values have the same seed, so that run r of one is paired with run r of the others. Ctrl-C raises
    :class:`SweepInterrupted`, whose ``sweep`` holds the values finished by then.

    Parameters
    ----------
    problem_of
        A function from a value to the problem, or to the family of problems.
    values
        The values, each once; or the values of one or two parameters by their names, ``{name: values, ...}``.
    policies
        A policy, or a list of policies; or a function from a value to them.
    horizon
        T, the number of rounds of a run; or a function from a value to it.
    runs
        The number of runs of each policy for each value.
    seed
        Determines all random draws: the same seed gives the same result.
    name
        What the values are, for tables and plots.
    checkpoints
        A number of evenly spaced rounds that end at the horizon, or an array of rounds, at which regret is recorded.
    workers
        The number of threads; by default one for each core. The result does not depend on it.
    device
        "cpu" or "cuda"; a GPU gives the same bits.
    progress
        As in :func:`~belated.simulate`.
    shuffle
        Whether to relabel the arms in each run, as in :func:`~belated.simulate`.
    check
        Whether to check policies of your own first, as in :func:`~belated.simulate`.

    Examples
    --------
    >>> from belated.delays import Fixed
    >>> from belated.policies import UCB, SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> swept = sweep(lambda delay: Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(delay)), [0, 100, 400],
    ...               [UCB(), SuccessiveElimination()], horizon=1000, runs=50, name="delay")
    >>> swept.mean.shape, bool(swept.mean[0, 2] > swept.mean[0, 0])
    ((2, 3), True)
    """
    check_device(device)
    axes = axes_of(values, name)
    points = list(product(*(axis.values for axis in axes)))
    shown = points if len(axes) > 1 else [value for (value,) in points]
    lists = [
        _policies(call_at(policies, axes, point) if callable(policies) else policies, value)
        for point, value in zip(points, shown, strict=True)
    ]
    if len({len(one) for one in lists}) > 1:
        value, odd = next((value, one) for value, one in zip(shown, lists, strict=True) if len(one) != len(lists[0]))
        raise InvalidParameter(f"policies for {value!r} is {odd!r}; give the same number of policies for each value.")
    cells = []
    for point, chosen in zip(points, lists, strict=True):
        rounds = check_integer(
            "horizon", call_at(horizon, axes, point) if callable(horizon) else horizon, 1, MAX_HORIZON
        )
        coordinates = {axis.name: value for axis, value in zip(axes, point, strict=True)}
        cells.append(Cell(coordinates, call_at(problem_of, axes, point), chosen, rounds))
    runs = check_integer("runs", runs, 1, 2**31)
    rounds_kept = cast("int | Sequence[int]", checkpoints)
    flags = check_bool("shuffle", shuffle), check_bool("check", check)
    study = Study(name, "", axes, column_labels(lists), tuple(cells), runs, runs, rounds_kept, *flags)
    return sweep_study(study, seed=seed, workers=workers, device=device, progress=progress)


def sweep_study(
    study: Study,
    *,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    progress: bool | Callable[[Progress], None] | None = None,
) -> Sweep:
    """Play a study with one or two axes, value by value."""
    results: list[Result] = []
    before = 0

    def swept() -> Sweep:
        points = [tuple(cell.coordinates.values()) for cell in study.cells[: len(results)]]
        if len(study.axes) == 1:
            return Sweep(study.axes[0].name, [value for (value,) in points], list(study.labels), results)
        names = " x ".join(axis.name for axis in study.axes)
        axes = finished_axes(study, points)
        return Sweep(names, points, list(study.labels), results[: len(points)], axes)

    def rule() -> StoppingRule[Sweep]:
        nonlocal before
        for number, cell in enumerate(study.cells):
            played = yield RunBatch([number], study.runs)
            results.append(played[number])
            before += study.runs * len(study.labels) * cell.horizon
        return swept()

    rounds = study.runs * len(study.labels) * sum(cell.horizon for cell in study.cells)
    with progress_reporter(progress, rounds, study.runs * len(study.cells)) as report:

        def watch(step: RunnerStep) -> None:
            report(before + step.progress.done, step.progress.compiling, step.progress.uncompiled)

        try:
            with StudyRunner(seed=seed, workers=workers, device=device, watch=watch) as runner:
                return runner.run(study, rule())
        except KeyboardInterrupt as error:
            message = f"interrupted after {len(results)} of {len(study.cells)} values."
            raise SweepInterrupted(message, swept() if results else None, getattr(error, "result", None)) from None


def _policies(policies: Any, value: Any) -> tuple[Policy, ...]:
    chosen = (policies,) if isinstance(policies, Policy) else tuple(policies)
    if not chosen or not all(isinstance(policy, Policy) for policy in chosen):
        raise InvalidParameter(
            f"policies for {value!r} is {list(chosen)!r}; give at least one policy, such as [UCB()]."
        )
    return chosen
