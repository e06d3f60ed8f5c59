"""The interface of a database: statements, transactions, locks."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from belated.errors import StorageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Row = Sequence[Any]


class Database(ABC):
    """A connection. Statements use ``?`` for values, and SQL that SQLite and PostgreSQL share."""

    blob = "BLOB"
    real = "REAL"
    integer = "INTEGER"
    several_writers = False
    """Whether other processes may write at the same time, to other experiments."""
    _in_snapshot = False

    @abstractmethod
    def execute(self, sql: str, values: Row = ()) -> list[Any]:
        """Run a statement and return its rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Iterable[Row]) -> None:
        """Run a statement once for each row of values."""

    @abstractmethod
    def rows(self, sql: str, values: Row = ()) -> Iterator[tuple[Any, ...]]:
        """Run a statement and stream its rows."""

    def numbers(self, sql: str, columns: int) -> npt.NDArray[np.float64]:
        """Run a statement without values whose columns are numbers, never NULL, and return its rows as an array."""
        import numpy as np  # late: commands that read no events start without it

        flat = np.fromiter(chain.from_iterable(self.rows(sql)), np.float64)
        return flat.reshape(-1, columns)

    @abstractmethod
    def begin(self) -> None:
        """Begin a writing transaction."""

    def commit(self) -> None:
        """Commit; the transaction is on disk when this returns."""
        self.execute("COMMIT")

    @abstractmethod
    def rollback(self) -> None:
        """Roll back the transaction."""

    def lock_experiments(self, names: Iterable[str]) -> None:  # noqa: B027 (nothing, where there is only one writer)
        """Lock experiments against other processes until the end of the transaction, without deadlocks."""

    def lock_schema(self) -> None:  # noqa: B027
        """Lock the schema against other processes until the end of the transaction."""

    def lock_tables(self) -> None:  # noqa: B027
        """Begin a transaction on the schema: wait for those of other processes, and let no other use the tables until
        the end of this one."""

    @abstractmethod
    def in_clause(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        """(SQL, its value) for ``column IN values``."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether a table exists."""

    @abstractmethod
    def reader(self) -> Database:
        """Another, read-only connection."""

    def backup(self, version: int) -> str | None:
        """Copy the database before a migration from this schema version; the path of the copy, or None if backups are
        up to the operator."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def begin_reading(self) -> None:
        """Begin a read-only transaction on a consistent snapshot."""

    @contextmanager
    def snapshot_read(self) -> Iterator[None]:
        """Read from one consistent snapshot; nested contexts share the outermost."""
        if self._in_snapshot:
            yield
            return
        self.begin_reading()
        self._in_snapshot = True
        try:
            yield
        finally:
            self._in_snapshot = False
            with suppress(StorageError):  # nothing was written
                self.rollback()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end, or roll back on an error."""
        try:
            self.begin()
            yield
            self.commit()
        except BaseException:
            with suppress(StorageError):  # the first error is the one to raise
                self.rollback()
            raise


def without_password(url: str) -> str:
    """Mask the password in a path or URL.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    >>> without_password("postgresql://host/db?user=me&password=secret")
    'postgresql://host/db?user=me&password=***'
    """
    if "://" not in url:
        return re.sub(r"(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)", r"\1***", url)
    masked = re.sub(r"([?&])([^?&=]*)=([^&]*)", _mask_parameter, url)
    # Up to the last @, even if that is too much: a password may contain unescaped characters.
    return re.sub(r"(://[^:/@?]*):.*@", r"\1:***@", masked, flags=re.DOTALL)


def _mask_parameter(match: re.Match[str]) -> str:
    separator, name, _ = match.groups()
    secret = unquote(name).strip().lower() in ("password", "sslpassword")
    return f"{separator}{name}=***" if secret else match[0]
