"""Calls a server over many connections at once, as cheaply as may be: plain sockets, one request after the other."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit


class Calls(NamedTuple):
    """What came of a number of requests."""

    seconds: float
    statuses: dict[int, int]
    bodies: list[bytes]
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds

    def quantile(self, q: float) -> float:
        """Of the latencies, in seconds."""
        return sorted(self.latencies)[int(q * (len(self.latencies) - 1))]


def post_all(url: str, requests: Sequence[tuple[str, object]], connections: int = 32) -> Calls:
    """Post (path, body) pairs, spread over connections."""
    return asyncio.run(_post_all(url, requests, connections))


async def _post_all(url: str, requests: Sequence[tuple[str, object]], connections: int) -> Calls:
    host, port = urlsplit(url).hostname or "127.0.0.1", urlsplit(url).port or 80
    prepared = [_request(host, port, path, body) for path, body in requests]
    bodies: list[bytes] = [b""] * len(prepared)
    latencies = [0.0] * len(prepared)
    statuses: dict[int, int] = {}
    numbers = iter(range(len(prepared)))

    async def work() -> None:
        reader, writer = await asyncio.open_connection(host, port)
        for number in numbers:
            begin = time.perf_counter()
            writer.write(prepared[number])
            head = await reader.readuntil(b"\r\n\r\n")
            at = head.lower().index(b"content-length:") + 15
            size = int(head[at : head.index(b"\r\n", at)])
            bodies[number] = await reader.readexactly(size)
            latencies[number] = time.perf_counter() - begin
            status = int(head[9:12])
            statuses[status] = statuses.get(status, 0) + 1
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return Calls(time.perf_counter() - begin, statuses, bodies, latencies)


def _request(host: str, port: int, path: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content
