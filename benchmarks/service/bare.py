"""A bare handler with the same commit: takes a JSON body, writes one row as the journal does, many to a commit, and
answers when they are on disk. What a decision costs beyond this is the service's own."""

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


def main(path: str, port: int) -> None:
    """Serve until a signal says to end."""
    waiting: SimpleQueue[Any] = SimpleQueue()
    loops: list[asyncio.AbstractEventLoop] = []

    def write() -> None:
        connection = apsw.Connection(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(TABLE)
        connection.execute("CREATE UNIQUE INDEX of_id ON events (id, kind) WHERE id IS NOT NULL")
        seq = last = 0
        while True:
            batch = [waiting.get()]
            until = time.perf_counter() + LINGER
            try:
                while len(batch) < 512:
                    wait = max(until - time.perf_counter(), 0.0) if len(batch) < last else 0.0
                    batch.append(waiting.get(timeout=wait) if wait else waiting.get_nowait())
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
            loops[0].call_soon_threadsafe(settle, batch)

    def settle(batch: list[Any]) -> None:
        for _, future in batch:
            future.set_result(None)

    async def decide(request: Request) -> Response:
        if not loops:
            loops.append(asyncio.get_running_loop())
        msgspec.json.decode(await request.body(), type=Asked)
        id = str(uuid_utils.uuid7())
        future = loops[0].create_future()
        waiting.put((id, future))
        await future
        answer = {"id": id, "experiment": "load", "arm": "a", "decided_at": "2026-01-01T00:00:00.000000Z"}
        return Response(_encode(answer), 201, media_type="application/json")

    async def livez(_: Request) -> Response:
        return Response("{}")

    threading.Thread(target=write, daemon=True).start()
    routes = [
        Route("/v1/experiments/{name}/decisions", decide, methods=["POST"]),
        Route("/readyz", livez, methods=["GET"]),
    ]
    uvicorn.run(Starlette(routes=routes), port=port, log_config=None, access_log=False, proxy_headers=False)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
