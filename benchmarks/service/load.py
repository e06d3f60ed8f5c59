"""Load test (``make load``): durable decisions and feedback per second, the cost of a decision relative to a bare
handler with the same commit, memory for a million pending decisions, restart time. Writes ``docs/load.md``."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from caller import Calls, post_all

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "load.md"
DECISIONS = 20_000
CONNECTIONS = 32
ROUNDS = 3
MILLION = 1_000_000
AT_A_TIME = 1_000


NOTE = """\
A decision or feedback counts when it is acknowledged, and it is acknowledged when it is on disk. The bare handler
(`benchmarks/service/bare.py`) is a Starlette route with msgspec on the same uvicorn: it decodes a body, writes one row
with the same columns and index, groups many rows into a commit, and responds after the commit. The plain ASGI function
does the same without Starlette, which shows the cost of the framework; it has no limit. All three take turns. CPU time
is that of the whole process.
"""


class Row(NamedTuple):
    """One line of the table."""

    what: str
    value: str
    limit: str
    passed: bool


class Process(NamedTuple):
    """A server that is up."""

    url: str
    popen: subprocess.Popen[bytes]

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory in MB."""
        for line in Path(f"/proc/{self.popen.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("the server is gone")


@contextmanager
def running(command: list[str], port: int) -> Iterator[Process]:
    """A server within this context, ready."""
    popen = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, popen)
        yield Process(url, popen)
    finally:
        popen.send_signal(signal.SIGTERM)
        popen.wait()


def wait_for(url: str, popen: subprocess.Popen[bytes]) -> None:
    """Return when the server is ready."""
    while True:
        if popen.poll() is not None:
            raise RuntimeError("the server ended")
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=5).read()
            return
        except OSError:
            time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def served(folder: str, port: int) -> list[str]:
    return [sys.executable, "-m", "belated", "serve", "--db", f"{folder}/bandits.db", "--port", str(port)]


def create(url: str) -> None:
    asked = {"name": "load", "arms": list("abcde"), "policy": {"name": "UCB", "horizon": 10_000_000}}
    calls = post_all(url, [("/v1/experiments", asked)], 1)
    assert calls.statuses in ({201: 1}, {200: 1}), calls


def decide(server: Process) -> tuple[Calls, float]:
    """Make decisions; (calls, processor seconds a decision)."""
    before = server.cpu()
    calls = post_all(server.url, [("/v1/experiments/load/decisions", {"unit": "u"})] * DECISIONS, CONNECTIONS)
    assert calls.statuses == {201: DECISIONS}, calls.statuses
    return calls, (server.cpu() - before) / DECISIONS


def speed() -> list[Row]:
    """Decisions and feedback a second, and the cost beside bare handlers; all servers by turns."""
    rates, answers, tails, ours, routed, plain = [], [], [], [], [], []
    path = "/v1/experiments/load/decisions"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ports = [free_port() for _ in range(3)]
        bare = [sys.executable, str(HERE / "bare.py")]
        commands = (
            served(folder, ports[0]),
            [*bare, f"{folder}/routed.db", str(ports[1])],
            [*bare, f"{folder}/plain.db", str(ports[2]), "--plain"],
        )
        servers = [stack.enter_context(running(*each)) for each in zip(commands, ports, strict=True)]
        server = servers[0]
        create(server.url)
        for each in servers:
            post_all(each.url, [(path, {})] * 1000, CONNECTIONS)  # warm
        for _ in range(ROUNDS):
            calls, cost = decide(server)
            rates.append(calls.rate)
            tails.append(calls.quantile(0.99))
            ours.append(cost)
            routed.append(decide(servers[1])[1])
            plain.append(decide(servers[2])[1])
            ids = [json.loads(body)["id"] for body in calls.bodies]
            told = post_all(server.url, [(f"/v1/decisions/{id}/feedback", {"reward": 1}) for id in ids], CONNECTIONS)
            assert told.statuses == {201: DECISIONS}, told.statuses
            answers.append(told.rate)
    rate, answer = statistics.median(rates), statistics.median(answers)
    ratio, beside = compared(ours, routed)
    return [
        Row("durable decisions per second", f"{rate:,.0f}", "at least 2,000", rate >= 2000),
        Row("99th percentile of the response time", f"{1e3 * statistics.median(tails):.0f} ms", "", True),
        Row("durable feedbacks per second", f"{answer:,.0f}", "at least 2,000", answer >= 2000),
        Row(
            "CPU time per decision, relative to a bare handler with the same commit",
            beside,
            "at most 1.6",
            ratio <= 1.6,
        ),
        Row("the same, relative to a plain ASGI function with the same commit", compared(ours, plain)[1], "", True),
    ]


def compared(ours: list[float], theirs: list[float]) -> tuple[float, str]:
    """How many times as much ours are, and the same in words."""
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    mine, other = (1e6 * statistics.median(each) for each in (ours, theirs))
    return ratio, f"{ratio:.2f} times ({mine:.0f} and {other:.0f} µs)"


def memory_and_restart() -> list[Row]:
    """A million pending decisions: memory, and a restart after kill -9."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = served(folder, port)
        popen = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        wait_for(url, popen)
        server = Process(url, popen)
        create(url)
        batch = ("/v1/experiments/load/decisions", {"count": AT_A_TIME})
        sizes = []
        for _ in range(10):
            calls = post_all(url, [batch] * (MILLION // AT_A_TIME // 10), 4)
            assert set(calls.statuses) == {201}, calls.statuses
            sizes.append(server.memory())
        popen.kill()
        popen.wait()
        begin = time.perf_counter()
        popen = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_for(url, popen)
            made = post_all(url, [("/v1/experiments/load/decisions", {})], 1)
            seconds = time.perf_counter() - begin
            assert made.statuses == {201: 1}, made.statuses
        finally:
            popen.terminate()
            popen.wait()
    grown = sizes[-1] - sizes[0]
    return [
        Row(
            "memory after 100,000 and after 1,000,000 pending decisions",
            f"{sizes[0]:.0f} and {sizes[-1]:.0f} MB",
            "at most 10 % more",
            grown <= 0.1 * sizes[0],
        ),
        Row("restart with a million decisions, until the next one", f"{seconds:.1f} s", "under 5 s", seconds < 5.0),
    ]


def main() -> None:
    """Measure, print and write the page."""
    rows = [*speed(), *memory_and_restart()]
    table = ["| measured | value | limit | |", "| :-- | --: | --: | :-- |"]
    table += [
        f"| {r.what} | {r.value} | {r.limit} | {'' if not r.limit else 'pass' if r.passed else '**FAIL**'} |"
        for r in rows
    ]
    head = (
        f"Written by `make load`: SQLite, one server process, {CONNECTIONS} connections from another process on the "
        f"same machine, {DECISIONS:,} decisions and as many feedbacks, medians of {ROUNDS} runs, {os.cpu_count()} "
        f"cores, Python {platform.python_version()}."
    )
    text = "\n".join(["# Load test\n", head, "", *table, "", NOTE])
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    if not all(row.passed for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
