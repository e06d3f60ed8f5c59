"""Ctrl-C while threads are at work.

Python raises KeyboardInterrupt between any two steps of the main thread: also between taking a lock of a queue or a
future and the statement that would free it, and then the threads that need the lock wait forever."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

PATIENCE = 3
"""The number of the interrupt that is not delayed."""


class DelayedInterrupt:
    """A block that Ctrl-C does not leave in the middle: what the handler of SIGINT raises is raised when it ends.

    ``on_interrupt`` is called at once, in the main thread, and should bring the block to its end. If it does not, the
    third Ctrl-C leaves the block in the middle. A handler that raises nothing changes nothing. In other threads there
    are no interrupts, and this does nothing."""

    def __init__(self, on_interrupt: Callable[[], None] | None = None) -> None:
        self._on_interrupt = on_interrupt
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._raised: BaseException | None = None
        self._patience = PATIENCE

    @property
    def pending(self) -> bool:
        """Whether the block was interrupted, and should end."""
        return self._raised is not None

    def __enter__(self) -> Self:
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handler = handler
            signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        assert self._handler is not None
        self._patience -= 1
        if self._patience == 0:
            signal.signal(signal.SIGINT, self._handler)
            self._handler(number, frame)
            return
        try:
            self._handler(number, frame)
        except BaseException as raised:
            self._raised = raised.with_traceback(None)
            if self._on_interrupt is not None:
                self._on_interrupt()

    def __exit__(self, *_: object) -> None:
        if self._handler is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._handler)  # unless that handler put another one into its place
        if self._raised is not None:
            raise self._raised from None
