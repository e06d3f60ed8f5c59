"""A real server in a process of its own, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

STARTS_WITHIN = 60.0


@dataclass
class Server:
    """A server that is up: where, its process, and what it wrote to standard error."""

    url: str
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    reading: threading.Thread | None = None

    def kill(self) -> None:
        """As a power cut would, but for what the kernel has."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._close()

    def end(self) -> int:
        """Ask it to end, and wait; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=30)
        self._close()
        return status

    def _close(self) -> None:
        assert self.reading is not None
        assert self.process.stderr is not None
        self.reading.join()
        self.process.stderr.close()

    def client(self, **options: Any) -> httpx2.Client:
        """A plain HTTP client for it."""
        return httpx2.Client(base_url=self.url, timeout=30.0, **options)


def start(
    db: str,
    *options: str,
    environment: dict[str, str] | None = None,
    program: tuple[str, ...] = ("-m", "belated"),
) -> Server:
    """Start a server on a free port; it takes requests when this returns. ``program`` may be another one, which does
    something wrong."""
    command = [sys.executable, *program, "serve", "--db", db, "--port", "0", *options]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}, bufsize=1
    )
    found = Server("", process)
    ready = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            found.lines.append(line)
            match = re.search(r"at (http://\S+);", line)
            if match and not found.url:
                found.url = match[1]
                ready.set()
        ready.set()

    found.reading = threading.Thread(target=read, daemon=True)
    found.reading.start()
    assert ready.wait(STARTS_WITHIN), "the server did not start"
    assert found.url, f"the server ended: {''.join(found.lines)}"
    return found


@contextmanager
def serving(db: str, *options: str, environment: dict[str, str] | None = None) -> Iterator[Server]:
    """A server within this context."""
    server = start(db, *options, environment=environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            try:
                server.end()
            except subprocess.TimeoutExpired:
                server.kill()
