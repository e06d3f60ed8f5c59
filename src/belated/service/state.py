"""What the handlers of a server share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from belated.journal.journal import Journal
from belated.service.clock import now
from belated.service.keys import Keyring
from belated.service.metrics import Metrics
from belated.service.session import Operation
from belated.service.writer import Writer


class Service:
    """A server's parts: the writer, connections that only read, keys, metrics."""

    def __init__(self, open_journal: Callable[[], Journal], *, keys_needed: bool = False) -> None:
        self.metrics = Metrics()
        self.writer = Writer(open_journal, self.metrics.committed)
        self._open = open_journal
        self._readers = threading.local()
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
        self.writer.stop()
        for journal in self._opened:
            journal.close()

    async def do(self, operation: Operation) -> Any:
        """Have an operation done; its result when it is on disk."""
        return await self.writer.do(operation)

    def oldest(self, experiments: list[tuple[int, str]]) -> dict[str, float]:
        """The age in seconds of each experiment's oldest decision without an answer; 0 if there is none."""
        ages = {}
        for number, name in experiments:
            last = self.reader().last(number)
            found = self.reader().pending(number, self._passed.get(number, 0), 1)
            ages[name] = max(now() - found[0].at, 0) / 1e6 if found else 0.0
            self._passed[number] = found[0].seq - 1 if found else last  # all before it have an answer, for good
        return ages

    def reader(self) -> Journal:
        """This thread's journal that only reads."""
        found: Journal | None = getattr(self._readers, "journal", None)
        if found is None:
            found = self._readers.journal = self._new_reader()
        return found

    def _new_reader(self) -> Journal:
        made = self._open()
        try:
            found = made.reader()
        finally:
            made.close()
        self._opened.append(found)
        return found
