"""``belated bounds``: regret bounds for the problem of a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from belated.cli.console import console, error_messages, plain_table
from belated.cli.json_output import bounds_data, print_json
from belated.cli.options import File, Horizon, Json, Seed
from belated.formatting import quantity

if TYPE_CHECKING:
    from belated.problem import Problem
    from belated.theory import Bound


UNUSED = {
    "policies": "the bounds are those of every policy with a theorem, for c = ln T, whatever the file's confidence",
    "sweep": "the bounds are those of the file as it stands",
}
"""Sections of a file that have no effect, and why."""


def command(file: File, horizon: Horizon = None, seed: Seed = None, json: Json = False) -> None:
    """Print the bounds for the problem of a file."""
    with error_messages():
        from belated.kernel.rng import family_generator
        from belated.problem import Problem
        from belated.specs.tables import source_stem
        from belated.studies.config import read_simulation

        experiment = read_simulation(file, UNUSED, seed=seed, horizon=horizon)
        problem, rounds = experiment.problem, experiment.horizon
        is_family = not isinstance(problem, Problem)
        if not isinstance(problem, Problem):
            problem = problem(family_generator(experiment.seed, 0))
        bounds, inapplicable = policy_bounds(problem, rounds)
        others = dict.fromkeys(inapplicable, "not for delays that depend on the reward")
        for policy in experiment.policies:
            if policy.label not in bounds:
                has_bound = type(policy).label in bounds or type(policy).label in inapplicable
                others.setdefault(policy.label, f"no bound is proven for this {'variant' if has_bound else 'policy'}")
        if json:
            print_json(bounds_data(source_stem(file), problem, rounds, bounds, others, is_family))
            return
        screen = console()
        screen.print(Text.assemble(("\n" + source_stem(file), "bold"), (f"  T = {rounds:,}", "dim")))
        if is_family:
            screen.print("Each run draws its own problem; these are the bounds for the first.", style="yellow")
        screen.print(_bounds_table(bounds, others))
        screen.print()
        for bound in bounds.values():
            screen.print(f"{bound.driver[0].upper()}{bound.driver[1:]}.")
        largest = rounds * float(problem.gaps.max())
        screen.print(
            f'No policy\'s regret exceeds T max gap = {quantity(largest)}. Bounds are for confidence = "theory", that '
            "is c = ln T; those of UCB and Optimistic-UCB are orders, with constant 1.",
            style="dim",
        )
        screen.print("\nThe paper's Table 1 for this problem, without constants and factors ln K", style="bold")
        screen.print(_earlier_table(problem, rounds))


def _bounds_table(bounds: dict[str, Bound], others: dict[str, str]) -> Table:
    table = plain_table()
    table.add_column("policy", overflow="fold")
    for name in ("bound", "learning", "waiting", "quantile"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("source", overflow="fold")
    for label, bound in bounds.items():
        *learning, waiting = bound.terms.values()
        numbers = (quantity(bound.value), quantity(sum(learning)), quantity(waiting))
        table.add_row(label, *numbers, _levels(bound.quantiles), bound.source)
    for label, reason in others.items():
        table.add_row(label, "-", "-", "-", "-", reason, style="dim")
    return table


def _earlier_table(problem: Problem, horizon: int) -> Table:
    from belated.theory import table as table_of_bounds

    table = plain_table()
    for name in ("setting", "earlier work", "the paper"):
        table.add_column(name, overflow="fold")
    for row in table_of_bounds(problem, horizon):
        if row.previous is not None or row.paper is not None:
            table.add_row(row.setting, _entries(row.previous), _entries(row.paper))
    return table


def policy_bounds(problem: Problem, horizon: int) -> tuple[dict[str, Bound], list[str]]:
    """(by label the bounds for c = ln T of all policies with a theorem, bounds before orders; the labels of those whose
    theorem is not for this problem)."""
    from belated.policies import POLICIES, ConfidencePolicy, Policy

    with_theorem = [cls for cls in POLICIES.values() if cls.regret_bound is not Policy.regret_bound]
    in_theory = [cls(confidence="theory") if issubclass(cls, ConfidencePolicy) else cls() for cls in with_theorem]
    bounds = {type(policy).label: policy.regret_bound(problem, horizon) for policy in in_theory}
    proven = {label: bound for label, bound in bounds.items() if bound is not None}
    order = sorted(proven, key=lambda label: (proven[label].order, proven[label].source.casefold()))
    return {label: proven[label] for label in order}, [label for label in bounds if label not in proven]


def _levels(quantiles: tuple[float, ...]) -> str:
    """The quantiles of a bound: one number, or a range."""
    known = sorted(q for q in quantiles if not math.isnan(q))
    if not known:
        return "-"
    ends = f"{known[0]:.3g}", f"{known[-1]:.3g}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _entries(entries: dict[str, float] | None) -> str:
    return "\n".join(f"{name} = {quantity(value)}" for name, value in entries.items()) if entries else "-"
