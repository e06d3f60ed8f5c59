"""Progress of a simulation: a bar on a terminal or in a notebook, or a callback."""

from __future__ import annotations

import contextvars
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from belated.errors import InvalidParameter
from belated.formatting import compact, duration
from belated.interrupts import DelayedInterrupt

DELAY = 1.0
"""Seconds after which a bar appears that was not asked for."""
INTERVAL = 0.2
"""Seconds between two pictures of a bar."""


@dataclass(frozen=True)
class Progress:
    """How far a simulation is: rounds played, rounds in total, seconds since the start."""

    done: int
    total: int
    seconds: float
    compiling: str = ""
    """What is being compiled, and how much of it there is, such as "compiling UCB (2 of 5)"; empty while nothing is."""
    runs: int = 0
    """Runs in total."""
    waited: float = 0.0
    """Of the seconds, those in which no round was played because code was being compiled."""
    uncompiled: int = 0
    """Policies that are known to be without code yet."""

    @property
    def phase(self) -> str:
        """What is going on: "compiling UCB (2 of 5)", or "simulating"."""
        return self.compiling or "simulating"

    @property
    def rounds_per_second(self) -> float:
        """The speed so far, without the seconds of the compiler."""
        seconds = self.seconds - self.waited
        return self.done / seconds if seconds > 0.0 else 0.0

    @property
    def seconds_left(self) -> float:
        """How long the rest takes at this speed, without the compiler; infinite before the first round."""
        speed = self.rounds_per_second
        return (self.total - self.done) / speed if speed > 0.0 else math.inf

    @property
    def runs_left(self) -> int:
        """Runs that are not finished, counting parts of runs."""
        return math.ceil(self.runs * (self.total - self.done) / self.total) if self.total else 0

    def describe(self) -> str:
        """What is being compiled, or the speed and the time left."""
        if self.compiling:
            return self.compiling
        if self.rounds_per_second == 0.0:
            return ""
        left = f"{'at least ' if self.uncompiled else ''}{duration(self.seconds_left)} left"
        return f"{compact(self.rounds_per_second)} rounds/s, {left}"


# ---- where a bar is drawn ----


class _View(Protocol):
    """A bar that is on the screen."""

    def draw(self, progress: Progress, description: str) -> None: ...
    def close(self, progress: Progress) -> None: ...


_LEAST_BAR = 13
"""Columns of a short bar, the percentage, and the spaces between."""


def _status(progress: Progress, room: int) -> str:
    """The speed and the time left, or what is being compiled; in a narrow terminal without the speed, or nothing."""
    whole = progress.describe()
    shorter = "compiling" if progress.compiling else whole.rpartition(", ")[2]
    return next((text for text in (whole, shorter) if len(text) <= room), "")


class _TerminalView:
    """A line on standard error, removed at the end."""

    def __init__(self, description: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}", style="cyan"),
        )
        console = Console(stderr=True, highlight=False, emoji=False)
        self._bar = RichProgress(*columns, console=console, transient=True, expand=True, auto_refresh=False)
        self._task = self._bar.add_task(description, total=None, status="")
        self._bar.start()

    def draw(self, progress: Progress, description: str) -> None:
        total = progress.total if progress.done else None  # a bar that moves to and fro, before the first round
        self._bar.update(
            self._task,
            description=description,
            total=total,
            completed=progress.done,
            status=_status(progress, self._bar.console.width - len(description) - _LEAST_BAR),
            refresh=True,
        )

    def close(self, progress: Progress) -> None:
        self._bar.stop()


class _NotebookView:
    """A line of HTML below the cell, updated in place; at the end it says what was played."""

    def __init__(self) -> None:
        from IPython import display

        show: Any = display.display
        self._last = _notebook_line("", None, "")
        self._handle: Any = show(self._last, raw=True, display_id=True)

    def draw(self, progress: Progress, description: str) -> None:
        share = progress.done / progress.total if progress.done else None
        self._update(_notebook_line(description, share, progress.describe()))

    def close(self, progress: Progress) -> None:
        text = _last_line(progress)
        self._update({"text/plain": text, "text/html": f'<div style="{_TEXT}opacity:.65">{text}</div>'})

    def _update(self, line: dict[str, str]) -> None:
        if line != self._last:
            self._last = line
            self._handle.update(line, raw=True)


def _last_line(progress: Progress) -> str:
    """What was played, and how fast: compiling is in the time, and not in the speed."""
    total = "" if progress.done == progress.total else f" of {compact(progress.total)}"
    text = f"{compact(progress.done)}{total} rounds in {duration(progress.seconds)}"
    speed = f"{compact(progress.rounds_per_second)} rounds/s" if progress.done else ""
    if progress.waited < 0.01 * progress.seconds or progress.waited == 0.0:
        return f"{text} ({speed})" if speed else text
    return f"{text}, {duration(progress.waited)} of it compiling" + (f"; {speed} in the rest" if speed else "")


_TEXT = "font:13px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;"


def _notebook_line(description: str, share: float | None, status: str) -> dict[str, str]:
    """A bar as HTML and as plain text; without a share it is empty."""
    from html import escape

    percent = "" if share is None else f"{100.0 * share:.0f}%"
    text = " ".join(part for part in (description, percent, status) if part)
    html = (
        f'<div style="display:flex;align-items:center;gap:12px;max-width:720px;{_TEXT}">'
        f"<b>{escape(description)}</b>"
        '<div style="flex:1;min-width:80px;height:6px;border-radius:3px;background:rgba(127,127,127,.25)">'
        f'<div style="width:{100.0 * (share or 0.0):.1f}%;height:6px;border-radius:3px;background:#2a78d6"></div></div>'
        f'<span style="min-width:2.5em;text-align:right">{percent}</span>'
        f'<span style="opacity:.65">{escape(status)}</span></div>'
    )
    return {"text/plain": text, "text/html": html}


def in_notebook() -> bool:
    """Whether this is a cell of a notebook: a running IPython kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


# ---- the bar ----


class ProgressBar:
    """A bar with the speed and the time left, or with what is being compiled.

    It appears ``delay`` seconds after the context is entered, whether there is progress by then or not, and disappears
    with it; in a notebook a line about what was played stays. A thread of its own draws it."""

    def __init__(
        self, delay: float = 0.0, description: str = "preparing", clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._delay = delay
        self._clock = clock
        self._drawing = threading.RLock()
        self._view: _View | None = None
        self._latest = Progress(0, 0, 0.0), description
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self, progress: Progress, description: str = "simulating") -> None:
        """What the next picture shows."""
        self._latest = progress, description

    def __enter__(self) -> Self:
        self._started = self._clock()
        self.tick()
        context = contextvars.copy_context()  # notebooks find the cell of an output by it
        self._thread = threading.Thread(target=context.run, args=(self._draw_until_ended,), daemon=True)
        try:
            with DelayedInterrupt():
                self._thread.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with DelayedInterrupt():
            self._ended.set()
            if self._thread is not None:
                self._thread.join()
            with self._drawing:
                self._close()

    def _draw_until_ended(self) -> None:
        while not self._ended.wait(INTERVAL):
            self.tick()

    def tick(self) -> None:
        """Draw the bar, if it is time."""
        with self._drawing:
            if self._view is None:
                if self._clock() - self._started < self._delay:
                    return
                self._view = _NotebookView() if in_notebook() else _TerminalView(self._latest[1])
            self._view.draw(*self._latest)

    def _close(self) -> None:
        if self._view is not None:
            self._view.close(self._latest[0])
            self._view = None

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the bar while something else is printed."""
        with self._drawing:
            self._close()
            yield


def shows_bar(progress: bool | None) -> bool:
    """Whether a bar is shown: if asked for, or by default (None) on a terminal and in a notebook."""
    return bool(progress) if progress is not None else sys.stderr.isatty() or in_notebook()


Report = Callable[[int, str, int], None]
"""(rounds played so far, what is being compiled, policies without code yet)."""


@contextmanager
def progress_reporter(
    progress: bool | Callable[[Progress], None] | None,
    total: int,
    runs: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Report]:
    """Yield a function that is told how far the simulation is, and updates the bar or calls the callback."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidParameter(f"progress is {progress!r}; give True, False, None, or a function.")
    started = clock()
    latest = Progress(0, total, 0.0, runs=runs)

    def next_progress(done: int, compiling: str, uncompiled: int) -> Progress:
        nonlocal latest
        seconds, done = clock() - started, max(done, latest.done)
        idle = compiling and latest.compiling and done == latest.done
        waited = latest.waited + (seconds - latest.seconds if idle else 0.0)
        latest = Progress(done, total, seconds, compiling, runs, waited, uncompiled)
        return latest

    if callable(progress):
        callback = progress

        def call(done: int, compiling: str, uncompiled: int) -> None:
            before = latest
            if next_progress(done, compiling, uncompiled).done != before.done or compiling != before.compiling:
                callback(latest)

        yield call
    elif shows_bar(progress):
        with ProgressBar(DELAY if progress is None else 0.0, "simulating", clock) as bar:
            bar.show(latest)
            yield lambda *report: bar.show(next_progress(*report))
    else:
        yield lambda *_: None
