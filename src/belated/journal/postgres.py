"""PostgreSQL, for several server processes on one database."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg

from belated.errors import AlreadyThere, StorageError
from belated.journal.database import Database, Row, without_password

SCHEMA_LOCK = 0x62656C61746564
"""The number of the lock under which tables are made."""


class PostgreSQL(Database):
    """A connection to a server. Commits are durable as the server's own settings say (``synchronous_commit = on``)."""

    blob = "BYTEA"
    real = "DOUBLE PRECISION"
    whole = "BIGINT"
    several_writers = True

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self._url = url
        self._read_only = read_only
        self._connect()

    def _connect(self) -> None:
        try:
            self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)} cannot be reached: {str(error).strip()}") from None
        if self._read_only:
            self._connection.execute("SET default_transaction_read_only = on")

    def execute(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        if self._connection.closed:
            self._connect()  # the server came back
        try:
            cursor = self._connection.execute(_asked(sql), tuple(values), prepare=True)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(_asked(sql), rows)
        except psycopg.errors.UniqueViolation as error:
            raise AlreadyThere(f"{without_password(self._url)}: {str(error).strip()}") from error
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def rows(self, sql: str, values: Row = ()) -> Iterator[tuple[Any, ...]]:
        try:
            with self._connection.transaction(), self._connection.cursor(name="belated") as cursor:
                cursor.itersize = 10_000
                yield from cursor.execute(_asked(sql), tuple(values))
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def begin(self) -> None:
        self.execute("BEGIN")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if not self._connection.closed:
            self.execute("ROLLBACK")

    def lock_experiment(self, name: str) -> None:
        self.execute("SELECT pg_advisory_xact_lock(?, ?)", (0x62656C61, zlib.crc32(name.encode()) - 2**31))

    def lock_schema(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(?)", (SCHEMA_LOCK,))

    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        return f"{column} = ANY(?)", list(values)

    def has_table(self, name: str) -> bool:
        return bool(self.execute("SELECT 1 WHERE to_regclass(?) IS NOT NULL", (name,)))

    def reader(self) -> Database:
        return PostgreSQL(self._url, read_only=True)

    def backup(self, version: int) -> str | None:
        return None

    def close(self) -> None:
        self._connection.close()


def _asked(sql: str) -> Any:
    """A statement with psycopg's sign for a value."""
    return sql.replace("%", "%%").replace("?", "%s")
