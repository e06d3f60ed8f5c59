"""What all commands share: output, the progress bar, and the handling of errors and Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from belated.errors import BelatedError, BelatedWarning, Interrupted

if TYPE_CHECKING:
    from belated.simulation.progress import ProgressBar

T = TypeVar("T")


def console(stderr: bool = False) -> Console:
    """The console; colours appear only on a terminal."""
    return Console(stderr=stderr, highlight=False, emoji=False)


def plain_table() -> Table:
    """An empty table with a rule under its header."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)


_bars: list[ProgressBar] = []
"""The progress bar on the screen, if there is one."""


def note(text: str, style: str = "", prefix: str = "", stderr: bool = False) -> None:
    """Print a line, above a progress bar: wrapped at words on a terminal, and whole for whatever else reads it."""
    target = console(stderr)
    with _bars[-1].hidden() if _bars else nullcontext():
        target.print(Text.assemble((prefix, style), text), soft_wrap=not target.is_terminal)


def note_written(what: str) -> None:
    """Print what was written."""
    note(what, "bold green", "wrote ")


def finished_part(play: Callable[[], T], attribute: str) -> tuple[T, Interrupted | None]:
    """What ``play`` returns; after Ctrl-C the finished part, an attribute of the error, and the error."""
    try:
        return play(), None
    except Interrupted as error:
        finished: T | None = getattr(error, attribute)
        if not finished:
            raise
        return finished, error


def exit_interrupted(message: str, prefix: str = "interrupted ") -> None:
    """Print what was saved before Ctrl-C, and exit."""
    note(message, "bold yellow", prefix, stderr=True)
    raise typer.Exit(130)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[ProgressBar | None]:
    """A progress bar on a terminal, or None."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from belated.simulation.progress import ProgressBar

    with ProgressBar() as bar:
        _bars.append(bar)
        try:
            yield bar
        finally:
            _bars.remove(bar)


@contextmanager
def error_messages() -> Iterator[None]:
    """Turn errors that a user can cause into a message and an exit status, without a traceback; and warnings of the
    package into a line on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", BelatedWarning)
            others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
                if issubclass(category, BelatedWarning):
                    note(str(message), "bold yellow", "warning: ", stderr=True)
                else:
                    others(message, category, *place, **more)

            warnings.showwarning = show
            yield
    except KeyboardInterrupt as error:
        exit_interrupted(str(error) or "interrupted.", "")
    except BelatedError as error:
        fail(str(error))
    except BrokenPipeError:
        raise  # the reader of a pipe has gone
    except OSError as error:
        fail(f"{error.filename or 'a file'}: {error.strerror or error}. Give another path, or free some space.")
    except MemoryError as error:
        fail(f"there is not enough memory: {error} Give fewer runs, arms or checkpoints.")


def fail(message: str) -> NoReturn:
    """Print an error, and exit."""
    note(message, "bold red", "error: ", stderr=True)
    raise typer.Exit(2) from None


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let the first Ctrl-C interrupt, and ignore further ones while the finished part is saved."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
