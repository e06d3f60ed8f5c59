"""A bare handler with the same commit: takes a JSON body, writes one row as the journal does, many to a commit, and
answers when they are on disk. What a decision costs beyond this is the service's own.

    python benchmarks/service/bare.py PATH PORT          # a route of Starlette's
    python benchmarks/service/bare.py PATH PORT --plain  # a plain ASGI function, without Starlette
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

import apsw
import msgspec
import uuid_utils
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TABLE = (
    "CREATE TABLE events (experiment INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, "
    "id TEXT, number INTEGER, arm INTEGER, rank INTEGER, reward REAL, deadline INTEGER, extra TEXT, "
    "PRIMARY KEY (experiment, seq))"
)
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
LINGER = 0.001  # as the service does
_encode = msgspec.json.Encoder().encode


class Asked(msgspec.Struct):
    """A request's body."""

    unit: str | None = None


class Commits:
    """One thread that writes rows, many to a commit."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: SimpleQueue[Any] = SimpleQueue()
        self._loops: list[asyncio.AbstractEventLoop] = []
        threading.Thread(target=self._write, daemon=True).start()

    async def decide(self, body: bytes) -> bytes:
        """A body in, an answer out when its row is on disk."""
        if not self._loops:
            self._loops.append(asyncio.get_running_loop())
        msgspec.json.decode(body, type=Asked)
        id = str(uuid_utils.uuid7())
        future = self._loops[0].create_future()
        self._waiting.put((id, future))
        await future
        return _encode({"id": id, "experiment": "load", "arm": "a", "decided_at": "2026-01-01T00:00:00.000000Z"})

    def _write(self) -> None:
        connection = apsw.Connection(self._path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(TABLE)
        connection.execute("CREATE UNIQUE INDEX of_id ON events (id, kind) WHERE id IS NOT NULL")
        seq = last = 0
        while True:
            batch = [self._waiting.get()]
            until = time.perf_counter() + LINGER
            try:
                while len(batch) < 512:
                    wait = max(until - time.perf_counter(), 0.0) if len(batch) < last else 0.0
                    batch.append(self._waiting.get(timeout=wait) if wait else self._waiting.get_nowait())
            except Empty:
                pass
            last = len(batch)
            connection.execute("BEGIN IMMEDIATE")
            rows = []
            for id, _ in batch:
                seq += 1
                rows.append((1, seq, "decided", seq, id, seq, 0, seq, None, None, None))
            connection.executemany(INSERT, rows)
            connection.execute("COMMIT")
            self._loops[0].call_soon_threadsafe(_settle, batch)


def _settle(batch: list[Any]) -> None:
    for _, future in batch:
        future.set_result(None)


def routed(commits: Commits) -> Any:
    """The handler as a route of Starlette's, which is how the service has its own."""

    async def decide(request: Request) -> Response:
        return Response(await commits.decide(await request.body()), 201, media_type="application/json")

    async def ready(_: Request) -> Response:
        return Response("{}")

    return Starlette(
        routes=[
            Route("/v1/experiments/{name}/decisions", decide, methods=["POST"]),
            Route("/readyz", ready, methods=["GET"]),
        ]
    )


def plain(commits: Commits) -> Any:
    """The handler as an ASGI function, with no router and no classes for requests and responses."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        body, status = b"{}", 200
        if scope["method"] == "POST":
            parts = []
            more = True
            while more:
                message = await receive()
                parts.append(message["body"])
                more = message.get("more_body", False)
            body, status = await commits.decide(b"".join(parts)), 201
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer


def main(path: str, port: int, *, without_starlette: bool) -> None:
    """Serve until a signal says to end."""
    app = (plain if without_starlette else routed)(Commits(path))
    uvicorn.run(app, port=port, log_config=None, access_log=False, proxy_headers=False, lifespan="off")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), without_starlette="--plain" in sys.argv[3:])
