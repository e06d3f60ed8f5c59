"""A server in a process of its own, and plain HTTP to it; nothing here knows how the package is built inside."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

WITHIN = 600.0
"""Seconds in which a server must have started, or ended; far more than it takes."""


def belated(*arguments: str, status: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command of the command line, which must end with this status; in this process, unless there are options of
    another one."""
    command = [sys.executable, "-m", "belated", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options) if options else _run(command)
    assert done.returncode == status, f"belated {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """``python -m MODULE ...`` in this process."""
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with mock.patch.object(sys, "argv", command[2:]), redirect_stdout(output), redirect_stderr(errors):
        try:
            runpy.run_module(command[2], run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return subprocess.CompletedProcess(command, code, output.getvalue(), errors.getvalue())


class Server:
    """A server that is up, asked by one caller, one request after the other."""

    def __init__(self, db: str | None, key: str | None = None, settings: Path | None = None) -> None:
        flags = (
            ["--db", str(db), "--host", "127.0.0.1", "--port", "0"] if settings is None else ["--config", str(settings)]
        )
        command = [sys.executable, "-m", "belated", "serve", *flags]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, bufsize=1, env={**os.environ})
        self._lines: list[str] = []
        self._found = threading.Event()
        self.url = ""
        self.key = key
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self._found.wait(WITHIN)
        if not self.url:
            self.kill()
            raise AssertionError(f"the server did not start: {''.join(self._lines)}")
        address = urlsplit(self.url)
        self._connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=WITHIN)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line)
            match = re.search(r"(http://[^\s;]+)", line)
            if match and not self.url:
                self.url = match[1]
                self._found.set()
        self._found.set()

    def ask(self, method: str, path: str, body: Any = None, key: str | None = "own") -> tuple[int, bytes]:
        """Status and body of the answer; with the server's key, another one, or none."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        used = self.key if key == "own" else key
        if used is not None:
            headers["Authorization"] = f"Bearer {used}"
        content = json.dumps(body) if body is not None else None
        self._connection.request(method, path, content, headers)
        try:
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        finally:
            self._connection.close()  # an idle one may be closed by the server, which a slow machine would see

    def get(self, path: str) -> Any:
        """What is at a path, which must be there."""
        status, body = self.ask("GET", path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer of a request that changes something."""
        status, answer = self.ask("POST", path, body)
        assert status < 500, (path, status, answer)
        return status, json.loads(answer)

    def kill(self) -> None:
        """End it without a word, as a power cut would."""
        self._process.send_signal(signal.SIGKILL)
        self._close()

    def end(self) -> None:
        """Ask it to end, and wait until it did."""
        self._process.send_signal(signal.SIGTERM)
        self._close()
        assert self._process.returncode == 0, "".join(self._lines)

    def _close(self) -> None:
        try:
            self._process.wait(WITHIN)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._reading.join()
            assert self._process.stderr is not None
            self._process.stderr.close()
            if hasattr(self, "_connection"):
                self._connection.close()


@contextmanager
def serving(db: str | None, key: str | None = None, settings: Path | None = None) -> Iterator[Server]:
    """A server within this context, told by flags or by a file; it is asked to end behind it."""
    server = Server(db, key, settings)
    try:
        yield server
    except BaseException:
        server.kill()
        raise
    server.end()
