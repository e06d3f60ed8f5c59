"""Schema versions: newer ones are refused, older ones brought up to date after a copy was made, all or nothing."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from commands import belated
from postgres import fresh
from work import EXPERIMENTS, StepWriter

from belated.errors import DuplicateError, StorageError
from belated.service.core import operations
from belated.service.core.verify import verify
from belated.service.storage import schema
from belated.service.storage.database import Database
from belated.service.storage.events import Event
from belated.service.storage.journal import open_journal
from belated.service.storage.schema import migrate, schema_version
from belated.service.storage.sqlite import SQLite

SCHEMA1 = Path(__file__).parents[1] / "data" / "schema1.db"
"""Made with schema 1; never made anew. Every later version has to open it."""


def make_some(db: str) -> None:
    """Experiments and events."""
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    for name, spec in EXPERIMENTS.items():
        ids = tuple(f"{name}{number}" for number in range(6))
        writer.together(
            [operations.create(name, spec), operations.decide(name, ids, 1, {"unit": "u", "metadata": {"page": 1}})]
        )
        writer.together([operations.feedback(f"{name}0", 1.0, 1_700_000_000_000_000), operations.cancel(f"{name}1")])
    writer.together([operations.impute("silent")])
    writer.together(
        [
            operations.feedback("silent2", 0.5, None),
            operations.add_arm("silent", "z"),
            operations.set_stopped("plain", True),
        ]
    )
    writer.snapshots(1)
    writer.together([operations.set_stopped("plain", False), operations.decide("silent", ("last",), 1, {})])
    writer.end_without_snapshots()


def contents(db: str) -> Any:
    """All that is in a database, tables too."""
    journal = open_small(db)
    tables = ("belated_meta", "belated_experiments", "belated_events", "belated_snapshots", "belated_keys")
    found = {table: sorted(journal.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    names = journal.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'belated%' ORDER BY 1, 2"
        if journal.several_writers
        else "SELECT name, sql FROM sqlite_master ORDER BY name"
    )
    journal.close()
    return found, names


def open_small(db: str) -> Database:
    """A connection, nothing more."""
    if db.startswith("postgresql"):
        from belated.service.storage.postgres import PostgreSQL

        return PostgreSQL(db)
    return SQLite(db)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- newer ----


def test_a_newer_schema_is_refused_and_nothing_is_changed(db: str) -> None:
    make_some(db)
    database = open_small(db)
    database.execute("UPDATE belated_meta SET value = '7' WHERE name = 'schema'")
    database.close()
    before = contents(db)
    for create in (True, False):
        with pytest.raises(StorageError, match="schema 7") as error:
            open_journal(db, create=create)
        assert f"{schema.VERSION}" in str(error.value)
    assert contents(db) == before
    done = belated("serve", "--db", db, "--port", "0")
    assert done.returncode != 0
    assert "schema 7" in done.stderr
    assert "newer" in done.stderr
    assert "Traceback" not in done.stderr
    assert contents(db) == before


def test_not_a_byte_of_a_newer_file_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "bandits.db"
    make_some(str(path))
    with_seven = SQLite(str(path))
    with_seven.execute("UPDATE belated_meta SET value = '7' WHERE name = 'schema'")
    with_seven.close()
    before = digest(path)
    with pytest.raises(StorageError, match="schema 7"):
        open_journal(str(path))
    assert digest(path) == before
    assert [each.name for each in tmp_path.iterdir()] == ["bandits.db"]


def test_a_process_that_comes_second_does_not_put_the_version_back(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer process may have been first, between the look and the lock."""
    make_some(db)
    database = open_small(db)
    database.execute("UPDATE belated_meta SET value = '0' WHERE name = 'schema'")
    begin = type(database).begin

    def slow_begin(self: Database) -> None:
        if schema_version(self) == 0:
            self.execute("UPDATE belated_meta SET value = '9' WHERE name = 'schema'")
        begin(self)

    monkeypatch.setattr(type(database), "begin", slow_begin)
    with pytest.raises(StorageError, match="schema 9"):
        migrate(database)
    with pytest.raises(StorageError, match="schema 9"):
        schema_version(database)
    database.close()


# ---- older ----


def add_a_column(database: Database) -> None:
    database.execute("ALTER TABLE belated_experiments ADD COLUMN owner TEXT")
    database.execute("UPDATE belated_experiments SET owner = 'nobody'")


def later(monkeypatch: pytest.MonkeyPatch, migration: schema.Migration) -> None:
    """A belated with one schema more than this."""
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION, migration)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later belated, with one schema more."""
    later(monkeypatch, add_a_column)


def test_an_older_schema_is_brought_up_to_date(db: str, next_version: None) -> None:
    with pytest.MonkeyPatch.context() as before:
        before.setattr(schema, "VERSION", schema.VERSION - 1)
        make_some(db)
    database = open_small(db)
    migrate(database)
    assert schema_version(database) == schema.VERSION
    assert database.execute("SELECT DISTINCT owner FROM belated_experiments") == [("nobody",)]
    assert migrate(database) is None
    database.close()
    journal = open_journal(db)
    assert [each.error for each in verify(journal)] == [None, None]
    journal.close()


def test_a_copy_is_made_before_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bandits.db"
    make_some(str(path))
    before = contents(str(path))
    later(monkeypatch, add_a_column)
    database = SQLite(str(path))
    copy = migrate(database)
    database.close()
    assert copy is not None
    assert copy.startswith(f"{path}.schema{schema.VERSION - 1}.")
    assert contents(copy) == before
    monkeypatch.setattr(schema, "VERSION", schema.VERSION - 1)
    journal = open_journal(copy)  # the older belated can go on with it
    assert [each.error for each in verify(journal)] == [None, None]
    journal.close()


def test_without_a_copy_there_is_no_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bandits.db"
    make_some(str(path))
    before = contents(str(path))
    later(monkeypatch, add_a_column)
    monkeypatch.setattr("belated.service.storage.sqlite.time.strftime", lambda *_: "../no/such/folder")
    with pytest.raises(StorageError):
        open_journal(str(path))
    assert contents(str(path)) == before


def test_an_upgrade_that_fails_half_way_changes_nothing(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_some(db)
    before = contents(db)

    def half(database: Database) -> None:
        add_a_column(database)
        database.execute("DELETE FROM belated_events")
        raise RuntimeError("half-way")

    later(monkeypatch, half)
    with pytest.raises(RuntimeError, match="half-way"):
        open_journal(db)
    assert contents(db) == before


def test_a_process_that_waits_for_the_upgrade_makes_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bandits.db"
    make_some(str(path))
    later(monkeypatch, add_a_column)
    errors: list[BaseException] = []
    barrier = threading.Barrier(4)

    def start() -> None:
        try:
            database = SQLite(str(path))
            barrier.wait()
            migrate(database)
            database.close()
        except BaseException as error:
            errors.append(error)

    _all_at_once([threading.Thread(target=start) for _ in range(4)])
    assert not errors
    assert len(list(tmp_path.glob("*.backup"))) == 1


# ---- two at once ----

START = """
import sys
from belated.service.storage.journal import open_journal
sys.stdin.readline()
open_journal(sys.argv[1]).close()
"""


def test_processes_that_start_at_once_on_an_empty_database_all_come_up(db: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", START, db], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    journal = open_journal(db, create=False)
    assert schema_version(journal.database) == schema.VERSION
    journal.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_threads_that_open_an_empty_database_at_once_all_come_up(kind: str, request: Any, tmp_path: Path) -> None:
    """Closer together than processes can be."""
    errors: list[BaseException] = []
    for number in range(10):
        server = request.getfixturevalue("postgres") if kind == "postgresql" else None
        db = fresh(server) if server else str(tmp_path / f"{number}.db")
        barrier = threading.Barrier(4)

        def start(db: str = db, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            try:
                open_journal(db).close()
            except BaseException as error:
                errors.append(error)

        _all_at_once([threading.Thread(target=start) for _ in range(4)])
    assert not errors


def _all_at_once(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_file_that_cannot_be_written_ahead_is_refused() -> None:
    with pytest.raises(StorageError, match="write-ahead log"):
        SQLite(":memory:")


# ---- every released schema ----


def test_a_file_of_schema_1_is_opened_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "bandits.db"
    shutil.copy(SCHEMA1, path)
    assert apsw.Connection(str(path)).execute("SELECT value FROM belated_meta WHERE name = 'schema'").get == "1"
    journal = open_journal(str(path))
    assert schema_version(journal.database) == schema.VERSION
    (copy,) = tmp_path.glob("*.schema1.*.backup")
    assert apsw.Connection(str(copy)).execute("SELECT value FROM belated_meta WHERE name = 'schema'").get == "1"
    found = verify(journal)
    assert [(each.name, each.events, each.error) for each in found] == [("plain", 10, None), ("silent", 15, None)]
    decided = journal.events_of_decisions(["silent2"])["silent2"]
    assert [(event.kind, event.reward) for _, event in decided] == [
        ("decided", None),
        ("imputed", 0.0),
        ("replaced", 0.5),
    ]
    journal.close()
    writer = StepWriter(lambda: open_journal(str(path)))
    writer.start()
    ((_, error),) = writer.together([operations.feedback("last", 1.0, None)])
    assert error is None
    writer.stop()


def test_the_same_is_so_on_postgresql(postgres: str) -> None:
    db = fresh(postgres)
    make_some(db)
    with psycopg.connect(db) as connection:
        found = connection.execute("SELECT value FROM belated_meta WHERE name = 'schema'").fetchall()
        assert found == [(str(schema.VERSION),)]
    journal = open_journal(db)
    assert [(each.name, each.events, each.error) for each in verify(journal)] == [
        ("plain", 10, None),
        ("silent", 15, None),
    ]
    journal.close()


def test_an_older_database_is_verified_and_its_keys_are_listed_without_a_migration(tmp_path: Path) -> None:
    path = tmp_path / "bandits.db"
    shutil.copy(SCHEMA1, path)
    before = digest(path)
    done = belated("verify", "--db", str(path))
    assert done.returncode == 0, done.stderr
    assert "correct" in done.stdout
    assert belated("keys", "list", "--db", str(path)).returncode == 0
    assert digest(path) == before


def test_ids_become_unique_per_experiment(db: str) -> None:
    """From schema 2, in which they were unique across all experiments."""
    make_some(db)
    database = open_small(db)
    database.execute("DROP INDEX belated_events_of_id")
    database.execute("CREATE UNIQUE INDEX belated_events_of_id ON belated_events (id, kind) WHERE id IS NOT NULL")
    database.execute("UPDATE belated_meta SET value = '2' WHERE name = 'schema'")
    database.close()
    events = contents(db)[0]["belated_events"]
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    assert contents(db)[0]["belated_events"] == events
    (made,) = writer.together([operations.decide("silent", ("plain0",), 1, {})])
    assert made[1] is None
    told = writer.together(
        [operations.feedback("plain0", 1.0, None), operations.feedback("plain0", 1.0, None, "plain")]
    )
    assert [getattr(error, "kind", None) for _, error in told] == ["ambiguous-id", None]
    with pytest.raises(DuplicateError):
        writer.journal.append([(1, Event(10**6, "decided", 1, "plain0", 9, 0, 9))])
    writer.journal.database.rollback()
    writer.stop()
    journal = open_journal(db)
    assert [each.error for each in verify(journal)] == [None, None]
    journal.close()
