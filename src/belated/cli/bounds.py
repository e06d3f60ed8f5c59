"""``belated bounds``: what the theorems say about the problem of a file."""

from __future__ import annotations

import math

from belated.cli.console import console, guarded
from belated.cli.options import File, Horizon, Seed, overrides


def command(file: File, horizon: Horizon = None, seed: Seed = None) -> None:
    """Print the bounds for the problem of a file."""
    with guarded():
        from rich import box
        from rich.table import Table
        from rich.text import Text

        from belated.kernel.rng import family_generator
        from belated.problem import Problem
        from belated.studies.config import read_experiment
        from belated.theory import THEOREMS, table
        from belated.theory.bound import number
        from belated.theory.chosen import INDEPENDENT

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
        told = []
        for policy, theorem in THEOREMS.items():
            if problem.reward_dependent and theorem in INDEPENDENT:
                bounds.add_row(
                    policy.label, "-", "-", "-", "-", "not for delays that depend on the reward", style="dim"
                )
                continue
            bound = theorem(problem, rounds)
            learning, waiting = bound.terms.values()
            bounds.add_row(
                policy.label,
                number(bound.value),
                number(learning),
                number(waiting),
                _levels(bound.quantiles),
                bound.source,
            )
            told.append(f"{bound.driver[0].upper()}{bound.driver[1:]}.")
        forms = [one for one in experiment.policies if type(one) in THEOREMS and one.label != type(one).label]
        for label in dict.fromkeys(form.label for form in forms):
            bounds.add_row(label, "-", "-", "-", "-", "no bound is proven for this form", style="dim")
        screen.print(bounds)
        largest = rounds * float(problem.gaps.max())
        screen.print()
        for line in told:
            screen.print(line)
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
