"""The control of the kills: a server that acknowledges before it commits.

python torture/early.py serve --db ...
"""

from __future__ import annotations

import threading
import time

from belated.service.storage.database import Database
from belated.service.storage.postgres import PostgreSQL
from belated.service.storage.sqlite import SQLite

LATE = 0.02
"""Seconds from the acknowledgement to the commit."""


def acknowledge_early(kind: type[Database]) -> None:
    """Let commits of the writer be made when the next transaction begins, and not before."""
    begin, commit = kind.begin, kind.commit
    owed: set[int] = set()

    def late_begin(self: Database) -> None:
        if id(self) in owed:
            owed.remove(id(self))
            time.sleep(LATE)
            commit(self)
        begin(self)

    def no_commit(self: Database) -> None:
        if threading.current_thread().name == "writer":
            owed.add(id(self))
        else:
            commit(self)

    kind.begin, kind.commit = late_begin, no_commit  # type: ignore[method-assign]


if __name__ == "__main__":
    from belated.cli import main

    acknowledge_early(SQLite)
    acknowledge_early(PostgreSQL)
    main()
