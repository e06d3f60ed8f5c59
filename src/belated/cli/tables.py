"""The tables printed after a simulation, a sweep or the arena."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from belated.cli.console import plain_table
from belated.errors import BelatedError
from belated.formatting import compact, duration, percentage, plural, plus_minus, ratio
from belated.kernel.rng import family_generator
from belated.problem import Problem
from belated.simulation.result import Result
from belated.simulation.standard_error import standard_error
from belated.studies.arena.scores import HIGH, Scores

if TYPE_CHECKING:
    from belated.studies.sweep import Sweep

SAMPLED_RUNS = 1000
"""Runs of a family whose problems are drawn again to find the best arm."""
SHADES = ((1.0, "bold green"), (HIGH, ""), (2.0, "yellow"), (5.0, "dark_orange"), (float("inf"), "red"))
"""The style of ratios up to a limit."""
_NARROW_LABEL = 14
"""The width at which longer words of a label are broken."""
_WIDE, _NARROW = 110, 80
"""The width from which a worst scenario fits in one line, and from which it is shown at all."""
_TWO_LINES = {"independent": "indepen-\ndent", "reward-dependent": "reward-\ndependent"}
"""Kinds of scenarios whose names are too long for a narrow table."""


def heading(name: str, result: Result, same_horizon: bool = True) -> Text:
    """One line that says what was simulated."""
    manifest = result.manifest
    parts = [plural(result.pulls.shape[2], "arm"), plural(result.runs, "run"), f"seed {manifest.seed}"]
    if same_horizon:
        parts.insert(1, f"T = {manifest.horizon:,}")
    return Text.assemble(("\n" + name, "bold"), ("  " + ", ".join(parts), "dim"))


def summary(result: Result, width: int = 80) -> Table:
    """One row per policy: regret at the horizon, paired difference to the best policy and, as many as there is room
    for, shares of pulls and feedback."""
    table = plain_table()
    rows = policy_rows(result)
    columns = {"policy": [row["label"] for row in rows]}
    columns["regret at T"] = [plus_minus(row["regret"], row["stderr"]) for row in rows]
    if len(rows) > 1:
        columns["above the best"] = [_difference(row["above_best"]) for row in rows]
    columns["best\narm"] = [percentage(row["best_arm"]) if row["best_arm"] is not None else "?" for row in rows]
    for header, name in {"ob-\nserved": "observed", "in\nflight": "in_flight", "lost": "lost"}.items():
        columns[header] = [percentage(row[name]) for row in rows]
    words = [word for label in columns["policy"] for word in label.split()]
    narrowest = min(max(map(len, words)), _NARROW_LABEL)
    table.add_column("policy", overflow="fold", style="bold", min_width=narrowest)
    room = width - narrowest
    shown = [columns.pop("policy")]
    for header, cells in columns.items():
        room -= 2 + max(map(len, (*header.split("\n"), *cells)))  # two blanks between columns
        if room < 0 and header not in ("regret at T", "above the best"):
            break
        table.add_column(header, justify="right", no_wrap=True)
        shown.append(cells)
    for row, *cells in zip(rows, *shown, strict=True):
        table.add_row(*cells, style="green" if len(rows) > 1 and row["above_best"] is None else "")
    return table


def policy_rows(result: Result) -> list[dict[str, Any]]:
    """The numbers of the table, for each policy: mean regret at the horizon and its standard error, the paired
    difference to the best policy (None for that one) with the ratio of both, and shares of the pulls: of the best arm
    (None if it is not known), and of pulls whose feedback was observed, is in flight and was lost."""
    final = result.final.mean(axis=1)
    stderr = standard_error(result.final)
    best = int(np.argmin(final))
    share_of_best = best_arm_pulls(result)
    counts = {"observed": result.observed, "in_flight": result.in_flight, "lost": result.lost}
    rows = []
    for number, label in enumerate(result.labels):
        row: dict[str, Any] = {"label": label, "regret": float(final[number]), "stderr": float(stderr[number])}
        row["above_best"] = None
        if number != best:
            difference = result.difference(number, best)
            ratio = float(final[number] / final[best]) if final[best] > 0.0 else None
            row["above_best"] = {"mean": difference.mean, "stderr": difference.stderr, "ratio": ratio}
        row["best_arm"] = None if share_of_best is None else _share(*share_of_best[number])
        pulls = float(result.pulls[number].sum(dtype=np.int64))
        row |= {name: _share(float(count[number].sum(dtype=np.int64)), pulls) for name, count in counts.items()}
        rows.append(row)
    return rows


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _difference(above: dict[str, Any] | None) -> str:
    """The paired difference of a policy to the best one, and their ratio."""
    if above is None:
        return "best"
    text, times = plus_minus(above["mean"], above["stderr"], "+"), above["ratio"]
    return text if times is None else f"{text}, {f'{times:,.0f}' if times >= 10 else f'{times:.2f}'}x"


def best_arm_pulls(result: Result) -> list[tuple[float, float]] | None:
    """For each policy the pulls of arms with the best mean and all pulls, in the first runs; None if the problem cannot
    be recreated."""
    try:
        problem = result.source[0] if result.source else result.manifest.make_problem()
    except BelatedError:
        return None
    if isinstance(problem, Problem):
        pulls, best = result.pulls, np.broadcast_to(problem.gaps == 0.0, result.pulls.shape[1:])
    else:
        runs = min(result.runs, SAMPLED_RUNS)
        drawn = [problem(family_generator(result.manifest.seed, run)).gaps == 0.0 for run in range(runs)]
        pulls, best = result.pulls[:, :runs], np.array(drawn)
    return [(float(row[best].sum(dtype=np.int64)), float(row.sum(dtype=np.int64))) for row in pulls]


def sweep_table(sweep: Sweep) -> Table:
    """One row per value, or pair of values, one column per policy; the smallest regret of a row is highlighted."""
    table = plain_table()
    for axis in sweep.axes:
        table.add_column(axis.name, justify="right", style="bold", overflow="fold")
    for label in sweep.labels:
        table.add_column(label, justify="right", overflow="fold")
    best = sweep.mean.argmin(axis=0)
    for index, value in enumerate(sweep.values):
        cells = [
            Text(
                plus_minus(sweep.mean[row, index], sweep.stderr[row, index]),
                style="green" if row == best[index] and len(sweep.labels) > 1 else "",
            )
            for row in range(len(sweep.labels))
        ]
        point = value if sweep.parameters else [value]
        table.add_row(*(f"{part:,}" if isinstance(part, int) else str(part) for part in point), *cells)
    return table


def speed(results: Sequence[Result]) -> str:
    """How much was simulated in what time, and how to read the table."""
    rounds = sum(result.runs * result.horizon * len(result.labels) for result in results)
    spent = sum(result.manifest.seconds for result in results)
    per_second = compact(rounds / max(spent, 1e-9))
    return f"{compact(rounds)} rounds in {duration(spent)}, {per_second} rounds/s; ± one standard error"


def caution(result: Result) -> str:
    """Which runs the column of the best arm covers, if not all."""
    problem = result.source[0] if result.source is not None else None
    if result.runs <= SAMPLED_RUNS or isinstance(problem, Problem):
        return ""
    return f"; best arm: first {SAMPLED_RUNS:,} runs only"


# ---- the arena ----


def _shaded(value: float) -> Text:
    return Text(ratio(value), style=next(style for limit, style in SHADES if value <= limit))


def ratio_table(scores: Scores, width: int) -> Table | None:
    """One line per scenario, one column per policy; None if the terminal is too narrow."""
    room = (width - max(len(row.name) for row in scores.scenarios) - 3) // len(scores.labels)
    if room < 8:  # the narrowest column of a policy, with its space
        return None
    table = plain_table()
    table.add_column("scenario", no_wrap=True)
    labels = scores.ranked()
    for label in labels:
        table.add_column("\n".join(wrap(label, room - 1)), justify="right", no_wrap=True)
    order = [scores.labels.index(label) for label in labels]
    for kind in scores.kinds:
        part = scores.of_kind(kind)
        table.add_row(Text(kind, style="bold"))
        for row, values in zip(part.scenarios, part.ratio, strict=True):
            table.add_row(Text(f"  {row.name}"), *(_shaded(float(values[column])) for column in order))
    return table


def ranking_table(scores: Scores, width: int) -> Table:
    """One line per policy, the best first: geometric means in total, by kind and of the held-out scenarios, in a wide
    terminal also relative to the limits of twins, and the share of runs that still lose at the end; the number of
    scenarios above 1.25, the worst scenario."""
    parts = {"all": scores}
    if len(scores.kinds) > 1:
        names = _TWO_LINES if width < _WIDE else {}
        parts |= {names.get(kind, kind): scores.of_kind(kind) for kind in scores.kinds}
    held_out = scores.select(lambda scenario: scenario.held_out)
    if 0 < len(held_out.scenarios) < len(scores.scenarios):
        parts["held\nout"] = held_out
    table = plain_table()
    table.add_column("policy", overflow="fold", style="bold")
    wide = ("to the\nlimit", "still\nlosing") if width >= _WIDE else ()
    for name in (*parts, *wide, f"above\n{HIGH:g}"):
        table.add_column(name, justify="right", no_wrap=True)
    if width >= _NARROW:
        table.add_column("worst scenario", no_wrap=True)
    for label in scores.ranked():
        cells = [_shaded(part.geometric_mean(label)) for part in parts.values()]
        if wide:
            losing = scores.losing_mean(label)
            cells += [_shaded(scores.relative_mean(label)), Text("" if math.isnan(losing) else f"{100 * losing:.1f} %")]
        cells.append(Text(str(len(scores.above(label)))))
        if width >= _NARROW:
            name, worst = scores.worst(label)
            text = _shaded(worst)
            lines = [name] if width >= _WIDE else wrap(name, 12)  # at hyphens
            cells.append(Text.assemble(text, " ", f"\n{' ' * (len(text) + 1)}".join(lines)))
        table.add_row(label, *cells)
    return table
