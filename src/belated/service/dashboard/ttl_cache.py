"""What was computed a moment ago need not be computed again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

SECONDS = 1.0
"""How long something is fresh."""
MOST_SECONDS = 60.0
MOST_KEPT = 256


class Fresh:
    """Values by key. Whoever asks for one that is being made waits for it; it is made in another thread."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[float, Any]] = {}
        self._locks: dict[Any, asyncio.Lock] = {}

    async def get(self, key: Any, make: Callable[[], Any], rest: float = 1.0) -> Any:
        """The value of this key, at most a little old; one that took long to make is fresh for ``rest`` times as
        long."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                end, value = self._kept.get(key, (0.0, None))
                begin = time.monotonic()
                if begin < end:
                    return value
                value = await run_in_threadpool(make)
                done = time.monotonic()
                self._kept[key] = (done + min(max(SECONDS, rest * (done - begin)), MOST_SECONDS), value)
        finally:
            if key not in self._kept:  # nothing came of it, perhaps there is no such thing
                self._locks.pop(key, None)
        if len(self._kept) > MOST_KEPT:
            self._forget()
        return value

    def _forget(self) -> None:
        """Drop what is no longer fresh."""
        time_now = time.monotonic()
        for key in [key for key, (end, _) in self._kept.items() if end < time_now]:
            del self._kept[key]
            self._locks.pop(key, None)
