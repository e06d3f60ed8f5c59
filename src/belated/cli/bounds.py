"""``belated bounds``: what the theorems say about the problem of a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from belated.cli.console import console, guarded
from belated.cli.options import File, Horizon, Seed, overrides

if TYPE_CHECKING:
    from belated.problem import Problem
    from belated.theory import Bound


def command(file: File, horizon: Horizon = None, seed: Seed = None) -> None:
    """Print the bounds for the problem of a file."""
    with guarded():
        from rich import box
        from rich.table import Table
        from rich.text import Text

        from belated.kernel.rng import family_generator
        from belated.problem import Problem
        from belated.studies.config import read_experiment
        from belated.theory import table
        from belated.theory.bound import number

        experiment = read_experiment(file, **overrides(None, seed, horizon, None))
        screen = console()
        problem = experiment.problem
        rounds = experiment.horizon
        screen.print(Text.assemble(("\n" + file.stem, "bold"), (f"  T = {rounds:,}", "dim")))
        if not isinstance(problem, Problem):
            problem = problem(family_generator(experiment.seed, 0))
            screen.print("Each run has a problem of its own; these are the bounds for the first.", style="yellow")

        def made(*columns: str) -> Table:
            made = Table(
                box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False
            )
            for place, name in enumerate(columns):
                made.add_column(name, justify="right" if 0 < place < len(columns) - 1 > 2 else "left", overflow="fold")
            return made

        bounds = made("policy", "bound", "learning", "waiting", "quantile", "stands in")
        proven, inapplicable = policy_bounds(problem, rounds)
        for label, bound in proven.items():
            learning, waiting = bound.terms.values()
            bounds.add_row(
                label,
                number(bound.value),
                number(learning),
                number(waiting),
                _levels(bound.quantiles),
                bound.source,
            )
        for label in inapplicable:
            bounds.add_row(label, "-", "-", "-", "-", "not for delays that depend on the reward", style="dim")
        variants = [one.label for one in experiment.policies if type(one).label in (*proven, *inapplicable)]
        for label in dict.fromkeys(variants):
            if label not in proven and label not in inapplicable:
                bounds.add_row(label, "-", "-", "-", "-", "no bound is proven for this form", style="dim")
        screen.print(bounds)
        largest = rounds * float(problem.gaps.max())
        screen.print()
        for bound in proven.values():
            screen.print(f"{bound.driver[0].upper()}{bound.driver[1:]}.")
        screen.print(
            f"No policy's regret is above T max gap = {number(largest)}. Bounds are for c = ln T; those of UCB and "
            "Optimistic-UCB are orders, with constant 1.",
            style="dim",
        )
        screen.print("\nThe paper's Table 1 for this problem, constants and factors ln K left out", style="bold")
        rows = made("setting", "earlier work", "the paper")
        for row in table(problem, rounds):
            if row.previous is not None or row.paper is not None:
                rows.add_row(row.setting, _entries(row.previous), _entries(row.paper))
        screen.print(rows)


def policy_bounds(problem: Problem, horizon: int) -> tuple[dict[str, Bound], list[str]]:
    """(by label the bounds for c = ln T of all policies with a theorem, bounds before orders; the labels of those whose
    theorem is not for this problem)."""
    from belated.policies import POLICIES, Policy

    with_theorem = [cls for cls in POLICIES.values() if cls.regret_bound is not Policy.regret_bound]
    bounds = {cls.label: cls().regret_bound(problem, horizon) for cls in with_theorem}
    proven = {label: bound for label, bound in bounds.items() if bound is not None}
    order = sorted(proven, key=lambda label: (proven[label].order, proven[label].source.casefold()))
    return {label: proven[label] for label in order}, [label for label in bounds if label not in proven]


def _levels(quantiles: tuple[float, ...]) -> str:
    """The quantiles of a bound: one number, or from one to another."""
    known = sorted(q for q in quantiles if not math.isnan(q))
    if not known:
        return "-"
    ends = f"{known[0]:.3g}", f"{known[-1]:.3g}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _entries(entries: dict[str, float] | None) -> str:
    from belated.theory.bound import number

    return "\n".join(f"{name} = {number(value)}" for name, value in entries.items()) if entries else "-"
