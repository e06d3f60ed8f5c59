"""The tables, and how older ones are brought up to date."""

from __future__ import annotations

from collections.abc import Callable

from belated.errors import StorageError
from belated.service.storage.database import Database

DUE = "CREATE INDEX belated_events_due ON belated_events (experiment, deadline) WHERE deadline IS NOT NULL"
"""Whose silence becomes an answer, and when."""

TABLES = (
    "CREATE TABLE belated_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # What an experiment is. It never changes.
    "CREATE TABLE belated_experiments (id {whole} PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, "
    "created_at {whole} NOT NULL)",
    # What happened. Rows are added and never changed.
    "CREATE TABLE belated_events (experiment {whole} NOT NULL, seq {whole} NOT NULL, kind TEXT NOT NULL, "
    "at {whole} NOT NULL, id TEXT, number {whole}, arm {whole}, rank {whole}, reward {real}, deadline {whole}, "
    "extra TEXT, PRIMARY KEY (experiment, seq))",
    # An id is decided, observed, imputed, replaced and cancelled once at the most.
    "CREATE UNIQUE INDEX belated_events_of_id ON belated_events (id, kind) WHERE id IS NOT NULL",
    DUE,
    # States that shorten the replay; each can be made anew from the events.
    "CREATE TABLE belated_snapshots (experiment {whole} PRIMARY KEY, seq {whole} NOT NULL, data {blob} NOT NULL)",
    "CREATE TABLE belated_keys (hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, "
    "created_at {whole} NOT NULL, revoked_at {whole})",
)

Migration = Callable[[Database], None]


def _index_deadlines(database: Database) -> None:
    database.execute(DUE)


MIGRATIONS: dict[int, Migration] = {1: _index_deadlines}
"""Of each older version, the step to the next one."""

VERSION = 2


def make_current(database: Database) -> str | None:
    """Make the tables, or bring older ones up to date; where the copy made before is, if one was. A newer schema is
    refused."""
    if not_newer(version_of(database)) == VERSION:
        return None
    with database.transaction():
        database.lock_schema()
        found = not_newer(version_of(database))  # another process may have been first
        if found == VERSION:
            return None
        if found is None:
            for table in TABLES:
                database.execute(table.format(whole=database.whole, real=database.real, blob=database.blob))
            database.execute("INSERT INTO belated_meta (name, value) VALUES ('schema', ?)", (str(VERSION),))
            return None
        copy = database.backup(found)
        for version in range(found, VERSION):
            MIGRATIONS[version](database)
        database.execute("UPDATE belated_meta SET value = ? WHERE name = 'schema'", (str(VERSION),))
    return copy


def not_newer(found: int | None) -> int | None:
    """A version that this code knows, or an error."""
    if found is not None and found > VERSION:
        raise StorageError(
            f"this database has schema {found}, made by a newer belated; this one knows schema {VERSION}. Install the "
            "newer version."
        )
    return found


def version_of(database: Database) -> int | None:
    """The schema's version; None where there is none yet."""
    if not database.has_table("belated_meta"):
        return None
    return int(database.execute("SELECT value FROM belated_meta WHERE name = 'schema'")[0][0])
