"""What all commands share: where text goes, and what becomes of errors and of Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

MISTAKE = 2
"""Exit status after a user's mistake."""
INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def console(stderr: bool = False) -> Console:
    """Where text goes: colours on a terminal alone."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, emoji=False)


def note(text: str, style: str = "", prefix: str = "", stderr: bool = False) -> None:
    """A line of text that is never broken, so that it can be searched for and copied."""
    from rich.text import Text

    console(stderr).print(Text.assemble((prefix, style), text), soft_wrap=True)


@contextmanager
def guarded() -> Iterator[None]:
    """A user's mistake ends in a message and no traceback."""
    from belated.errors import BelatedError

    try:
        yield
    except KeyboardInterrupt as error:
        note(str(error) or "interrupted.", "bold yellow", "", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    except BelatedError as error:
        fail(str(error))
    except BrokenPipeError:
        raise  # the reader of a pipe went away
    except OSError as error:
        fail(f"{error.filename or 'a file'}: {error.strerror or error}. Give another place, or make room.")
    except MemoryError as error:
        fail(f"there is not enough memory: {error} Give fewer runs, arms or checkpoints.")


def fail(message: str) -> None:
    """Say what is wrong, and end."""
    note(message, "bold red", "error: ", stderr=True)
    raise typer.Exit(MISTAKE)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """The first Ctrl-C interrupts; those that follow do not disturb the saving of what is finished."""
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
