"""The tables, and migrations from older schemas."""

from __future__ import annotations

from collections.abc import Callable

from belated.errors import NewerSchema
from belated.service.storage.database import Database

DUE = "CREATE INDEX belated_events_due ON belated_events (experiment, deadline) WHERE deadline IS NOT NULL"
"""Finds decisions past their deadline."""
OF_ID = "CREATE UNIQUE INDEX belated_events_of_id ON belated_events (id, experiment, kind) WHERE id IS NOT NULL"
"""Each kind of event happens at most once to a decision of an experiment. The id is first: it may be all that is known
of a decision."""

TABLES = (
    "CREATE TABLE belated_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # Specs of experiments; rows never change.
    "CREATE TABLE belated_experiments (id {integer} PRIMARY KEY, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, "
    "created_at {integer} NOT NULL)",
    # The events; rows are appended and never change.
    "CREATE TABLE belated_events (experiment {integer} NOT NULL, seq {integer} NOT NULL, kind TEXT NOT NULL, "
    "at {integer} NOT NULL, id TEXT, number {integer}, arm {integer}, rank {integer}, reward {real}, "
    "deadline {integer}, extra TEXT, PRIMARY KEY (experiment, seq))",
    OF_ID,
    DUE,
    # Snapshots that shorten the replay; the events suffice to rebuild them.
    "CREATE TABLE belated_snapshots (experiment {integer} PRIMARY KEY, seq {integer} NOT NULL, data {blob} NOT NULL)",
    "CREATE TABLE belated_keys (hash TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, "
    "created_at {integer} NOT NULL, revoked_at {integer})",
)

Migration = Callable[[Database], object]


def _to_3(database: Database) -> None:
    _unique_ids_per_experiment(database)


def _unique_ids_per_experiment(database: Database) -> None:
    """Ids were unique across all experiments."""
    database.execute("DROP INDEX belated_events_of_id")
    database.execute(OF_ID)


MIGRATIONS: dict[int, Migration] = {1: lambda database: database.execute(DUE), 2: _to_3}
"""The step from each older version to the next."""
VERSION = 3


def migrate(database: Database) -> str | None:
    """Create the tables, or migrate older ones; the path of the backup, if one was made. Refuses a newer schema."""
    if schema_version(database) == VERSION:
        return None
    with database.transaction():
        database.lock_tables()
        database.lock_schema()
        version = schema_version(database)  # another process may have been first
        if version == VERSION:
            return None
        if version is None:
            for table in TABLES:
                database.execute(table.format(integer=database.integer, real=database.real, blob=database.blob))
            database.execute("INSERT INTO belated_meta (name, value) VALUES ('schema', ?)", (str(VERSION),))
            return None
        backup = database.backup(version)
        for step in range(version, VERSION):
            MIGRATIONS[step](database)
        database.execute("UPDATE belated_meta SET value = ? WHERE name = 'schema'", (str(VERSION),))
    return backup


def schema_version(database: Database) -> int | None:
    """The version of the schema; None if there are no tables, an error if it is newer than this code."""
    if not database.has_table("belated_meta"):
        return None
    return known_version(database)


def known_version(database: Database) -> int:
    """The version of the schema of a database with tables; an error if it is newer than this code."""
    version = int(database.execute("SELECT value FROM belated_meta WHERE name = 'schema'")[0][0])
    if version > VERSION:
        raise NewerSchema(
            f"this database has schema {version}, written by a newer belated; this one supports schema {VERSION}. "
            "Install the newer version."
        )
    return version
