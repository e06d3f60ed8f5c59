"""The parts of a running server: writer, readers, keys, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.concurrency import run_in_threadpool

from belated.service import timestamps
from belated.service.auth import Keyring
from belated.service.core.writer import Writer
from belated.service.storage.journal import Journal

T = TypeVar("T")
DAY = 86_400.0
DELAYS = (1.0, 10.0, 60.0, 600.0, 3_600.0, 6 * 3_600.0, DAY, 3 * DAY, 7 * DAY, 30 * DAY, 90 * DAY)
COMMITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Metrics of this process since it started."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=self.registry), partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.decisions = counter("belated_decisions", "Decisions made.", ["experiment"])
        self.feedback = counter(
            "belated_feedback",
            "Feedback by result: observed, late (after a reward was imputed), duplicate, conflict.",
            ["experiment", "result"],
        )
        self.unknown = counter("belated_feedback_unknown", "Feedback for unknown decisions.")
        self.imputed = counter("belated_imputed", "Rewards imputed after silence.", ["experiment"])
        self.pending = gauge("belated_pending", "Decisions without feedback.", ["experiment"])
        self.damaged = gauge("belated_experiments_damaged", "Experiments that cannot be read.")
        age = "Age of the oldest decision without feedback."
        self.oldest = gauge("belated_oldest_pending_seconds", age, ["experiment"])
        delay = "Time from a decision to its feedback."
        self.delay = histogram("belated_feedback_delay_seconds", delay, ["experiment"], buckets=DELAYS)
        commit = "Time from the start of a transaction to its commit."
        self.commits = histogram("belated_commit_seconds", commit, buckets=COMMITS)
        self.events = counter("belated_events", "Events written.")

    def committed(self, seconds: float, events: int) -> None:
        """Record a commit."""
        self.commits.observe(seconds)
        self.events.inc(events)

    def text(self) -> bytes:
        """The metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class Service:
    """A server's writer, read-only connections, keys and metrics."""

    def __init__(self, open_journal: Callable[[], Journal], *, keys_needed: bool = False) -> None:
        self.metrics = Metrics()
        self.writer = Writer(open_journal, self.metrics.committed)
        self.submit = self.writer.submit
        self._idle: SimpleQueue[Journal] = SimpleQueue()
        self._keys_needed = keys_needed
        self._readers: list[Journal] = []
        self._all_observed_until: dict[int, int] = {}
        self.failed: BaseException | None = None
        """Why it could not start."""

    def start(self) -> None:
        """Open the journal and start the writer."""
        try:
            self.writer.start()
            self.keyring = Keyring(self._new_reader(), needed=self._keys_needed)
        except BaseException as error:
            self.failed = error
            raise

    def stop(self) -> None:
        """Finish queued operations and stop."""
        for journal in self._readers:  # before the writer: SQLite checkpoints when the last connection closes
            journal.close()
        self.writer.stop()

    def oldest_pending(self, journal: Journal, experiments: list[tuple[int, str]]) -> dict[str, float]:
        """The age in seconds of the oldest pending decision of each experiment (number, name); 0 if there is none."""
        ages = {}
        for number, name in experiments:
            last = journal.last(number)
            pending = journal.pending(number, self._all_observed_until.get(number, 0), 1)
            ages[name] = max(timestamps.now() - pending[0].at, 0) / 1e6 if pending else 0.0
            self._all_observed_until[number] = pending[0].seq - 1 if pending else last
        return ages

    async def read(self, work: Callable[[Journal], T]) -> T:
        """Read from the journal in another thread."""

        def read() -> T:
            with self.reader() as journal:
                return work(journal)

        return await run_in_threadpool(read)

    @contextmanager
    def reader(self) -> Iterator[Journal]:
        """A read-only journal from a pool, for one thread at a time."""
        try:
            journal = self._idle.get_nowait()
        except Empty:
            journal = self._new_reader()
        try:
            yield journal
        finally:
            self._idle.put(journal)

    def _new_reader(self) -> Journal:
        journal = self.writer.journal.reader()
        self._readers.append(journal)
        return journal
