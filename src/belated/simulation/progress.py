"""Progress of a simulation: a bar on a terminal, or a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from belated.errors import InvalidParameter
from belated.formatting import compact, duration


@dataclass(frozen=True)
class Progress:
    """Rounds played, rounds in total, seconds since the start."""

    done: int
    total: int
    seconds: float

    @property
    def rounds_per_second(self) -> float:
        """The speed so far."""
        return self.done / self.seconds if self.seconds > 0.0 else 0.0


class ProgressBar:
    """A bar on standard error with the speed and the time left. It appears with the first progress after ``delay``
    seconds, or when the context is entered."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self._bar: Any = None
        self._task: Any = None

    def show(self, progress: Progress, description: str = "simulating") -> None:
        """Update the bar."""
        if self._bar is None:
            if progress.seconds < self._delay:
                return
            self._open(description)
        speed = progress.rounds_per_second
        left = duration((progress.total - progress.done) / speed) if speed > 0.0 else "?"
        self._bar.update(
            self._task,
            description=description,
            total=progress.total,
            completed=progress.done,
            speed=f"{compact(speed)} rounds/s, {left} left",
        )

    def _open(self, description: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]}", style="cyan"),
        )
        console = Console(stderr=True, highlight=False, emoji=False)
        self._bar = RichProgress(*columns, console=console, transient=True, expand=True)
        self._task = self._bar.add_task(description, total=None, speed="")
        self._bar.start()

    def __enter__(self) -> Self:
        self._open("preparing")  # compiles on the first call
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bar while something else is printed."""
        self._bar.stop()
        yield
        self._bar.start()


@contextmanager
def progress_reporter(
    progress: bool | Callable[[Progress], None] | None, total: int
) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of rounds just played and updates the bar or calls the callback."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidParameter(f"progress is {progress!r}; give True, False, None, or a function.")
    bar = ProgressBar(2.0 if progress is None else 0.0)  # one that was not asked for appears later
    show: Callable[[Progress], None] | None = None
    if callable(progress):
        show = progress
    elif progress or (progress is None and sys.stderr.isatty()):
        show = bar.show
    started, done = time.perf_counter(), 0

    def report(rounds: int) -> None:
        nonlocal done
        done += rounds
        if show is not None:
            show(Progress(done, total, time.perf_counter() - started))

    try:
        yield report
    finally:
        bar.close()
