"""The single writer of a process: operations of all requests in group commits, acknowledged once they are on disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import structlog

from belated.errors import ApiError, DuplicateError, NewerSchema, StorageError
from belated.service.core.transaction import ExperimentCache, Operation, Transaction
from belated.service.problem_types import ProblemType, public_error
from belated.service.storage.journal import Journal
from belated.service.storage.schema import known_version

LINGER = 0.001
"""Seconds that a transaction waits for as many operations as the last one had: callers tend to come back."""
MAX_BATCH = 512
"""Maximum operations in a transaction."""
MAX_QUEUE = 20_000
"""Maximum queue length; beyond it callers are told to retry."""
MAX_TRIES = 5
"""Attempts at an operation that conflicts with another process."""
SNAPSHOT_EVERY = 10_000
"""Events between two snapshots of an experiment."""

log = structlog.get_logger()

Result = tuple[Any, BaseException | None]
Reply = Callable[[Any, BaseException | None], None] | asyncio.Future[Any]
QueueItem = tuple[Operation, Reply]


class Writer:
    """A thread that owns the writing connection."""

    def __init__(
        self, open_journal: Callable[[], Journal], on_commit: Callable[[float, int], None] | None = None
    ) -> None:
        self._open = open_journal
        self._on_commit = on_commit
        self._queue: SimpleQueue[QueueItem | None] = SimpleQueue()
        self._experiments = ExperimentCache()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._ready: Future[None] = Future()
        self._ended = False
        self._last_batch = 0
        self._outdated = False
        """Whether the database has a newer schema."""

    def start(self) -> None:
        """Open the journal and start the thread; raises if the journal cannot be opened."""
        self._thread.start()
        self._ready.result()

    def stop(self) -> None:
        """Finish queued operations, save snapshots, and stop."""
        self._queue.put(None)
        self._thread.join()

    def enqueue(self, operation: Operation, reply: Reply) -> None:
        """Queue an operation; ``reply`` is called by the writer's thread after the commit, or is the future of an event
        loop."""
        if self._queue.qsize() >= MAX_QUEUE:
            raise ProblemType.BUSY.error("too many operations are waiting for the disk; retry in a second.")
        self._queue.put((operation, reply))
        if self._ended:
            self._refuse_queued()

    def run(self, operation: Operation) -> Any:
        """Run an operation and wait for it, from any thread."""
        future: Future[Any] = Future()
        self.enqueue(operation, lambda *result: _settle([(future, result)]))
        return future.result()

    async def submit(self, operation: Operation) -> Any:
        """Run an operation and wait for it, in an event loop."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.enqueue(operation, future)
        return await future

    def _work(self) -> None:
        try:
            self.journal = self._open()
        except BaseException as error:
            self._ended = True
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        try:
            last = False
            while not last:
                batch, last = self._next_batch()
                if batch:
                    self._commit(batch)
            self._save_snapshots(1)
            self.journal.close()
        finally:
            self._ended = True
            self._refuse_queued()

    def _refuse_queued(self) -> None:
        """Refuse operations that were queued after the stop, so that their callers do not wait forever."""
        with suppress(Empty):
            while True:
                item = self._queue.get_nowait()
                if item is not None:
                    error = ProblemType.STOPPED.error("the writer has stopped; the server is shutting down.")
                    _reply_all([item], [(None, error)])

    def _next_batch(self) -> tuple[list[QueueItem], bool]:
        """The queued operations, and whether to stop after them."""
        batch: list[QueueItem] = []
        item = self._queue.get()
        until = time.perf_counter() + LINGER
        while item is not None:
            batch.append(item)
            if len(batch) == MAX_BATCH:
                break
            try:
                if len(batch) < self._last_batch:
                    item = self._queue.get(timeout=max(until - time.perf_counter(), 0.0))
                else:
                    item = self._queue.get_nowait()
            except Empty:
                break
        self._last_batch = len(batch)
        return batch, item is None

    def _commit(self, batch: list[QueueItem], tries: int = MAX_TRIES) -> None:
        """Run a batch in one transaction; on an unexpected error, each operation in its own."""
        try:
            results = self._transaction([operation for operation, _ in batch])
        except BaseException as error:
            conflict = isinstance(error, DuplicateError)  # with another process, whose events the next attempt sees
            some = conflict or not isinstance(error, StorageError) or isinstance(error, NewerSchema)
            if len(batch) > 1 and some:  # others of the batch can be done
                for item in batch:
                    self._commit([item])
            elif conflict and tries > 1:
                self._commit(batch, tries - 1)
            else:
                public = public_error(error) if isinstance(error, StorageError) else error
                _reply_all(batch, [(None, public)] * len(batch))
            return
        _reply_all(batch, results)
        self._save_snapshots(SNAPSHOT_EVERY)

    def _transaction(self, operations: list[Operation]) -> list[Result]:
        tx: Transaction | None = None
        begin = time.perf_counter()
        try:
            with self.journal.database.transaction():
                tx = Transaction(self.journal, self._experiments, operations)
                results = [_run(operation, tx) for operation in operations]
                self.journal.append(tx.events)
                if tx.events or tx.writes:
                    self._check_schema()
        except BaseException as error:
            for name in tx.touched if tx else ():  # read them from the journal again
                self._experiments.by_name.pop(name, None)
            if isinstance(error, StorageError) and not isinstance(error, NewerSchema | DuplicateError):
                self._blame_schema()
            raise
        if self._on_commit is not None and tx.events:
            self._on_commit(time.perf_counter() - begin, len(tx.events))
        return results

    def _check_schema(self) -> None:
        """Raise if a newer version has migrated the database. After the writes of a transaction: they wait for a
        migration that has begun, and one that begins later waits for them."""
        try:
            known_version(self.journal.database)
        except NewerSchema as error:
            if not self._outdated:
                log.error("newer schema", detail=f"{error} Until then this server answers reads, and refuses writes.")
            self._outdated = True
            raise
        self._outdated = False

    def _blame_schema(self) -> None:
        """Raise NewerSchema if that may be why the database refused a statement."""
        try:
            self._check_schema()
        except NewerSchema:
            raise
        except StorageError:  # it is unavailable altogether
            pass

    def _save_snapshots(self, every: int) -> None:
        """Save experiments with at least ``every`` events since their last snapshot."""
        due = [each for each in self._experiments.by_name.values() if each.seq - each.saved >= every]
        if not due:
            return
        try:
            with self.journal.database.transaction():
                for experiment in due:
                    self.journal.save_snapshot(experiment.id, experiment.seq, experiment.save())
                self._check_schema()
        except Exception as error:  # snapshots only save time
            if not isinstance(error, StorageError):
                log.exception("snapshot")
            return
        for experiment in due:
            experiment.saved = experiment.seq


def _run(operation: Operation, tx: Transaction) -> Result:
    before = len(tx.events)
    try:
        return operation.act(tx), None
    except ApiError as error:
        if len(tx.events) > before:
            raise AssertionError("an operation was refused after it had changed something") from error
        return None, error


def _reply_all(batch: list[QueueItem], results: Sequence[Result]) -> None:
    """Reply to all callers; with a single call per event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Result]]] = {}
    for (_, reply), result in zip(batch, results, strict=True):
        if isinstance(reply, asyncio.Future):
            loops.setdefault(reply.get_loop(), []).append((reply, result))
        else:
            reply(*result)
    for loop, replies in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(_settle, replies)


def _settle(replies: Sequence[tuple[asyncio.Future[Any] | Future[Any], Result]]) -> None:
    for future, (result, error) in replies:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
