"""Helper processes that compile some of the policies whose code is missing.

They share the cache on disk. A process claims a policy, by a file in a temporary folder, before it compiles it; this
process goes through the policies from the front and the helpers from the back, so nothing is compiled twice. This
process waits for a claimed policy as long as the claiming process is alive; if that fails, it compiles the policy
itself. Policies from outside the package are always compiled in this process.

Of several programs with the same cache, one at a time has helpers; ``BELATED_COMPILERS=0`` turns them off."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.cache import cache_root, is_cached, is_on_disk
from belated.kernel.jit import is_compiled
from belated.policies._base.entry_points import entry_for
from belated.policies._base.policy import Policy, is_built_in

MOST_PROCESSES = 4
"""Processes at a time: each takes two seconds to begin, and some 300 MB."""
PATIENCE = 0.02
"""Seconds between two looks at what another process is compiling."""
LONGEST = 600.0
"""Seconds after which the lock of another program is no longer heeded: its number may be that of a new one by now."""
LENGTH = 8
"""Bytes before a task that say how long it is."""
COMMAND = "from belated.engine.compile_worker import main; main()"

_busy = threading.Lock()
"""Held while there are such processes."""


class Crew:
    """The processes at work, and the folder with the claims."""

    def __init__(self, claims: Path | None = None, processes: Sequence[subprocess.Popen[bytes]] = ()) -> None:
        self._claims = claims
        self._processes = list(processes)

    def hire(self, task: bytes) -> None:
        """Start one more process and tell it its task. Its input stays open: it ends where that does."""
        process = _started()
        self._processes.append(process)
        try:
            if process.stdin is not None:
                process.stdin.write(len(task).to_bytes(LENGTH, "big") + task)
                process.stdin.flush()
        except OSError:
            process.kill()  # it would wait for its task, and others for it
            raise

    def dismiss(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with suppress(OSError):  # a task that could not be told is still in there
                    process.stdin.close()

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
def crew_for(
    function: Callable[..., Any], policies: Sequence[Policy], workers: int, *, busy: bool = False
) -> Iterator[Crew]:
    """A context with processes that compile ``function`` for policies for which that is yet to be done, where that is
    worthwhile (of one policy: if this process is busy with others first); at its end none of them is left."""
    missing = missing_for(function, policies)
    wanted = min(workers, len(missing) + busy, MOST_PROCESSES + 1) - 1
    if wanted < 1 or not _may_start() or not _busy.acquire(blocking=False):
        yield _at_work.get(function) or Crew()  # that of another thread, if it compiles the same
        return
    with ExitStack() as stack:
        stack.callback(_busy.release)
        crew = Crew()
        with suppress(Exception):  # whatever it is: without help, then
            if stack.enter_context(only_one(cache_root())):
                made = tempfile.TemporaryDirectory(prefix="belated-", ignore_cleanup_errors=True)
                claims = Path(stack.enter_context(made))
                crew = _at_work[function] = Crew(claims)  # first of all: other threads see it at once
                stack.callback(_at_work.pop, function)
                stack.callback(crew.dismiss)
                task = pickle.dumps((function.__name__, missing, str(claims)))
                for _ in range(wanted):
                    crew.hire(task)
        yield crew


@contextmanager
def only_one(folder: Path | None) -> Iterator[bool]:
    """A context, and whether no other process has one for the same folder: who has it keeps a file there with its
    number. One that was killed leaves it behind; should two find that at once, both may go on, which does no harm."""
    if folder is None or not _locked(lock := folder / "compilers.lock"):
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):
            if lock.read_text() == str(os.getpid()):
                lock.unlink()


def _locked(lock: Path) -> bool:
    """Make the file; False if another process did."""
    if _is_left_over(lock):
        lock.unlink(missing_ok=True)
    try:
        with lock.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


def _is_left_over(lock: Path) -> bool:
    try:
        if time.time() - lock.stat().st_mtime > LONGEST:
            return True
        owner = int(lock.read_text())
    except (OSError, ValueError):  # there is none, or it is just being written
        return False
    if owner == os.getpid():  # of an earlier process with the same number, as in containers: this one is only beginning
        return True
    try:
        if os.name == "posix":  # elsewhere this would be no question, but a signal
            os.kill(owner, 0)
    except ProcessLookupError:
        return True
    except OSError:  # another user's
        return False
    return False


def missing_for(function: Callable[..., Any], policies: Sequence[Policy]) -> list[Policy]:
    """One policy of each class for which the function is neither compiled here nor on disk, but could be kept there."""
    found: dict[type[Policy], Policy] = {}
    for policy in policies:
        if is_built_in(type(policy)) and type(policy) not in found:
            entry = entry_for(function, type(policy))
            if not is_compiled(entry) and is_cached(entry) and not is_on_disk(entry):
                found[type(policy)] = policy
    return list(found.values())


def _may_start() -> bool:
    """Whether processes of this interpreter are allowed, and can be started: not where a program has it inside."""
    is_python = not hasattr(sys, "frozen") and "python" in Path(sys.executable or "").name.lower()
    return is_python and os.environ.get("BELATED_COMPILERS") != "0"


def _started() -> subprocess.Popen[bytes]:
    folder = cache_root()
    parts = [part for part in sys.path if isinstance(part, str) and part]  # Python itself passes over all others
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(parts)}
    if folder is not None:
        environment["BELATED_CACHE_DIR"] = str(folder)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
