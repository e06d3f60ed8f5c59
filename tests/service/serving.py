"""Servers for tests: in a thread of this process where that is enough, in a process of their own where it is not."""

from __future__ import annotations

import asyncio
import logging
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
from unittest import mock

import httpx2
import structlog
import uvicorn

from belated.service import app
from belated.service.core.service import Service
from belated.service.dashboard import queries
from belated.service.serve import listen
from belated.service.settings import Settings
from belated.service.storage.journal import open_journal

PATIENCE = 600.0
"""Seconds after which tests stop waiting for a server or a page: it hangs, however slow the machine."""
QUICK = 0.02
"""Seconds between two rounds of the background tasks of a server in this process."""


# ---- in this process ----


@dataclass
class LocalServer:
    """A server in a thread of this process: where it is, and its service."""

    url: str
    service: Service

    def client(self, **options: Any) -> httpx2.Client:
        """A plain HTTP client for it."""
        return httpx2.Client(base_url=self.url, timeout=PATIENCE, **options)


@contextmanager
def hosting(db: str) -> Iterator[LocalServer]:
    """A server in this process. Its background tasks run every few milliseconds, and pages are never cached."""
    only_warnings()
    listener = listen(Settings(db=db, port=0))
    service = Service(lambda: open_journal(db))
    config = uvicorn.Config(
        app.make_app(service), log_config=None, access_log=False, server_header=False, lifespan="on", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
    with (
        mock.patch.object(app, "IMPUTE_SECONDS", QUICK),
        mock.patch.object(app, "KEYS_SECONDS", QUICK),
        mock.patch.object(queries, "FRESH_SECONDS", 0.0),
        mock.patch.object(queries, "MAX_FRESH_SECONDS", 0.0),
    ):
        thread.start()
        try:
            _wait_until_started(server, thread, service)
            yield LocalServer(f"http://127.0.0.1:{listener.getsockname()[1]}", service)
        finally:
            server.should_exit = True
            thread.join()
            listener.close()


def only_warnings() -> None:
    """Let servers in this process not log every request."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread, service: Service) -> None:
    while not server.started:
        thread.join(0.005)
        if not thread.is_alive():
            raise service.failed or AssertionError("the server ended")


# ---- in a process of its own ----


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
        status = self.process.wait(timeout=PATIENCE)
        self._close()
        return status

    def _close(self) -> None:
        assert self.reading is not None
        assert self.process.stderr is not None
        self.reading.join()
        self.process.stderr.close()

    def client(self, **options: Any) -> httpx2.Client:
        """A plain HTTP client for it."""
        return httpx2.Client(base_url=self.url, timeout=PATIENCE, **options)


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
    server = Server("", process)
    ready = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            server.lines.append(line)
            match = re.search(r"at (http://\S+);", line)
            if match and not server.url:
                server.url = match[1]
                ready.set()
        ready.set()

    server.reading = threading.Thread(target=read, daemon=True)
    server.reading.start()
    assert ready.wait(PATIENCE), "the server did not start"
    assert server.url, f"the server ended: {''.join(server.lines)}"
    return server


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
