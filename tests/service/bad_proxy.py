"""A proxy that does what networks do on their worst days: it cuts, delays, repeats, and answers with nonsense.

It runs in a thread with an event loop of its own. Every request meets one of the :data:`FAULTS`, or none, drawn by a
seeded generator; how often each happened is counted."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

FAULTS = {
    "cut before": 0.05,
    "cut after": 0.05,
    "cut at once": 0.04,
    "cut within": 0.06,
    "delay before": 0.03,
    "delay after": 0.03,
    "twice": 0.05,
    "twice at once": 0.04,
    "again later": 0.04,
    "bad gateway": 0.03,
    "gateway timeout": 0.02,
}
"""How often each happens.

cut before: the request is not passed on. cut after: it is, its answer is not. cut at once: it is passed on, and nobody
waits for the answer. cut within: the answer ends too early. delay before, delay after: longer than the client waits.
twice: it is passed on twice, and the second answer counts. twice at once: likewise, over two connections. again later:
it is answered, and then passed on once more. bad gateway, gateway timeout: it is passed on, and answered with 502, 504.
"""


@dataclass
class BadProxy:
    """A proxy in front of servers of one database, each request to any of them. ``rate`` multiplies all faults; what
    is delayed is held for up to ``longest`` seconds."""

    servers: Sequence[str]
    seed: int = 0
    rate: float = 1.0
    longest: float = 1.0
    url: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        parts = [urlsplit(server) for server in self.servers]
        self._addresses = [(part.hostname, part.port) for part in parts]
        self._chance = random.Random(self.seed)
        self._later: set[asyncio.Task[None]] = set()
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._busy = 0

    # ---- the server's side ----

    async def _passed_on(self, request: bytes) -> bytes:
        """The server's answer, over a connection of its own."""
        reader, writer = await asyncio.open_connection(*self._chance.choice(self._addresses))
        try:
            writer.write(request)
            await writer.drain()
            found = await _message(reader)
            assert found is not None, "the server closed the connection"
            return found
        finally:
            writer.close()

    async def _dropped(self, request: bytes) -> None:
        """Passed on; nobody waits for the answer."""
        _, writer = await asyncio.open_connection(*self._chance.choice(self._addresses))
        writer.write(request)
        await writer.drain()
        writer.close()

    def _passed_on_later(self, request: bytes, seconds: float) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            with contextlib.suppress(OSError, AssertionError):
                await self._passed_on(request)

        task = asyncio.create_task(later())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    # ---- the client's side ----

    def _drawn(self) -> str:
        chosen = self._chance.random() / self.rate if self.rate else 1.0
        for name, rate in FAULTS.items():
            chosen -= rate
            if chosen < 0.0:
                return name
        return "none"

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client is here."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving[task] = writer
        task.add_done_callback(self._serving.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _message(reader)) is not None:
                fault = self._drawn()
                self.counts[fault] += 1
                self._busy += 1
                try:
                    reply, whole = await self._answer(request, fault)
                finally:
                    self._busy -= 1
                writer.write(reply)
                await writer.drain()
                if not whole:
                    break
        except (OSError, asyncio.IncompleteReadError):
            self.counts["client gone"] += 1
        finally:
            if self._chance.random() < 0.5:
                _reset(writer)
            writer.close()

    async def _answer(self, request: bytes, fault: str) -> tuple[bytes, bool]:
        """What the client gets, and whether the connection goes on."""
        held = self._chance.uniform(0.0, self.longest)
        if fault == "cut before":
            return b"", False
        if fault == "cut at once":
            await self._dropped(request)
            return b"", False
        if fault == "delay before":
            await asyncio.sleep(held)
        reply = await self._passed_on(request)
        if fault == "cut after":
            return b"", False
        if fault == "cut within":
            return reply[: self._chance.randrange(1, len(reply))], False
        if fault == "delay after":
            await asyncio.sleep(held)
        elif fault == "twice":
            reply = await self._passed_on(request)
        elif fault == "twice at once":
            reply = (await asyncio.gather(self._passed_on(request), self._passed_on(request)))[0]
        elif fault == "again later":
            self._passed_on_later(request, held)
        elif fault == "bad gateway":
            reply = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nsad\n"
        elif fault == "gateway timeout":
            reply = b"HTTP/1.1 504 Gateway Timeout\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
        return reply, True

    async def settled(self) -> None:
        """Wait until nothing is held back any more, and close all connections."""
        while self._later or self._busy:
            await asyncio.sleep(0.01)
        for writer in self._serving.values():
            writer.transport.abort()
        while self._serving:
            await asyncio.sleep(0.01)


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """One request or answer, head and body; None where the other side has closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        assert name.lower() != b"transfer-encoding", "this proxy knows lengths alone"
        if name.lower() == b"content-length":
            return head + await reader.readexactly(int(value))
    return head


def _reset(writer: asyncio.StreamWriter) -> None:
    """Have the connection end with a reset."""
    own: socket.socket | None = writer.get_extra_info("socket")
    if own is not None:
        with contextlib.suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


@contextmanager
def bad_proxy(*servers: str, seed: int = 0, rate: float = 1.0, longest: float = 1.0) -> Iterator[BadProxy]:
    """A proxy within this context. At its end, what was held back has been passed on."""
    proxy = BadProxy(servers, seed, rate, longest)
    ready, end = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def work() -> None:
        loops.append(asyncio.get_running_loop())
        listening = await asyncio.start_server(proxy.connected, "127.0.0.1", 0, backlog=1024)
        host, port = listening.sockets[0].getsockname()[:2]
        proxy.url = f"http://{host}:{port}"
        ready.set()
        await end.wait()
        listening.close()
        await proxy.settled()

    thread = threading.Thread(target=lambda: asyncio.run(work()), name="bad proxy")
    thread.start()
    assert ready.wait(600.0), "the proxy did not start"
    try:
        yield proxy
    finally:
        loops[0].call_soon_threadsafe(end.set)
        thread.join()
