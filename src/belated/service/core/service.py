"""What the handlers of a server share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

from belated.service.api_keys import Keyring
from belated.service.core.timestamps import now
from belated.service.core.transaction import Operation
from belated.service.core.writer import Writer
from belated.service.metrics import Metrics
from belated.service.storage.journal import Journal

T = TypeVar("T")


class Service:
    """A server's parts: the writer, connections that only read, keys, metrics."""

    def __init__(self, open_journal: Callable[[], Journal], *, keys_needed: bool = False) -> None:
        self.metrics = Metrics()
        self.writer = Writer(open_journal, self.metrics.committed)
        self._idle: SimpleQueue[Journal] = SimpleQueue()
        self._keys_needed = keys_needed
        self._opened: list[Journal] = []
        self._passed: dict[int, int] = {}
        self.failed: BaseException | None = None
        """Why it could not start."""

    def start(self) -> None:
        """Open the journal and begin to work."""
        try:
            self.writer.start()
            self.keyring = Keyring(self._new_reader(), needed=self._keys_needed)
        except BaseException as error:
            self.failed = error
            raise

    def stop(self) -> None:
        """Finish what waits, and end."""
        for journal in self._opened:  # before the writer, whose end is the last: SQLite then tidies up
            journal.close()
        self.writer.stop()

    async def do(self, operation: Operation) -> Any:
        """Have an operation done; its result when it is on disk."""
        return await self.writer.do(operation)

    def oldest(self, journal: Journal, experiments: list[tuple[int, str]]) -> dict[str, float]:
        """The age in seconds of each experiment's oldest decision without an answer; 0 if there is none."""
        ages = {}
        for number, name in experiments:
            last = journal.last(number)
            found = journal.pending(number, self._passed.get(number, 0), 1)
            ages[name] = max(now() - found[0].at, 0) / 1e6 if found else 0.0
            self._passed[number] = found[0].seq - 1 if found else last  # all before it have an answer, for good
        return ages

    async def read(self, work: Callable[[Journal], T]) -> T:
        """Read from the journal in another thread."""

        def read() -> T:
            with self.reading() as journal:
                return work(journal)

        return await run_in_threadpool(read)

    @contextmanager
    def reading(self) -> Iterator[Journal]:
        """A journal that only reads, for one thread at a time. There are as many as were ever needed at once."""
        try:
            journal = self._idle.get_nowait()
        except Empty:
            journal = self._new_reader()
        try:
            yield journal
        finally:
            self._idle.put(journal)

    def _new_reader(self) -> Journal:
        found = self.writer.reader()
        self._opened.append(found)
        return found
