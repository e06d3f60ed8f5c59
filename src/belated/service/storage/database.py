"""What the journal asks of a database: statements, transactions, and what went wrong."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from belated.errors import StorageError

Row = Sequence[Any]


class Database(ABC):
    """One connection. Statements are written for SQLite (``?`` for values) in words that both know."""

    blob = "BLOB"
    real = "REAL"
    whole = "INTEGER"
    several_writers = False
    """Whether another process may write at the same time, to another experiment."""
    _unchanging = False

    @abstractmethod
    def execute(self, sql: str, values: Row = ()) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        """Run a statement with each of several rows of values."""

    @abstractmethod
    def rows(self, sql: str, values: Row = ()) -> Iterator[tuple[Any, ...]]:
        """Run a statement; its rows as they come, not all in memory."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that will write."""

    @abstractmethod
    def commit(self) -> None:
        """All of the transaction is on disk when this returns."""

    @abstractmethod
    def rollback(self) -> None:
        """Nothing of the transaction remains."""

    @abstractmethod
    def lock_experiments(self, names: Iterable[str]) -> None:
        """Wait until no other process is with these experiments, to the end of the transaction. No two processes wait
        for each other."""

    @abstractmethod
    def lock_schema(self) -> None:
        """Wait until no other process is making tables, to the end of the transaction."""

    @abstractmethod
    def among(self, column: str, values: Sequence[str]) -> tuple[str, Any]:
        """(SQL, its value): whether a column has one of these texts."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is such a table."""

    @abstractmethod
    def reader(self) -> Database:
        """Another connection that only reads."""

    @abstractmethod
    def backup(self, version: int) -> str | None:
        """Copy the database as it was before this transaction, which will change it from this version; where to, or
        None where whoever runs the server does that."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    @abstractmethod
    def begin_reading(self) -> None:
        """Begin a transaction that only reads, and sees what is there now, whatever others write meanwhile."""

    @contextmanager
    def unchanging(self) -> Iterator[None]:
        """All that is read within is of one moment; within another such context, of that one's."""
        if self._unchanging:
            yield
            return
        self.begin_reading()
        self._unchanging = True
        try:
            yield
        finally:
            self._unchanging = False
            with suppress(StorageError):  # nothing was written
                self.rollback()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction: committed, or on an error rolled back."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            with suppress(StorageError):  # what went wrong before is what counts
                self.rollback()
            raise


def without_password(url: str) -> str:
    """A path or URL as it may be shown.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    >>> without_password("postgresql://host/db?user=me&password=secret")
    'postgresql://host/db?user=me&password=***'
    """
    if "://" not in url:
        return re.sub(r"(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)", r"\1***", url)
    shown = re.sub(r"([?&])([^?&=]*)=([^&]*)", _shown_parameter, url)
    # Up to the last @, even if that is too much: a password may hold what it should not.
    return re.sub(r"(://[^:/@?]*):.*@", r"\1:***@", shown, flags=re.DOTALL)


def _shown_parameter(found: re.Match[str]) -> str:
    mark, name, _ = found.groups()
    secret = unquote(name).strip().lower() in ("password", "sslpassword")
    return f"{mark}{name}=***" if secret else found[0]
