"""The arena's tables on a terminal."""

from __future__ import annotations

from textwrap import wrap

from rich.table import Table
from rich.text import Text

from belated.cli.console import plain_table
from belated.formatting import ratio as format_ratio
from belated.studies.arena.scores import HIGH, Scores

SHADES = ((1.0, "bold green"), (HIGH, ""), (2.0, "yellow"), (5.0, "dark_orange"), (float("inf"), "red"))
"""Up to which ratio a number has which style."""
_NUMBER = 8
"""Characters of a policy's column with its space, at the least."""
_WIDE, _NARROW = 110, 80
"""From which width on a worst row stands in one line, and from which on it is told at all."""


def shaded(ratio: float) -> Text:
    """A ratio in three figures, the darker the larger."""
    return Text(three_figures(ratio), style=next(style for most, style in SHADES if ratio <= most))


def ratios(scores: Scores, width: int) -> Table | None:
    """One line a row, one column a policy; None where there is no room for it."""
    room = (width - max(len(row.name) for row in scores.rows) - 3) // len(scores.labels)
    if room < _NUMBER:
        return None
    table = plain_table()
    table.add_column("row", no_wrap=True)
    labels = scores.ranked()
    for label in labels:
        table.add_column("\n".join(wrap(label, room - 1)), justify="right", no_wrap=True)
    order = [scores.labels.index(label) for label in labels]
    for kind in scores.kinds:
        part = scores.of_kind(kind)
        table.add_row(Text(kind, style="bold"))
        for row, values in zip(part.rows, part.ratio, strict=True):
            table.add_row(Text(f"  {row.name}"), *(shaded(float(values[place])) for place in order))
    return table


def _broken(kind: str) -> str:
    """The name of a kind of row in two lines."""
    return {"independent": "indepen-\ndent", "reward-dependent": "reward-\ndependent"}.get(kind, kind)


def standings(scores: Scores, width: int) -> Table:
    """One line a policy, the best first: geometric means in total, by kind and of the rows that were held out,
    rows above 1.25, the worst row."""
    table = plain_table()
    table.add_column("policy", overflow="fold", style="bold")
    table.add_column("all", justify="right", no_wrap=True)
    several = len(scores.kinds) > 1
    for kind in scores.kinds if several else []:
        table.add_column(_broken(kind) if width < _WIDE else kind, justify="right", no_wrap=True)
    held = scores.among(lambda row: row.held)
    apart = 0 < len(held.rows) < len(scores.rows)
    if apart:
        table.add_column("held\nout", justify="right", no_wrap=True)
    table.add_column(f"above\n{HIGH:g}", justify="right", no_wrap=True)
    if width >= _NARROW:
        table.add_column("worst row", no_wrap=True)
    for label in scores.ranked():
        cells = [shaded(scores.geometric_mean(label))]
        if several:
            cells += [shaded(scores.of_kind(kind).geometric_mean(label)) for kind in scores.kinds]
        if apart:
            cells.append(shaded(held.geometric_mean(label)))
        cells.append(Text(str(len(scores.above(label)))))
        if width >= _NARROW:
            name, ratio = scores.worst(label)
            shown = shaded(ratio)
            lines = [name] if width >= _WIDE else wrap(name, 12)  # at hyphens
            cells.append(Text.assemble(shown, " ", f"\n{' ' * (len(shown) + 1)}".join(lines)))
        table.add_row(label, *cells)
    return table
