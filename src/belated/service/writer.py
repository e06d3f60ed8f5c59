"""The one writer of a process: operations from all requests, many to a commit, answered when they are on disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from belated.errors import AlreadyThere, Refused, StorageError
from belated.journal.journal import Journal
from belated.service.session import Experiments, Operation, Session

BATCH = 512
"""Operations of a transaction, at the most."""
WAITING = 20_000
"""Operations that may wait; beyond them callers are told to come again."""
SNAPSHOT_EVERY = 10_000
"""Events between two snapshots of an experiment."""

Answer = Callable[[Any, BaseException | None], None]
Waiting = tuple[Operation, Answer]


class Writer:
    """A thread that owns the connection that writes."""

    def __init__(self, open_journal: Callable[[], Journal], watch: Callable[[float, int], None] | None = None) -> None:
        self._open = open_journal
        self._watch = watch
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._experiments = Experiments()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self.last_commit = 0.0

    def start(self) -> None:
        """Open the journal and begin to work; an error if it cannot be opened."""
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """Finish what waits, keep snapshots, and end."""
        self._queue.put(None)
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the thread is at work."""
        return self._thread.is_alive()

    def submit(self, operation: Operation, answer: Answer) -> None:
        """Have an operation done; ``answer`` is called by the writer's thread, after the commit."""
        if self._queue.qsize() >= WAITING:
            raise Refused(503, "busy", "too many operations wait for the disk; come again in a second.")
        if not self.alive:
            raise Refused(503, "stopped", "the writer has stopped; the server is going down.")
        self._queue.put((operation, answer))

    def run(self, operation: Operation) -> Any:
        """Have an operation done and wait for it, from any thread."""
        done = threading.Event()
        found: list[Any] = []

        def answer(result: Any, error: BaseException | None) -> None:
            found.extend((result, error))
            done.set()

        self.submit(operation, answer)
        done.wait()
        if found[1] is not None:
            raise found[1]
        return found[0]

    async def do(self, operation: Operation) -> Any:
        """Have an operation done and wait for it, in an event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.submit(operation, lambda result, error: _soon(loop, settle, result, error))
        return await future

    # ---- the thread ----

    def _work(self) -> None:
        try:
            self._journal = self._open()
        except BaseException as error:
            self._failed = error
            self._ready.set()
            return
        self._ready.set()
        last = False
        while not last:
            batch, last = self._next_batch()
            if batch:
                self._do_together(batch)
        self._keep_snapshots(1)
        self._journal.close()

    def _next_batch(self) -> tuple[list[Waiting], bool]:
        """What waits, and whether the end was asked for."""
        batch: list[Waiting] = []
        found = self._queue.get()
        while found is not None:
            batch.append(found)
            if len(batch) == BATCH:
                return batch, False
            try:
                found = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _do_together(self, batch: list[Waiting]) -> None:
        """All in one transaction; if something unforeseen happens, each in its own."""
        try:
            results = self._transaction([operation for operation, _ in batch])
        except BaseException as error:
            storage = isinstance(error, StorageError) and not isinstance(error, AlreadyThere)
            if storage or len(batch) == 1:
                for _, answer in batch:
                    answer(None, _told(error))
            else:
                for waiting in batch:
                    self._do_together([waiting])
            return
        for (_, answer), (result, refused) in zip(batch, results, strict=True):
            answer(result, refused)
        self._keep_snapshots(SNAPSHOT_EVERY)

    def _transaction(self, operations: list[Operation]) -> list[tuple[Any, BaseException | None]]:
        database = self._journal.database
        session: Session | None = None
        begin = time.perf_counter()
        try:
            database.begin()
            session = Session(self._journal, self._experiments, operations)
            results = [_done(operation, session) for operation in operations]
            self._journal.append(session.events)
            database.commit()
        except BaseException:
            self._experiments.forget(session.touched if session else set())
            with suppress(StorageError):  # the connection may be gone; the next transaction makes a new one
                database.rollback()
            raise
        self.last_commit = time.time()
        if self._watch is not None and session.events:
            self._watch(time.perf_counter() - begin, len(session.events))
        return results

    def _keep_snapshots(self, every: int) -> None:
        """Shorten the replay of experiments in which so much has happened since the last snapshot."""
        due = [each for each in self._experiments.by_name.values() if each.seq - each.saved >= every]
        if not due:
            return
        try:
            with self._journal.database.transaction():
                for experiment in due:
                    self._journal.keep_snapshot(experiment.id, experiment.seq, experiment.save())
        except StorageError:  # they only save time
            return
        for experiment in due:
            experiment.saved = experiment.seq


def _done(operation: Operation, session: Session) -> tuple[Any, BaseException | None]:
    try:
        return operation.act(session), None
    except Refused as refused:
        return None, refused


def _told(error: BaseException) -> BaseException:
    """What the caller gets to know of something unforeseen."""
    if isinstance(error, StorageError):
        return Refused(503, "storage", f"{error}. Send the same request again: with an id it counts once.")
    return error


def _soon(loop: asyncio.AbstractEventLoop, settle: Answer, result: Any, error: BaseException | None) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(settle, result, error)
