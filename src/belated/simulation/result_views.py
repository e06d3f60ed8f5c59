"""What a result shows: tables, plots, and one of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.formatting import plural
from belated.kernel.rng import family_generator
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.simulation.difference import Difference
from belated.validation import check_integer, is_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from belated.simulation.figures import Bands
    from belated.simulation.result import Manifest
    from belated.simulation.trace import Trace


class ResultViews:
    """The part of :class:`~belated.Result` that shows what the other part holds."""

    labels: list[str]
    final: npt.NDArray[np.float64]
    horizon: int
    source: tuple[Problem | Family, tuple[Policy, ...]] | None

    if TYPE_CHECKING:

        @cached_property
        def manifest(self) -> Manifest: ...

        @property
        def runs(self) -> int: ...

    @property
    def problem(self) -> Problem | Family:
        """The problem, or the family from which each run drew its own."""
        return self.source[0] if self.source else self.manifest.make_problem()

    @property
    def policies(self) -> tuple[Policy, ...]:
        """(P,) the policies."""
        return self.source[1] if self.source else self.manifest.make_policies()

    def policy_number(self, name: str | int) -> int:
        """The number of a policy: 0, 1, ...

        Parameters
        ----------
        name
            The label of a policy, or its index.
        """
        if isinstance(name, str) and name in self.labels:
            return self.labels.index(name)
        if is_integer(name) and -len(self.labels) <= name < len(self.labels):
            return int(name) % len(self.labels)
        raise InvalidParameter(
            f"{name!r} is not a policy of this result; give one of {', '.join(map(repr, self.labels))}, or its index."
        )

    def difference(self, a: str | int, b: str | int) -> Difference:
        """Pseudo-regret of policy ``a`` minus that of ``b`` at the horizon, paired run by run, with its standard
        error.

        Parameters
        ----------
        a
            The label of a policy, or its index.
        b
            That of the other policy.
        """
        first, second = self.policy_number(a), self.policy_number(b)
        return Difference.of(self.final[first] - self.final[second], (self.labels[first], self.labels[second]))

    def __repr__(self) -> str:
        final = [f"{label} {value:.4g}" for label, value in zip(self.labels, self.final.mean(axis=1), strict=True)]
        text = ", ".join(final[:4]) + (f" and {len(final) - 4} more" if len(final) > 4 else "")
        return f"<Result of {plural(self.runs, 'run')} of {plural(self.horizon, 'round')}; mean regret: {text}>"

    def _repr_html_(self) -> str:
        from belated.simulation.tables import result_table

        return result_table(self._result())

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        bands: Bands = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        bounds: bool = False,
    ) -> Figure: ...

    @overload
    def plot(
        self,
        ax: Axes,
        *,
        bands: Bands = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        bounds: bool = False,
    ) -> Axes: ...

    def plot(
        self,
        ax: Axes | None = None,
        *,
        bands: Bands = 4.0,
        policies: Sequence[str | int] | str | int | None = None,
        log: str | None = None,
        legend: bool | str = True,
        bounds: bool = False,
    ) -> Figure | Axes:
        """Mean pseudo-regret against rounds, one line per policy.

        Returns a new figure, which a notebook shows once; or ``ax``, if it is given: then only lines, bands and a
        legend are added, and title, limits and style are yours.

        Parameters
        ----------
        ax
            The axes to draw into; by default those of a new figure.
        bands
            A number of standard errors, "quantile" for 5% to 95% of the runs, two levels such as (0.1, 0.9), or None.
        policies
            Labels or indices of those to show, in this order; by default all.
        log
            The logarithmic axes: "x", "y" or "xy".
        legend
            True, False, or "direct" for labels at the ends of the lines.
        bounds
            Whether to draw the theorems' bounds at the horizon too, on a logarithmic axis: a thin line for each policy
            with a finite bound (:func:`belated.theory.bound_of`). The theorems are for ``confidence="theory"``; a
            warning names the policies without a line, and says why.
        """
        from belated.simulation.figures import plot_result

        return plot_result(self._result(), ax, bands=bands, policies=policies, log=log, legend=legend, bounds=bounds)

    @overload
    def plot_pulls(self, policy: str | int | None = None, ax: None = None) -> Figure: ...

    @overload
    def plot_pulls(self, policy: str | int | None, ax: Axes) -> Axes: ...

    def plot_pulls(self, policy: str | int | None = None, ax: Axes | None = None) -> Figure | Axes:
        """Which arms are pulled over time: their shares of the rounds from one checkpoint to the next, stacked; the
        best arm is at the bottom.

        Parameters
        ----------
        policy
            The label or the index of one policy; by default there is a panel for each. Axes of your own hold one.
        ax
            The axes to draw the policy into; by default those of a new figure.
        """
        from belated.simulation.pull_figures import plot_pulls

        return plot_pulls(self._result(), policy, ax)

    def trace(self, policy: str | int = 0, run: int = 0) -> Trace:
        """One run of a policy round by round: arm, reward, delay, and when the feedback was known.

        The run is replayed, exactly: its pulls, feedback and regret are those of this result, or an error says that
        they are not. A hundred thousand rounds take a few seconds.

        Parameters
        ----------
        policy
            The label of a policy, or its index.
        run
            The number of the run: 0, 1, ...
        """
        from belated.simulation.trace import trace_run

        return trace_run(self._result(), policy, check_integer("run", run, 0, self.runs - 1))

    def problem_of_run(self, run: int) -> Problem:
        """The problem of one run: the same for all, unless each run drew its own from a family.

        Parameters
        ----------
        run
            The number of the run: 0, 1, ...
        """
        problem = self.problem
        return problem if isinstance(problem, Problem) else problem(family_generator(self.manifest.seed, run))

    def _result(self) -> Any:
        """The whole result."""
        return self
