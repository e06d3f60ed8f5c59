"""SQLite as bundled with apsw: Python's own may have the WAL-reset bug (3.7.0 to 3.51.2)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from belated.errors import DuplicateError, StorageError
from belated.service.storage.database import Database, Row

SAFE = 3_051_003
"""The first version without the WAL-reset bug."""
BUSY_MILLISECONDS = 30_000


class SQLite(Database):
    """A SQLite file with a write-ahead log; every commit is synced, so acknowledged means on disk."""

    synchronous = "FULL"

    def __init__(self, path: str, *, read_only: bool = False, immutable: bool = False, vfs: str | None = None) -> None:
        if apsw.SQLITE_VERSION_NUMBER < SAFE:
            raise StorageError(
                f"this SQLite is {apsw.sqlite_lib_version()}, which can corrupt databases; install apsw >= 3.52."
            )
        self.path = path
        self._vfs = vfs
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        folder = Path(path).resolve().parent
        if not folder.is_dir():
            raise StorageError(f"db is {path!r}, and there is no folder {str(folder)!r}; create it first.")
        try:
            self._connection = apsw.Connection(
                f"file:{quote(path)}?immutable=1" if immutable else path,
                flags=flags | apsw.SQLITE_OPEN_URI if immutable else flags,
                vfs=vfs,
            )
            try:
                self._connection.set_busy_timeout(BUSY_MILLISECONDS)
                self._connection.execute(f"PRAGMA synchronous = {self.synchronous}")
                if not read_only:
                    self._enable_wal()
                self._file = _file_identity(path)
            except BaseException:
                self._connection.close()
                raise
        except apsw.Error as error:
            raise StorageError(f"db is {path!r}, which cannot be opened: {error}. Give a SQLite file.") from error

    def _enable_wal(self) -> None:
        """Switch to WAL mode, which is persistent. SQLite's busy timeout does not apply here, so retry."""
        end = time.monotonic() + BUSY_MILLISECONDS / 1000
        while True:
            try:
                mode = self._connection.execute("PRAGMA journal_mode = WAL").fetchall()[0][0]
                break
            except apsw.BusyError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        if mode != "wal":
            raise StorageError(
                f"db is {self.path!r}, where SQLite cannot use a write-ahead log (mode {mode!r}); give a path on a "
                "local disk."
            )

    def execute(self, sql: str, values: Row = ()) -> list[Any]:
        try:
            return self._connection.execute(sql, tuple(values)).fetchall()
        except apsw.Error as error:
            raise StorageError(f"the database {self.path!r}: {error}") from error

    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        try:
            self._connection.executemany(sql, rows)
        except apsw.ConstraintError as error:
            raise DuplicateError(f"the database {self.path!r}: {error}") from error
        except apsw.Error as error:
            raise StorageError(f"the database {self.path!r}: {error}") from error

    def rows(self, sql: str, values: Row = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(sql, tuple(values))
        except apsw.Error as error:
            raise StorageError(f"the database {self.path!r}: {error}") from error

    def begin(self) -> None:
        self.check_file()
        self.execute("BEGIN IMMEDIATE")

    def begin_reading(self) -> None:
        self.execute("BEGIN")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    def check_file(self) -> None:
        """Raise if the file was removed or replaced while in use."""
        if _file_identity(self.path) != self._file:
            raise StorageError(f"the database {self.path!r} was removed or replaced; restart the server")

    def in_clause(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        return f"{column} IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def has_table(self, name: str) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def reader(self) -> Database:
        return SQLite(self.path, read_only=True, vfs=self._vfs)

    def backup(self, version: int) -> str | None:
        target = f"{self.path}.schema{version}.{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}.backup"
        with closing(self.reader()) as reader:  # it sees the state before the transaction
            reader.execute("VACUUM INTO ?", (target,))
        return target

    def close(self) -> None:
        self._connection.close()


def _file_identity(path: str) -> tuple[int, int] | None:
    """(device, inode) of a file; None if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def open_read_only(path: str) -> SQLite:
    """Open a file read-only. In a folder that is not writable SQLite cannot share it with a writer; there is none then,
    so the file is opened as immutable."""
    try:
        database = SQLite(path, read_only=True)
        try:
            database.has_table("belated_meta")
            return database
        except BaseException:
            database.close()
            raise
    except StorageError:
        if os.access(Path(path).resolve().parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        raise StorageError(
            f"db is {path!r}, in a folder that is not writable, and its newest events are still in {str(log)!r}. "
            "Copy both files to a writable folder, and give the copy."
        )
    return SQLite(path, read_only=True, immutable=True)


def check_foreign(path: str) -> None:
    """Raise if a file has tables of another program, so that it is not modified."""
    tables: list[str] = []
    if Path(path).is_file() and Path(path).stat().st_size:
        with suppress(StorageError), closing(SQLite(path, read_only=True)) as database:  # opening it reports the error
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if tables and "belated_meta" not in tables:
        raise StorageError(
            f"db is {path!r}, a SQLite file with tables of another program ({', '.join(sorted(tables)[:3])}); give a "
            "database of belated, or the name of a new file."
        )
