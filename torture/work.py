"""Work for a writer, at random: decisions, feedback, cancellations, silence, in transactions of several."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import structlog
from ledger import Asked, Ledger

from belated.errors import ApiError, StorageError
from belated.service.core import operations
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import Operation
from belated.service.core.writer import Writer
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal
from belated.service.storage.schema import migrate
from belated.service.storage.sqlite import SQLite

EXPERIMENTS = {
    "plain": checked_spec(["a", "b", "c"], {"name": "OPSE", "horizon": 1000}, 1, None),
    "silent": checked_spec(["x", "y"], {"name": "UCB"}, 2, Silence(1e-6, 0.0)),
}
SNAPSHOT_EVERY = 40


class Task(NamedTuple):
    """An operation, what is written down once it is acknowledged, and what it wants to happen."""

    operation: Operation
    note: Callable[[Any], None]
    asked: tuple[Asked, ...] = ()


def quiet() -> None:
    """Let the writer not log what fails on purpose."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


class Small(SQLite):
    """SQLite that moves its log into the database often, so that this is tried too."""

    checkpoint = 20

    def __init__(self, path: str, *, read_only: bool = False, vfs: str | None = None) -> None:
        super().__init__(path, read_only=read_only, vfs=vfs)
        self._connection.wal_autocheckpoint(self.checkpoint)

    def reader(self) -> Small:
        """Another connection that only reads."""
        return Small(self.path, read_only=True, vfs=self._vfs)

    def close(self) -> None:
        """End the connection. What a disk says then, SQLite keeps to itself; the layer's errors come all the same."""
        with suppress(apsw.Error):
            super().close()


def open_small(path: Path, vfs: str | None = None, kind: type[SQLite] = Small) -> Journal:
    """The journal in a file, its tables made."""
    database = kind(str(path), vfs=vfs)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return Journal(database)


class StepWriter(Writer):
    """The service's writer without its thread: a transaction when it is asked for, so that a seed says everything."""

    def start(self) -> None:
        """Open the journal."""
        self.journal = self._open()

    def together(self, operations: list[Operation]) -> list[tuple[Any, BaseException | None]]:
        """Have operations done in one transaction; what their callers are told."""
        told: list[tuple[Any, BaseException | None]] = []
        self._commit([(each, lambda result, error: told.append((result, error))) for each in operations])
        return told

    def snapshots(self, every: int = SNAPSHOT_EVERY) -> None:
        """Keep snapshots, sooner than the service does."""
        self._save_snapshots(every)

    def reading(self) -> Journal | None:
        """A reader in the midst of a transaction, or None where the disk does not let it read."""
        reader = None
        try:
            reader = self.journal.reader()
            reader.database.execute("BEGIN")
            reader.experiments()
        except StorageError:
            if reader is not None:
                reader.close()
            return None
        return reader

    def end_without_snapshots(self) -> None:
        """End, as a process that is killed does."""
        self.journal.close()

    def stop(self) -> None:
        """Keep snapshots, and end."""
        self._save_snapshots(1)
        self.journal.close()


class Work:
    """Callers of a writer: they repeat what was refused, and write down what was acknowledged."""

    def __init__(self, rng: random.Random, ledger: Ledger) -> None:
        self._rng = rng
        self.ledger = ledger
        self._made = 0
        self._again: list[Task] = []
        self.refused = 0

    def transaction(self, writer: StepWriter) -> bool:
        """Have some operations done; whether they were."""
        rng = self._rng
        tasks = [self._again.pop() for _ in range(min(len(self._again), 4))]
        tasks += [self._task() for _ in range(rng.choice((1, 1, 2, 4, 8)))]
        for task in tasks:
            self.ledger.asks(task.asked)
        told = writer.together([task.operation for task in tasks])
        done = True
        for task, (result, error) in zip(tasks, told, strict=True):
            if isinstance(error, ApiError) and error.status == 503:
                self.refused += 1
                self._again.append(task)
                done = False
                continue
            if error is None:
                task.note(result)
            elif not (isinstance(error, ApiError) and error.status in (404, 409)):
                self.ledger.wrong.append(f"an operation was answered with {error!r}")
            self.ledger.answered(task.asked)
        return done

    def _task(self) -> Task:
        """Something that callers ask for."""
        rng, ledger = self._rng, self.ledger
        name = rng.choice([*EXPERIMENTS])
        if name not in ledger.experiments:
            return Task(operations.create(name, EXPERIMENTS[name]), lambda _: ledger.experiments.add(name))
        chance = rng.random()
        pending = [id for id in list(ledger.arms)[-40:] if id not in ledger.rewards and id not in ledger.cancelled]
        if chance < 0.5 or not pending:
            return self._decide(name)
        id = rng.choice(pending)
        if chance < 0.85:
            reward = rng.choice((0.0, 0.25, 1.0))
            asked = (Asked(Kind.OBSERVED, id, reward),)
            return Task(operations.feedback(id, reward, None), lambda told: ledger.observed(id, told[1].reward), asked)
        if chance < 0.9:
            return Task(operations.cancel(id), lambda _: ledger.was_cancelled(id), (Asked(Kind.CANCELLED, id),))
        if chance < 0.93 and "silent" in ledger.experiments:
            return Task(operations.add_arm("silent", f"z{len(ledger.arms)}"), lambda _: None)
        return Task(operations.impute("silent"), lambda _: None)

    def _decide(self, name: str) -> Task:
        self._made += 1
        id = f"{name}-{self._made}"

        def note(told: Any) -> None:
            for experiment, decision in told[0]:
                self.ledger.decided(decision.event.id, experiment.names[decision.event.arm])

        size = self._rng.choice((0, 0, 20, 3000))
        count = self._rng.choice((1, 1, 1, 6))
        ids = (id,) if count == 1 else tuple(f"{id}.{number}" for number in range(count))
        asked = tuple(Asked(Kind.DECIDED, each) for each in ids)
        return Task(operations.decide(name, ids, 1, {"metadata": {"m": "m" * size} if size else None}), note, asked)


def started(path: Path, vfs: str | None, kind: type[SQLite] = Small) -> StepWriter | None:
    """A writer at work on a file, or None where the disk does not let it start."""
    writer = StepWriter(lambda: open_small(path, vfs, kind))
    try:
        writer.start()
    except StorageError:
        return None
    return writer
