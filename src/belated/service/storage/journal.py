"""Queries of the journal, in SQL that both databases share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from belated.errors import MissingComponent, StorageError
from belated.service.storage.database import Database, without_password
from belated.service.storage.events import COLUMNS, MOVED, Event, event_row
from belated.service.storage.schema import VERSION, migrate, schema_version

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_EXPERIMENTS = "SELECT id, name, spec, created_at FROM belated_experiments"
_COLUMNS = ", ".join(COLUMNS)
_EVENTS = f"SELECT {_COLUMNS} FROM belated_events WHERE experiment = ? AND seq > ? ORDER BY seq"
_PENDING = (
    f"SELECT {', '.join(f'e.{name}' for name in COLUMNS)} FROM belated_events e WHERE e.experiment = ? AND e.kind = "
    "'decided' AND NOT EXISTS (SELECT 1 FROM belated_events a WHERE a.id = e.id AND a.experiment = e.experiment AND "
    "a.kind <> 'decided')"
)
_INSERT = f"INSERT INTO belated_events (experiment, {_COLUMNS}) VALUES (?, {', '.join('?' * len(COLUMNS))})"
_KEYWORD = re.compile(r"\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")
"""The start of a libpq connection string."""


class StoredExperiment(NamedTuple):
    """A row of the table of experiments."""

    id: int
    name: str
    spec: str
    """JSON."""
    created_at: int


class Journal:
    """Experiments and their events in a database. Not thread-safe."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def close(self) -> None:
        """Close the connection."""
        self.database.close()

    def reader(self) -> Journal:
        """The same journal over a read-only connection."""
        return Journal(self.database.reader())

    # ---- experiments ----

    def experiment(self, name: str) -> StoredExperiment | None:
        """The experiment with this name, if there is one."""
        rows = self.database.execute(f"{_EXPERIMENTS} WHERE name = ?", (name,))
        return StoredExperiment(*rows[0]) if rows else None

    def experiment_by_id(self, number: int) -> StoredExperiment:
        """The experiment with this number."""
        return StoredExperiment(*self.database.execute(f"{_EXPERIMENTS} WHERE id = ?", (number,))[0])

    def experiments(self) -> list[StoredExperiment]:
        """All experiments, oldest first."""
        return [StoredExperiment(*row) for row in self.database.execute(f"{_EXPERIMENTS} ORDER BY id")]

    def create(self, name: str, spec: str, at: int) -> StoredExperiment:
        """Create an experiment, within a transaction that holds its lock."""
        self.database.lock_schema()  # serializes the assignment of numbers
        number = self.database.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM belated_experiments")[0][0]
        self.database.execute(
            "INSERT INTO belated_experiments (id, name, spec, created_at) VALUES (?, ?, ?, ?)", (number, name, spec, at)
        )
        return StoredExperiment(number, name, spec, at)

    # ---- events ----

    def append(self, events: Sequence[tuple[int, Event]]) -> None:
        """Append (experiment, event) pairs, within a transaction."""
        if events:
            self.database.execute_many(_INSERT, [(experiment, *event_row(event)) for experiment, event in events])

    def events_of_decisions(
        self, ids: Sequence[str], experiments: Sequence[int] | None = None
    ) -> dict[str, list[tuple[int, Event]]]:
        """(experiment, event) pairs of the decisions with each id, in all experiments or in some, in order; empty for
        an unknown id."""
        events: dict[str, list[tuple[int, Event]]] = {id: [] for id in ids}
        if events and experiments != []:
            condition, value = self.database.in_clause("id", list(events))
            values = [value]
            if experiments is not None:  # with a plus: by the index of the ids
                among, value = self.database.in_clause("+experiment", list(experiments))
                condition, values = f"{condition} AND {among}", [*values, value]
            sql = f"SELECT experiment, {_COLUMNS} FROM belated_events WHERE {condition} ORDER BY experiment, seq"
            for experiment, *row in self.database.execute(sql, values):
                event = Event(*row)
                events[str(event.id)].append((experiment, event))
        return events

    def events(self, experiment: int, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Stream the events of an experiment after a number, in order."""
        if limit is None:
            return (Event(*row) for row in self.database.rows(_EVENTS, (experiment, after)))
        return (Event(*row) for row in self.database.execute(f"{_EVENTS} LIMIT ?", (experiment, after, limit)))

    def events_after(self, experiment: int, after: int, limit: int = 2**62) -> list[Event]:
        """The events of an experiment after a number, when there are few."""
        return [Event(*row) for row in self.database.execute(f"{_EVENTS} LIMIT ?", (experiment, after, limit))]

    def packed_events(
        self, experiment: int, after: int, until: int, codes: Mapping[str, int], other: int
    ) -> npt.NDArray[np.float64]:
        """The events in ``(after, until]``, in order: (code of the kind + arm, number, rank, reward); kinds without a
        code have that of ``other``, and what is missing is -1."""
        cases = " ".join(f"WHEN '{kind}' THEN {code:d}" for kind, code in codes.items())
        return self.database.numbers(
            f"SELECT (CASE kind {cases} ELSE {other:d} END) + COALESCE(arm, -1), COALESCE(number, -1), "
            f"COALESCE(rank, -1), COALESCE(reward, -1) FROM belated_events WHERE experiment = {experiment:d} AND "
            f"seq > {after:d} AND seq <= {until:d} ORDER BY seq",
            4,
        )

    def earliest_deadline(self, experiment: int, after: int) -> int | None:
        """The earliest deadline of the events after a number."""
        sql = "SELECT MIN(deadline) FROM belated_events WHERE experiment = ? AND seq > ?"
        earliest: int | None = self.database.execute(sql, (experiment, after))[0][0]
        return earliest

    def last(self, experiment: int) -> int:
        """The number of the last event; 0 if there are none."""
        sql = "SELECT COALESCE(MAX(seq), 0) FROM belated_events WHERE experiment = ?"
        return int(self.database.execute(sql, (experiment,))[0][0])

    def pending(self, experiment: int, after: int = 0, limit: int = 1000) -> list[Event]:
        """Pending decisions after an event, oldest first."""
        sql = f"{_PENDING} AND e.seq > ? ORDER BY e.seq LIMIT ?"
        return [Event(*row) for row in self.database.execute(sql, (experiment, after, limit))]

    def due(self, experiment: int, after: int, until: int, limit: int) -> list[Event]:
        """Pending decisions with a deadline in ``(after, until]``, by deadline."""
        sql = f"{_PENDING} AND e.deadline > ? AND e.deadline <= ? ORDER BY e.deadline LIMIT ?"
        return [Event(*row) for row in self.database.execute(sql, (experiment, after, until, limit))]

    # ---- snapshots ----

    def snapshot(self, experiment: int) -> tuple[int, bytes] | None:
        """(last event, data) of the last snapshot."""
        rows = self.database.execute("SELECT seq, data FROM belated_snapshots WHERE experiment = ?", (experiment,))
        return (rows[0][0], bytes(rows[0][1])) if rows else None

    def save_snapshot(self, experiment: int, seq: int, data: bytes) -> None:
        """Replace an older snapshot."""
        self.database.execute(
            "INSERT INTO belated_snapshots (experiment, seq, data) VALUES (?, ?, ?) ON CONFLICT (experiment) DO UPDATE "
            "SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= belated_snapshots.seq",
            (experiment, seq, data),
        )

    def touch(self, at: int) -> None:
        """Write the time, to see whether the database accepts writes."""
        self.database.execute(
            "INSERT INTO belated_meta (name, value) VALUES ('touched', ?) ON CONFLICT (name) DO UPDATE SET "
            "value = excluded.value",
            (str(at),),
        )

    def recent_delays(self, experiment: int, newest: int) -> list[tuple[int, int, int | None, str | None]]:
        """(arm, decided at, feedback at, its extras) of the newest decisions; without cancelled and imported ones, and
        without imputed rewards."""
        sql = (
            "SELECT d.arm, d.at, a.at, a.extra, a.kind FROM (SELECT experiment, id, arm, at, seq FROM belated_events "
            "WHERE experiment = ? AND kind = 'decided' AND COALESCE(extra, '') <> ? ORDER BY seq DESC LIMIT ?) d LEFT "
            "JOIN belated_events a ON a.id = d.id AND a.experiment = d.experiment AND a.kind IN ('observed', "
            "'replaced', 'cancelled')"
        )
        rows = self.database.execute(sql, (experiment, MOVED, newest))
        return [(arm, decided, observed, extra) for arm, decided, observed, extra, kind in rows if kind != "cancelled"]

    # ---- aggregates for the dashboard ----

    def count_groups(self, experiment: int, after: int, until: int, size: int) -> list[tuple[Any, ...]]:
        """Count the events of decisions in ``(after, until]``: (kind, block of ``size`` decisions, arm, how many, how
        many with a reward, sum of the rewards, first and last event, first and last time)."""
        sql = (
            "SELECT kind, number / ? AS block, arm, COUNT(*), COUNT(reward), COALESCE(SUM(reward), 0), MIN(seq), "
            "MAX(seq), MIN(at), MAX(at) FROM belated_events WHERE experiment = ? AND seq > ? AND seq <= ? AND number "
            "IS NOT NULL GROUP BY 1, 2, 3"
        )
        return self.database.execute(sql, (size, experiment, after, until))

    def decisions_numbered(
        self, experiment: int, numbers: Sequence[int], after: int, until: int
    ) -> list[tuple[int, int, int]]:
        """(number, seq, at) of the decisions with these numbers in ``(after, until]``, in order."""
        if not numbers:
            return []
        placeholders = ", ".join("?" * len(numbers))
        sql = (
            "SELECT number, seq, at FROM belated_events WHERE experiment = ? AND seq > ? AND seq <= ? AND kind = "
            f"'decided' AND number IN ({placeholders}) ORDER BY seq"
        )
        return self.database.execute(sql, (experiment, after, until, *numbers))

    def pending_times(self, experiment: int, first: int, last: int, until: int) -> list[int]:
        """When the decisions among the events ``first`` to ``last`` were made that were still pending after event
        ``until``."""
        sql = (
            "SELECT e.at FROM belated_events e WHERE e.experiment = ? AND e.seq >= ? AND e.seq <= ? AND e.kind = "
            "'decided' AND NOT EXISTS (SELECT 1 FROM belated_events a WHERE a.id = e.id AND "
            "a.experiment = e.experiment AND a.kind <> 'decided' AND a.seq <= ?) ORDER BY e.seq"
        )
        return [row[0] for row in self.database.execute(sql, (experiment, first, last, until))]

    # ---- keys ----

    def all_keys(self) -> list[tuple[str, str, str, int, int | None]]:
        """(hash, name, role, created_at, revoked_at) of every key."""
        return self.database.execute(
            "SELECT hash, name, role, created_at, revoked_at FROM belated_keys ORDER BY created_at, name"
        )

    def add_key(self, hash: str, name: str, role: str, at: int) -> None:
        """Store the hash of a key."""
        self.database.execute(
            "INSERT INTO belated_keys (hash, name, role, created_at) VALUES (?, ?, ?, ?)", (hash, name, role, at)
        )

    def revoke_key(self, name: str, at: int) -> None:
        """Revoke the key with this name."""
        self.database.execute(
            "UPDATE belated_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", (at, name)
        )


def open_journal(db: str, *, create: bool = True, read_only: bool = False, older: bool = False) -> Journal:
    """Open the journal at a path or URL, and migrate its tables. Without ``create`` it must exist, in the current
    schema or, with ``older``, in one whose events can be read; with ``read_only`` nothing is written, not even next to
    the file."""
    database = _connect(db, create, read_only)
    try:
        version = schema_version(database)
        if version is None and not create:
            raise StorageError(f"db is {without_password(db)!r}, which is not a database of belated.")
        if create:
            migrate(database)
        elif version != VERSION and not older:
            raise StorageError(f"db has schema {version}, not {VERSION}; start the server on it once.")
    except BaseException:
        database.close()
        raise
    return Journal(database)


def _connect(db: str, create: bool, read_only: bool) -> Database:
    try:
        if db.startswith(("postgresql://", "postgres://")):
            from belated.service.storage.postgres import PostgreSQL

            return PostgreSQL(db, read_only=read_only)
        from belated.service.storage.sqlite import SQLite, check_foreign, open_read_only
    except ImportError as error:
        raise MissingComponent(
            "the service is not installed: pip install 'belated[service]', or in a checkout pip install '.[service]' "
            f"({error})"
        ) from None
    exists = Path(db).is_file()
    if "://" in db:
        raise StorageError(
            f"db is {without_password(db)!r}; give a path for SQLite, or postgresql://user@host/database."
        )
    if _KEYWORD.match(db) and not exists:
        raise StorageError(  # not quoted, as it may hold a password
            "db looks like a PostgreSQL connection string, but would name a SQLite file; give "
            "postgresql://user@host:port/database, or put ./ before a file name."
        )
    if not create and not exists:
        raise StorageError(f"db is {db!r}, and there is no such file; give --db the path that belated serve writes to.")
    if read_only:
        return open_read_only(db)
    check_foreign(db)
    return SQLite(db)
