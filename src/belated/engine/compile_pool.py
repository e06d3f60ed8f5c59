"""Compile for many policies in several processes.

Where the code of several policies is missing, other processes take tasks from the queue that this one takes its own
from, and leave the code in the cache on disk. Whatever goes wrong with them, the code is compiled here when it is
needed. There are none where ``BELATED_COMPILERS=0``, and they end with this process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.errors import BelatedWarning
from belated.kernel.cache import cache_root, is_cached, is_on_disk
from belated.kernel.jit import is_compiled
from belated.policies._base.entry_points import entry_for
from belated.policies._base.policy import Policy

MAX_PROCESSES = 4
"""Besides this one: each takes a second to start, and some 300 MB."""
TASKS_PER_PROCESS = 2
"""Tasks for which a process is worth its start."""
MAX_TASKS = 256
"""A place in the queue is a byte."""
POLL_SECONDS = 0.02
COMMAND = "from belated.engine.compile_worker import main; main()"

Task = tuple[Callable[..., Any], Policy]
"""A loop, and a policy to compile it for."""

_pool_lock = threading.Lock()


def is_waiting() -> bool:
    """Whether a pool of processes is at work, perhaps after this one has nothing left to compile."""
    return _pool_lock.locked()


def compile_missing(
    tasks: Sequence[Task], compile_here: Callable[[Task], None], workers: int, stop: npt.NDArray[np.int64]
) -> None:
    """Compile those of many tasks that have no code yet, in up to ``workers`` processes; return early if ``stop`` is
    set. A few are left for when they are needed."""
    with _pool_lock:  # a second thread then finds the code of the first
        missing = missing_tasks(tasks)[:MAX_TASKS]
        processes = min(workers, MAX_PROCESSES + 1, len(missing) // TASKS_PER_PROCESS)
        if processes < 2 or not _can_start():
            return
        with ExitStack() as stack:
            queue = _queue(len(missing))
            stack.callback(os.close, queue)
            started = []
            with suppress(Exception):  # without help, then
                for _ in range(1, processes):
                    started.append(process := _start(missing, queue))
                    stack.callback(_end, process)
            for task in take(missing, queue):
                if stop[0] != 0:
                    return
                compile_here(task)
            while stop[0] == 0 and any(process.poll() is None for process in started):
                time.sleep(POLL_SECONDS)


def _queue(length: int) -> int:
    """A pipe that has a byte for each task: who reads it has the task to itself."""
    queue, end = os.pipe()
    os.write(end, bytes(range(length)))
    os.close(end)
    return queue


def take(tasks: Sequence[Any], queue: int) -> Iterator[Any]:
    """Take tasks from the queue until it is empty."""
    while place := os.read(queue, 1):
        yield tasks[place[0]]


def missing_tasks(tasks: Sequence[Task]) -> list[Task]:
    """One task for each loop and class of built-in policies that has code neither here nor on disk, but could."""
    missing: dict[tuple[Any, type[Policy]], Task] = {}
    for loop, policy in tasks:
        cls = type(policy)
        if cls.is_built_in and (loop, cls) not in missing:
            entry = entry_for(loop, cls)
            if not is_compiled(entry) and is_cached(entry) and not is_on_disk(entry):
                missing[loop, cls] = loop, policy
    return list(missing.values())


def _can_start() -> bool:
    """Whether processes of this interpreter are allowed and possible: not in a program that embeds it."""
    is_python = not hasattr(sys, "frozen") and "python" in Path(sys.executable or "").name.lower()
    return is_python and _is_on(os.environ.get("BELATED_COMPILERS", ""))


@cache
def _is_on(setting: str) -> bool:
    """Whether ``BELATED_COMPILERS`` leaves processes on; a value without a meaning does, with one warning."""
    if setting not in ("", "0", "1"):
        BelatedWarning.issue(
            f"BELATED_COMPILERS is {setting!r}, which means nothing; set it to 0 to compile in this process alone, or "
            "leave it out, or set it to 1, to compile in several."
        )
    return setting != "0"


def _start(tasks: Sequence[Task], queue: int) -> subprocess.Popen[bytes]:
    """A process with the tasks in its standard input, which stays open: the process ends when it is closed."""
    data = pickle.dumps(([(loop.__name__, policy) for loop, policy in tasks], queue))
    path = [part for part in sys.path if isinstance(part, str) and part]  # as Python does
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "BELATED_CACHE_DIR": str(cache_root())}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=[queue],
    )
    try:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.flush()
    except OSError:
        _end(process)
        raise
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):  # tasks that could not be written are still in its buffer
            process.stdin.close()
