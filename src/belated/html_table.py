"""Small tables for notebooks: plain HTML that takes its colours from the page, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST_ROWS = 12
"""Longer tables are cut in the middle."""
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.2em .9em .2em 0;border:0;background:transparent;color:inherit;white-space:nowrap"
_FAINT = "opacity:.65;font-size:.92em"


class Html(str):
    """Text that is HTML already; all other text is escaped."""

    __slots__ = ()


def swatch(colour: str) -> Html:
    """A small square of a colour, before a label."""
    square = "display:inline-block;width:.72em;height:.72em;border-radius:2px;margin-right:.5em"
    return Html(f'<span style="{square};background:{escape(colour)};outline:1px solid rgba(128,128,128,.5)"></span>')


def join(*parts: str) -> Html:
    """Parts one after the other, escaped unless they are HTML."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def strong(text: str) -> Html:
    """Bold text."""
    return Html(f"<b>{escape(text)}</b>")


def html_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    note: str = "",
    text_columns: int = 1,
    hidden: int = 0,
) -> str:
    """A table as HTML. The first ``text_columns`` columns are aligned to the left, numbers to the right. ``hidden``
    rows are left out before the last one.

    >>> "<i>" in html_table("<T>", ["arm"], [["<i>"]])
    False
    """
    head = "".join(_cell("th", name, number >= text_columns, "font-weight:600") for number, name in enumerate(columns))
    body = [_row(row, text_columns) for row in rows]
    if hidden:
        gap = f'<tr><td colspan="{len(columns)}" style="{_CELL};{_FAINT}">… {hidden:,} more …</td></tr>'
        body.insert(len(body) - 1, gap)
    below = f'<div style="{_FAINT};margin-top:.25em">{join(note)}</div>' if note else ""
    return (
        '<div style="color:inherit;font-variant-numeric:tabular-nums;overflow-x:auto">'
        f'<div style="margin-bottom:.3em"><b>{join(title)}</b></div>'
        '<table style="border-collapse:collapse;border:0;margin:0;background:transparent">'
        f'<thead><tr style="border-bottom:{_LINE};background:transparent">{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>{below}</div>"
    )


def cut(count: int) -> tuple[list[int], int]:
    """The numbers of the rows that are shown, and how many are hidden before the last one.

    >>> cut(3), cut(1000)[1]
    (([0, 1, 2], 0), 988)
    """
    if count <= MOST_ROWS:
        return list(range(count)), 0
    return [*range(MOST_ROWS - 1), count - 1], count - MOST_ROWS


def _row(row: Sequence[str], text_columns: int) -> str:
    cells = "".join(_cell("td", text, number >= text_columns) for number, text in enumerate(row))
    return f'<tr style="background:transparent">{cells}</tr>'


def _cell(tag: str, text: str, right: bool, more: str = "") -> str:
    align = "right" if right else "left"
    return f'<{tag} style="{_CELL};text-align:{align};{more}">{join(text)}</{tag}>'
