"""Progress of a simulation: a bar on a terminal, or a function of the user's own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from belated.errors import InvalidParameter
from belated.formatting import compact

PATIENCE = 2.0
"""Seconds before a bar appears by itself."""


@dataclass(frozen=True)
class Progress:
    """How far a simulation is: rounds played, rounds in all, seconds since its start."""

    done: int
    total: int
    seconds: float

    @property
    def rounds_per_second(self) -> float:
        """The pace so far."""
        return self.done / self.seconds if self.seconds > 0.0 else 0.0


@contextmanager
def reporter(progress: bool | Callable[[Progress], None] | None, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the rounds just played; it feeds the bar or the user's function."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidParameter(f"progress is {progress!r}; give True, False, None, or a function.")
    started = time.perf_counter()
    done = 0
    if callable(progress):
        show: Callable[[Progress], None] = progress
        close = _nothing
    elif progress or (progress is None and sys.stderr.isatty()):
        bar = _Bar(total, PATIENCE if progress is None else 0.0)
        show, close = bar.show, bar.close
    else:
        show, close = _nothing, _nothing

    def report(rounds: int) -> None:
        nonlocal done
        done += rounds
        show(Progress(done, total, time.perf_counter() - started))

    try:
        yield report
    finally:
        close()


def _nothing(*_: Any) -> None:
    pass


class _Bar:
    """A bar with rounds per second and the time left."""

    def __init__(self, total: int, patience: float) -> None:
        self._total = total
        self._patience = patience
        self._bar: Any = None
        self._task: Any = None

    def show(self, progress: Progress) -> None:
        if self._bar is None:
            if progress.seconds < self._patience:
                return
            self._open()
        self._bar.update(self._task, completed=progress.done, pace=compact(progress.rounds_per_second))

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("[bold]simulating"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[pace]} rounds/s"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        )
        self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True, expand=True)
        self._task = self._bar.add_task("simulating", total=self._total, pace="0")
        self._bar.start()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
