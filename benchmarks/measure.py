"""Clocks, pinning and the interleaved contest: what makes two timings comparable."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Timed = Callable[[], float]
"""Does its work once and returns the seconds that count."""


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process and the children it starts on one core, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def wall(work: Callable[[], object]) -> float:
    """Return the seconds on the wall clock of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def contest(entries: Mapping[str, Timed], repeats: int) -> dict[str, float]:
    """Let the entries take turns, A B C A B C ..., and return the minimum of each."""
    best = dict.fromkeys(entries, math.inf)
    for _ in range(repeats):
        for name, timed in entries.items():
            best[name] = min(best[name], timed())
    return best


def deviation(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the distance of two (mean, standard error) pairs in standard errors."""
    return abs(first[0] - second[0]) / math.hypot(first[1], second[1])
