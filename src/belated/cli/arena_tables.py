"""The arena's tables on a terminal."""

from __future__ import annotations

from textwrap import wrap

from rich.table import Table
from rich.text import Text

from belated.cli.console import plain_table
from belated.formatting import ratio
from belated.studies.arena.scores import HIGH, Scores

SHADES = ((1.0, "bold green"), (HIGH, ""), (2.0, "yellow"), (5.0, "dark_orange"), (float("inf"), "red"))
"""The style of ratios up to a limit."""
_COLUMN_WIDTH = 8
"""The narrowest column of a policy, with its space."""
_WIDE, _NARROW = 110, 80
"""The width from which a worst scenario fits in one line, and from which it is shown at all."""


def _shaded(value: float) -> Text:
    """A ratio in the colour of its size."""
    return Text(ratio(value), style=next(style for limit, style in SHADES if value <= limit))


def ratio_table(scores: Scores, width: int) -> Table | None:
    """One line per scenario, one column per policy; None if the terminal is too narrow."""
    room = (width - max(len(row.name) for row in scores.scenarios) - 3) // len(scores.labels)
    if room < _COLUMN_WIDTH:
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


def _two_lines(kind: str) -> str:
    """The name of a kind of scenario in two lines."""
    return {"independent": "indepen-\ndent", "reward-dependent": "reward-\ndependent"}.get(kind, kind)


def ranking_table(scores: Scores, width: int) -> Table:
    """One line per policy, the best first: geometric means in total, by kind and of the held-out scenarios, the number
    of scenarios above 1.25, the worst scenario."""
    table = plain_table()
    table.add_column("policy", overflow="fold", style="bold")
    table.add_column("all", justify="right", no_wrap=True)
    several = len(scores.kinds) > 1
    for kind in scores.kinds if several else []:
        table.add_column(_two_lines(kind) if width < _WIDE else kind, justify="right", no_wrap=True)
    held_out = scores.select(lambda scenario: scenario.held_out)
    separate = 0 < len(held_out.scenarios) < len(scores.scenarios)
    if separate:
        table.add_column("held\nout", justify="right", no_wrap=True)
    table.add_column(f"above\n{HIGH:g}", justify="right", no_wrap=True)
    if width >= _NARROW:
        table.add_column("worst scenario", no_wrap=True)
    for label in scores.ranked():
        cells = [_shaded(scores.geometric_mean(label))]
        if several:
            cells += [_shaded(scores.of_kind(kind).geometric_mean(label)) for kind in scores.kinds]
        if separate:
            cells.append(_shaded(held_out.geometric_mean(label)))
        cells.append(Text(str(len(scores.above(label)))))
        if width >= _NARROW:
            name, worst = scores.worst(label)
            text = _shaded(worst)
            lines = [name] if width >= _WIDE else wrap(name, 12)  # at hyphens
            cells.append(Text.assemble(text, " ", f"\n{' ' * (len(text) + 1)}".join(lines)))
        table.add_row(label, *cells)
    return table
