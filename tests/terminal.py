"""A command in a process of its own, whose error output is a terminal: for bars and for Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

pty = pytest.importorskip("pty", reason="needs a terminal that a test can make")


class Watched:
    """A command whose error output is a terminal."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._seen = ""
        self._master, worker = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "belated", *arguments],
            stdout=subprocess.PIPE,
            stderr=worker,
            text=True,
            env={**environment, "TERM": "xterm"},
        )
        os.close(worker)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 4096)
            except OSError:  # the other end is closed
                return
            if not piece:
                return
            self._seen += piece.decode(errors="replace")

    @property
    def seen(self) -> str:
        """What came so far, without colours and moves of the cursor."""
        return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", self._seen)

    def wait_for(self, good: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + 2400.0
        while not good(self.seen):
            assert self.child.poll() is None, f"it ended by itself: {self.seen}"
            assert time.monotonic() < deadline, f"nothing came: {self.seen}"
            time.sleep(0.02)

    def interrupt(self, times: int = 1) -> tuple[int, str]:
        for _ in range(times):
            self.child.send_signal(signal.SIGINT)
            time.sleep(0.02)
        output, _ = self.child.communicate(timeout=1200)
        self._reader.join(timeout=100)
        os.close(self._master)
        return self.child.returncode, output
