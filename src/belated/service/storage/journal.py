"""The journal's questions, in SQL that both databases know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from belated.errors import MissingComponent, StorageError
from belated.service.storage.database import Database, without_password
from belated.service.storage.events import COLUMNS, MOVED, Event, row_of
from belated.service.storage.schema import VERSION, make_current, not_newer, version_of

_COLUMNS = ", ".join(COLUMNS)
_INSERT = (
    f"INSERT INTO belated_events (experiment, {_COLUMNS}) VALUES (?, {', '.join('?' * len(COLUMNS))})"  # our own names
)
_KEYWORD = re.compile(r"\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")
"""How what libpq calls a connection string begins."""


class Stored(NamedTuple):
    """An experiment as it was asked for."""

    id: int
    name: str
    spec: str
    """JSON."""
    created_at: int


class Journal:
    """Experiments and their events in a database. One thread uses one journal."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def close(self) -> None:
        """End the connection."""
        self.database.close()

    def reader(self) -> Journal:
        """The same journal over a connection that only reads."""
        return Journal(self.database.reader())

    # ---- experiments ----

    def experiment(self, name: str) -> Stored | None:
        """The experiment of this name, if there is one."""
        found = self.database.execute(
            "SELECT id, name, spec, created_at FROM belated_experiments WHERE name = ?", (name,)
        )
        return Stored(*found[0]) if found else None

    def experiment_of(self, number: int) -> Stored:
        """The experiment of this number."""
        return Stored(
            *self.database.execute(
                "SELECT id, name, spec, created_at FROM belated_experiments WHERE id = ?", (number,)
            )[0]
        )

    def experiments(self) -> list[Stored]:
        """All experiments, the oldest first."""
        found = self.database.execute("SELECT id, name, spec, created_at FROM belated_experiments ORDER BY id")
        return [Stored(*row) for row in found]

    def create(self, name: str, spec: str, at: int) -> Stored:
        """A new experiment; within a transaction that holds its lock."""
        self.database.lock_schema()  # numbers are given to one at a time
        number = self.database.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM belated_experiments")[0][0]
        self.database.execute(
            "INSERT INTO belated_experiments (id, name, spec, created_at) VALUES (?, ?, ?, ?)", (number, name, spec, at)
        )
        return Stored(number, name, spec, at)

    # ---- events ----

    def append(self, events: Sequence[tuple[int, Event]]) -> None:
        """Add events of experiments, within a transaction."""
        if events:
            self.database.execute_many(_INSERT, [(experiment, *row_of(event)) for experiment, event in events])

    def of_decisions(self, ids: Sequence[str]) -> dict[str, list[tuple[int, Event]]]:
        """(experiment, event) of each of several decisions, in their order; empty for one that is unknown."""
        found: dict[str, list[tuple[int, Event]]] = {id: [] for id in ids}
        if found:
            chosen, value = self.database.among("id", list(found))
            sql = f"SELECT experiment, {_COLUMNS} FROM belated_events WHERE {chosen} ORDER BY seq"
            for experiment, *row in self.database.execute(sql, (value,)):
                event = Event(*row)
                found[str(event.id)].append((experiment, event))
        return found

    def events(self, experiment: int, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """The events of an experiment behind a place, in their order."""
        sql = f"SELECT {_COLUMNS} FROM belated_events WHERE experiment = ? AND seq > ? ORDER BY seq"
        if limit is None:
            return (Event(*row) for row in self.database.rows(sql, (experiment, after)))
        return (Event(*row) for row in self.database.execute(f"{sql} LIMIT ?", (experiment, after, limit)))

    def newer(self, experiment: int, after: int) -> list[Event]:
        """All events of an experiment behind a place; for few of them."""
        sql = f"SELECT {_COLUMNS} FROM belated_events WHERE experiment = ? AND seq > ? ORDER BY seq"
        return [Event(*row) for row in self.database.execute(sql, (experiment, after))]

    def last(self, experiment: int) -> int:
        """The number of the last event; 0 if there is none."""
        sql = "SELECT COALESCE(MAX(seq), 0) FROM belated_events WHERE experiment = ?"
        return int(self.database.execute(sql, (experiment,))[0][0])

    def pending(self, experiment: int, after: int = 0, limit: int = 1000) -> list[Event]:
        """Decisions behind a place that have no answer and were not cancelled, the oldest first."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS)
        found = self.database.execute(
            f"SELECT {columns} FROM belated_events e WHERE e.experiment = ? AND e.seq > ? AND e.kind = 'decided' "
            "AND NOT EXISTS (SELECT 1 FROM belated_events a WHERE a.id = e.id AND a.kind <> 'decided') "
            "ORDER BY e.seq LIMIT ?",
            (experiment, after, limit),
        )
        return [Event(*row) for row in found]

    def due(self, experiment: int, after: int, until: int, limit: int) -> list[Event]:
        """Decisions with a deadline behind one time and up to another that have no answer and were not cancelled, the
        one that has waited longest first."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS)
        found = self.database.execute(
            f"SELECT {columns} FROM belated_events e WHERE e.experiment = ? AND e.deadline > ? AND e.deadline <= ? "
            "AND NOT EXISTS (SELECT 1 FROM belated_events a WHERE a.id = e.id AND a.kind <> 'decided') "
            "ORDER BY e.deadline LIMIT ?",
            (experiment, after, until, limit),
        )
        return [Event(*row) for row in found]

    # ---- snapshots ----

    def snapshot(self, experiment: int) -> tuple[int, bytes] | None:
        """(number of the last event in it, data) of the experiment's last snapshot."""
        found = self.database.execute("SELECT seq, data FROM belated_snapshots WHERE experiment = ?", (experiment,))
        return (found[0][0], bytes(found[0][1])) if found else None

    def keep_snapshot(self, experiment: int, seq: int, data: bytes) -> None:
        """Put a snapshot in the place of an older one."""
        self.database.execute(
            "INSERT INTO belated_snapshots (experiment, seq, data) VALUES (?, ?, ?) ON CONFLICT (experiment) DO UPDATE "
            "SET seq = excluded.seq, data = excluded.data WHERE excluded.seq >= belated_snapshots.seq",
            (experiment, seq, data),
        )

    def touch(self, at: int) -> None:
        """Write the time, to see whether the database takes it."""
        self.database.execute(
            "INSERT INTO belated_meta (name, value) VALUES ('touched', ?) ON CONFLICT (name) DO UPDATE SET "
            "value = excluded.value",
            (str(at),),
        )

    def lives(self, experiment: int, newest: int) -> list[tuple[int, int, int | None, str | None, str | None]]:
        """(arm, decided at, answered at, kind of the answer, what is written beside it) of the newest decisions that
        were not cancelled; an imputed answer is none. Of those that moved here nobody knows when they were made."""
        sql = (
            "SELECT d.arm, d.at, a.at, a.kind, a.extra FROM (SELECT id, arm, at, seq FROM belated_events WHERE "
            "experiment = ? AND kind = 'decided' AND COALESCE(extra, '') <> ? ORDER BY seq DESC LIMIT ?) d LEFT JOIN "
            "belated_events a ON a.id = d.id AND a.kind IN ('observed', 'replaced', 'cancelled')"
        )
        found = self.database.execute(sql, (experiment, MOVED, newest))
        return [(row[0], row[1], row[2], row[3], row[4]) for row in found if row[3] != "cancelled"]

    # ---- keys ----

    def all_keys(self) -> list[tuple[str, str, str, int, int | None]]:
        """(hash, name, role, created_at, revoked_at) of every key."""
        found = self.database.execute(
            "SELECT hash, name, role, created_at, revoked_at FROM belated_keys ORDER BY created_at, name"
        )
        return [(row[0], row[1], row[2], row[3], row[4]) for row in found]

    def add_key(self, hash: str, name: str, role: str, at: int) -> None:
        """Keep a key's hash."""
        self.database.execute(
            "INSERT INTO belated_keys (hash, name, role, created_at) VALUES (?, ?, ?, ?)", (hash, name, role, at)
        )

    def revoke_key(self, name: str, at: int) -> None:
        """A key of this name is no longer valid."""
        self.database.execute(
            "UPDATE belated_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", (at, name)
        )


def open_journal(db: str, *, make: bool = True, read_only: bool = False) -> Journal:
    """The journal at a path or URL, its tables up to date; with ``make`` False, an error where there is none. With
    ``read_only`` nothing can be written, not even where the file is."""
    database = _database(db, make, read_only)
    try:
        found = not_newer(version_of(database))
        if found is None and not make:
            raise StorageError(f"db is {without_password(db)!r}, which holds no experiments of belated's.")
        if make:
            make_current(database)
        elif found != VERSION:
            raise StorageError(f"db has schema {found}, not {VERSION}; start the server on it once.")
    except BaseException:
        database.close()
        raise
    return Journal(database)


def _database(db: str, make: bool, read_only: bool) -> Database:
    try:
        if db.startswith(("postgresql://", "postgres://")):
            from belated.service.storage.postgres import PostgreSQL

            return PostgreSQL(db, read_only=read_only)
        from belated.service.storage.sqlite import SQLite, check_own, opened_to_read
    except ImportError as error:
        raise MissingComponent(
            "the service needs more parts: pip install 'belated[service]', or in a checkout pip install '.[service]' "
            f"({error})"
        ) from None
    there = Path(db).is_file()
    if "://" in db:
        raise StorageError(
            f"db is {without_password(db)!r}; give a path for SQLite, or postgresql://user@host/database."
        )
    if _KEYWORD.match(db) and not there:
        raise StorageError(  # it may hold a password, so that it is not shown
            "db looks like keywords of PostgreSQL's, and would be the name of a SQLite file; give "
            "postgresql://user@host:port/database, or ./ before the name of a file."
        )
    if not make and not there:
        raise StorageError(f"db is {db!r}, and there is no such file.")
    if read_only:
        return opened_to_read(db)
    check_own(db)
    return SQLite(db)
