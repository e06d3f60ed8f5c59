"""Processes that compile: where the code of several policies is missing, they take some of it off this one.

They share numba's folder on disk. Whoever begins with a policy claims it first, by a file in a folder of its own; this
process goes through the policies from the front and they from the back, so that nothing is compiled twice. What another
process has claimed is waited for as long as that is alive: if it fails, the code is compiled here, as without help. A
policy from outside the package is always compiled here."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.compiling import is_compiled, is_on_disk, is_shared
from belated.forms.base import Policy
from belated.forms.calls import entry_for
from belated.kernel import cache_folder

MOST = 4
"""Processes at a time: each takes two seconds to begin, and some 300 MB."""
PATIENCE = 0.02
"""Seconds between two looks at what another process is compiling."""
COMMAND = "from belated.engine.precompile import main; main()"

_busy = threading.Lock()
"""Held while there are such processes."""


class Crew:
    """The processes at work, and the folder with the claims."""

    def __init__(self, claims: Path | None = None, processes: Sequence[subprocess.Popen[bytes]] = ()) -> None:
        self._claims = claims
        self._processes = processes

    def wait_for(self, function: Callable[..., Any], policy: Policy, stop: npt.NDArray[np.int64]) -> None:
        """Return when it is for this process to compile ``function`` for a policy, or to load it."""
        if self._claims is None or claimed(self._claims, policy):
            return
        entry = entry_for(function, type(policy))
        while not (is_compiled(entry) or is_on_disk(entry) or stop[0] != 0) and self._alive():
            time.sleep(PATIENCE)

    def _alive(self) -> bool:
        return any(process.poll() is None for process in self._processes)


_at_work: dict[Callable[..., Any], Crew] = {}


def claimed(claims: Path, policy: Policy) -> bool:
    """Claim a policy; False if another process did."""
    try:
        (claims / type(policy).__name__).touch(exist_ok=False)
    except OSError:
        return False
    return True


@contextmanager
def crew_for(function: Callable[..., Any], policies: Sequence[Policy], workers: int) -> Iterator[Crew]:
    """A context with processes that compile ``function`` for policies for which that is yet to be done, where that is
    worthwhile; at its end none of them is left."""
    missing = _missing(function, policies)
    wanted = min(workers, len(missing), MOST + 1) - 1
    if wanted < 1 or not _is_python() or not _busy.acquire(blocking=False):
        yield _at_work.get(function) or Crew()  # that of another thread, if it compiles the same
        return
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="belated-", ignore_cleanup_errors=True) as folder:
            try:
                with suppress(OSError, pickle.PickleError):  # without help, then
                    task = pickle.dumps((function.__name__, missing, folder))
                    for _ in range(wanted):
                        processes.append(_started())
                        _tell(processes[-1], task)
                _at_work[function] = Crew(Path(folder), processes)
                yield _at_work[function]
            finally:
                _at_work.pop(function, None)
                for process in processes:
                    process.kill()
                    process.wait()
    finally:
        _busy.release()


def _missing(function: Callable[..., Any], policies: Sequence[Policy]) -> list[Policy]:
    """One policy of each class for which the function is neither compiled here nor on disk, but could be kept there."""
    found: dict[type[Policy], Policy] = {}
    for policy in policies:
        if type(policy).__module__.startswith("belated.policies.") and type(policy) not in found:
            entry = entry_for(function, type(policy))
            if not is_compiled(entry) and is_shared(entry) and not is_on_disk(entry):
                found[type(policy)] = policy
    return list(found.values())


def _is_python() -> bool:
    """Whether a process of this interpreter can be started; a program that has one inside is another matter."""
    return not hasattr(sys, "frozen") and "python" in Path(sys.executable or "").name.lower()


def _started() -> subprocess.Popen[bytes]:
    folder = cache_folder()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    if folder is not None:
        environment["BELATED_CACHE_DIR"] = str(folder.parent)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _tell(process: subprocess.Popen[bytes], task: bytes) -> None:
    if process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(task)
