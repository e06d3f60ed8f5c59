"""PostgreSQL, for several server processes on one database."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from belated.errors import DuplicateError, StorageError
from belated.service.storage.database import Database, Row, without_password

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SCHEMA_LOCK = 0x62656C61746564
"""The advisory lock for schema changes."""
EXPERIMENT_LOCKS = 0x62656C61
"""The first key of the advisory locks for experiments."""


MIGRATION_SECONDS = 60.0
"""How long a migration waits for the transactions of other processes."""
_FIELD = (("size", ">i4"), ("value", ">f8"))
"""A number in the binary format of COPY."""


class PostgreSQL(Database):
    """A connection to a PostgreSQL server; commits are synchronous."""

    blob = "BYTEA"
    real = "DOUBLE PRECISION"
    integer = "BIGINT"
    several_writers = True

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self._url = url
        self._read_only = read_only
        self._connect()

    def _connect(self) -> None:
        try:
            self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        except psycopg.ProgrammingError:  # its message quotes the URL, perhaps with a password
            raise StorageError(
                f"{without_password(self._url)} is not a database URL; give postgresql://user@host/database"
            ) from None
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)} cannot be reached: {str(error).strip()}") from None
        try:
            if self._read_only:
                self._connection.execute("SET default_transaction_read_only = on")
            elif self._connection.execute("SHOW synchronous_commit").fetchall() == [("off",)]:
                self._connection.execute("SET synchronous_commit = on")  # acknowledged means on disk
        except psycopg.Error as error:
            self._connection.close()
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def execute(self, sql: str, values: Row = ()) -> list[Any]:
        if self._connection.closed:  # it was lost
            self._connect()
        try:
            cursor = self._connection.execute(_placeholders(sql), tuple(values), prepare=True)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(_placeholders(sql), rows)
        except psycopg.errors.UniqueViolation as error:
            raise DuplicateError(f"{without_password(self._url)}: {str(error).strip()}") from error
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def rows(self, sql: str, values: Row = ()) -> Iterator[tuple[Any, ...]]:
        if self._connection.closed:  # it was lost
            self._connect()
        try:
            with self._connection.transaction(), self._connection.cursor(name="belated") as cursor:
                cursor.itersize = 10_000
                yield from cursor.execute(_placeholders(sql), tuple(values))
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error

    def numbers(self, sql: str, columns: int) -> npt.NDArray[np.float64]:
        """With COPY, in binary: 19 bytes; for each row the number of its columns, and each number after its size; 2
        bytes."""
        import numpy as np

        if self._connection.closed:  # it was lost
            self._connect()
        fields = ", ".join(f"CAST(c{number} AS double precision)" for number in range(columns))
        names = ", ".join(f"c{number}" for number in range(columns))
        copy = f"COPY (SELECT {fields} FROM ({sql}) AS t ({names})) TO STDOUT (FORMAT BINARY)"
        try:
            with self._connection.cursor() as cursor, cursor.copy(_placeholders(copy)) as stream:
                data = b"".join(stream)
        except psycopg.Error as error:
            raise StorageError(f"{without_password(self._url)}: {str(error).strip()}") from error
        row = np.dtype([("columns", ">i2"), *((f"{part}{n}", kind) for n in range(columns) for part, kind in _FIELD)])
        rows = np.frombuffer(data, row, (len(data) - 21) // row.itemsize, 19)
        return np.column_stack([rows[f"value{number}"] for number in range(columns)]).astype(np.float64)

    def begin(self) -> None:
        self.execute("BEGIN ISOLATION LEVEL READ COMMITTED")  # see what others wrote once we hold the lock

    def begin_reading(self) -> None:
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        if self._connection.info.transaction_status != TransactionStatus.INTRANS:
            raise StorageError(f"{without_password(self._url)}: the transaction was lost before the commit")
        super().commit()

    def rollback(self) -> None:
        if not self._connection.closed:
            self.execute("ROLLBACK")

    def lock_experiments(self, names: Iterable[str]) -> None:
        for number in sorted({zlib.crc32(name.encode()) - 2**31 for name in names}):
            self.execute("SELECT pg_advisory_xact_lock(?, ?)", (EXPERIMENT_LOCKS, number))

    def lock_schema(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(?)", (SCHEMA_LOCK,))

    def lock_tables(self) -> None:
        if not self.has_table("belated_events"):
            return
        # Others use the tables in any order. So it gives up before the server would find a deadlock, and tries again.
        self.execute("SET LOCAL statement_timeout = 0")  # a large index takes its time
        self.execute("SET LOCAL lock_timeout = '500ms'")
        end = time.monotonic() + MIGRATION_SECONDS
        while True:
            self.execute("SAVEPOINT unlocked")
            try:
                self.execute("LOCK TABLE belated_events, belated_experiments IN ACCESS EXCLUSIVE MODE")
                return
            except StorageError:
                if self._connection.closed or time.monotonic() > end:
                    raise
                self.execute("ROLLBACK TO SAVEPOINT unlocked")
            time.sleep(0.1)

    def in_clause(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        return f"{column} = ANY(?)", list(values)

    def has_table(self, name: str) -> bool:
        # Not to_regclass, which may cache that the table did not exist before another process created it.
        sql = "SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = ? AND schemaname = ANY(current_schemas(false))"
        return bool(self.execute(sql, (name,)))

    def reader(self) -> Database:
        return PostgreSQL(self._url, read_only=True)

    def close(self) -> None:
        self._connection.close()


def _placeholders(sql: str) -> Any:
    """A statement with psycopg's placeholders."""
    return sql.replace("%", "%%").replace("?", "%s")
