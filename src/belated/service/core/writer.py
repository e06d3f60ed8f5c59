"""The one writer of a process: operations from all requests, many to a commit, answered when they are on disk."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import structlog

from belated.errors import ApiError, DuplicateError, StorageError
from belated.service.core.errors import no_storage
from belated.service.core.transaction import ExperimentCache, Operation, Transaction
from belated.service.storage.journal import Journal

log = structlog.get_logger()

LINGER = 0.001
"""Seconds that a transaction waits for as many operations as the last one had: those who were answered come again."""
BATCH = 512
"""Operations of a transaction, at the most."""
WAITING = 20_000
"""Operations that may wait; beyond them callers are told to come again."""
TRIES = 5
"""How often an operation is tried that another process overtakes."""
SNAPSHOT_EVERY = 10_000
"""Events between two snapshots of an experiment."""

Result = tuple[Any, BaseException | None]
Answer = Callable[[Any, BaseException | None], None] | asyncio.Future[Any]
Waiting = tuple[Operation, Answer]


class Writer:
    """A thread that owns the connection that writes."""

    def __init__(self, open_journal: Callable[[], Journal], watch: Callable[[float, int], None] | None = None) -> None:
        self._open = open_journal
        self._watch = watch
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._experiments = ExperimentCache()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._ended = False
        self._last_batch = 0

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

    def reader(self) -> Journal:
        """Another connection to the journal, which only reads."""
        return self._journal.reader()

    def submit(self, operation: Operation, answer: Answer) -> None:
        """Have an operation done; ``answer`` is called by the writer's thread after the commit, or is the future of
        an event loop."""
        if self._queue.qsize() >= WAITING:
            raise ApiError(503, "busy", "too many operations wait for the disk; come again in a second.")
        self._queue.put((operation, answer))
        if self._ended:
            self._refuse_waiting()

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

        self.submit(operation, future)
        return await future

    # ---- the thread ----

    def _work(self) -> None:
        try:
            self._journal = self._open()
        except BaseException as error:
            self._failed = error
            self._ended = True
            self._ready.set()
            return
        self._ready.set()
        try:
            last = False
            while not last:
                batch, last = self._next_batch()
                if batch:
                    self._do_together(batch)
            self._keep_snapshots(1)
            self._journal.close()
        finally:
            self._ended = True
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """Whoever came after the end was asked for is told so, and does not wait for ever."""
        with suppress(Empty):
            while True:
                found = self._queue.get_nowait()
                if found is not None:
                    refused = ApiError(503, "stopped", "the writer has stopped; the server is going down.")
                    _answer_all([found], [(None, refused)])

    def _next_batch(self) -> tuple[list[Waiting], bool]:
        """What waits, and whether the end was asked for."""
        batch: list[Waiting] = []
        found = self._queue.get()
        until = time.perf_counter() + LINGER
        while found is not None:
            batch.append(found)
            if len(batch) == BATCH:
                break
            try:
                if len(batch) < self._last_batch:
                    found = self._queue.get(timeout=max(until - time.perf_counter(), 0.0))
                else:
                    found = self._queue.get_nowait()
            except Empty:
                break
        self._last_batch = len(batch)
        return batch, found is None

    def _do_together(self, batch: list[Waiting], tries: int = TRIES) -> None:
        """All in one transaction; if something unforeseen happens, each in its own."""
        try:
            results = self._transaction([operation for operation, _ in batch])
        except BaseException as error:
            overtaken = isinstance(error, DuplicateError)  # by another process; what it wrote is seen the next time
            if len(batch) > 1 and (overtaken or not isinstance(error, StorageError)):
                for waiting in batch:
                    self._do_together([waiting])
            elif overtaken and tries > 1:
                self._do_together(batch, tries - 1)
            else:
                _answer_all(batch, [(None, _told(error))] * len(batch))
            return
        _answer_all(batch, results)
        self._keep_snapshots(SNAPSHOT_EVERY)

    def _transaction(self, operations: list[Operation]) -> list[Result]:
        database = self._journal.database
        session: Transaction | None = None
        begin = time.perf_counter()
        try:
            database.begin()
            session = Transaction(self._journal, self._experiments, operations)
            results = [_done(operation, session) for operation in operations]
            self._journal.append(session.events)
            database.commit()
        except BaseException:
            self._experiments.forget(session.touched if session else set())
            with suppress(StorageError):  # the connection may be gone; the next transaction makes a new one
                database.rollback()
            raise
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


def _done(operation: Operation, session: Transaction) -> Result:
    before = len(session.events)
    try:
        return operation.act(session), None
    except ApiError as refused:
        if len(session.events) > before:
            raise AssertionError("an operation was refused after it had changed something") from refused
        return None, refused


def _told(error: BaseException) -> BaseException:
    """What the caller gets to know of something unforeseen."""
    if isinstance(error, StorageError):
        log.error("storage", detail=str(error))
        return no_storage()
    return error


def _answer_all(batch: list[Waiting], results: Sequence[Result]) -> None:
    """Tell all callers; those in one event loop with a single call."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Result]]] = {}
    for (_, answer), result in zip(batch, results, strict=True):
        if isinstance(answer, asyncio.Future):
            loops.setdefault(answer.get_loop(), []).append((answer, result))
        else:
            answer(*result)
    for loop, answers in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: list[tuple[asyncio.Future[Any], Result]]) -> None:
    for future, (result, error) in answers:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
