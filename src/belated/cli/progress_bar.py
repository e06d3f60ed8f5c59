"""The bar of a long command: how much is played, rounds per second, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from belated.cli.console import console
from belated.formatting import compact, duration
from belated.simulation.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

Show = Callable[[str, Progress], None]
"""What is played, and how far it is."""


@contextmanager
def terminal_bar(quiet: bool) -> Iterator[tuple[Bars, Show] | None]:
    """A bar on a terminal, and what moves it; None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[pace]}", style="cyan"),
    )
    with Bars(*columns, console=console(stderr=True), transient=True, expand=True) as bars:
        task = bars.add_task("preparing", total=None, pace="")  # compiling, at the first time

        def show(what: str, progress: Progress) -> None:
            speed = progress.rounds_per_second
            left = duration((progress.total - progress.done) / speed) if speed > 0.0 else "?"
            pace = f"{compact(speed)} rounds/s, {left} left"
            bars.update(task, description=what, total=progress.total, completed=progress.done, pace=pace)

        yield bars, show


@contextmanager
def bar(what: str, quiet: bool) -> Iterator[bool | Callable[[Progress], None]]:
    """What to give as ``progress``: the bar on a terminal, False where nobody looks."""
    with terminal_bar(quiet) as found:
        if found is None:
            yield False
        else:
            yield lambda progress: found[1](what, progress)
