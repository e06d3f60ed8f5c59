"""What somebody meets who starts a server, or looks after its database: what is refused, and what is said."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import httpx2
import pytest
from commands import ASKED, belated, mistake
from serving import PATIENCE, hosting, serving, start

from belated.errors import StorageError
from belated.service.auth import make_key
from belated.service.core.verify import verify
from belated.service.storage.journal import open_journal
from belated.service.storage.schema import VERSION

OPEN = ("--host", "0.0.0.0", "--port", "0")
"""To be reached by others: refused without keys, so that no server stays if nothing else is."""
SERVE = Path(__file__).parent.parent.parent / "docs" / "howto" / "serve.md"


def lived(db: str) -> None:
    """A journal with one decision."""
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=ASKED).status_code == 201
        assert http.post("/v1/experiments/e/decisions", json={"id": "d"}).status_code == 201


# ---- databases ----


@pytest.mark.parametrize("command", [["verify"], ["keys", "list"], ["keys", "revoke", "x"], ["serve", *OPEN]])
def test_a_newer_schema_is_said_to_be_newer_by_every_command(command: list[str], db: str) -> None:
    with closing(open_journal(db)) as journal, journal.database.transaction():
        journal.database.execute("UPDATE belated_meta SET value = ? WHERE name = 'schema'", (str(VERSION + 1),))
    ended = belated(*command, "--db", db)
    mistake(ended, f"has schema {VERSION + 1}, written by a newer belated")
    assert "start the server" not in ended.stderr


@pytest.mark.parametrize("command", [["import", "x.parquet"], ["keys", "create", "--role", "admin"]])
def test_keywords_of_postgresql_are_no_name_of_a_file(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for db in ("host=localhost dbname=bandits password=secret", "dbname=x", " user = me host=y"):
        ended = belated(*command, "--db", db)
        mistake(ended, "give postgresql://user@host:port/database")
        assert "secret" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_whose_name_looks_like_keywords_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_journal("./user=me.db").close()
    open_journal("user=me.db").close()


@pytest.mark.parametrize("command", [["serve", *OPEN], ["keys", "create", "--role", "admin"]])
def test_a_file_of_another_program_stays_as_it_is(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customers (name)")
    before = path.read_bytes()
    mistake(belated(*command, "--db", str(path)), "tables of another program (customers)")
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["other.db"]


def test_an_empty_file_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    open_journal(str(path)).close()


def test_what_is_refused_for_want_of_keys_leaves_nothing_behind(tmp_path: Path) -> None:
    db = tmp_path / "bandits.db"
    mistake(belated("serve", "--host", "0.0.0.0", "--port", "0", "--db", str(db)), "there are no keys")
    assert not list(tmp_path.iterdir())
    open_journal(str(db)).close()
    mistake(belated("serve", "--host", "0.0.0.0", "--port", "0", "--db", str(db)), "there are no keys")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nobody may write to a folder or to what is in it; root could, and is somebody else meanwhile."""
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if me == 0:
            os.seteuid(me)
        folder.chmod(0o755)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others than the tests' user can look into."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_database_that_cannot_be_written_is_verified(open_folder: Path) -> None:
    db = str(open_folder / "what? 100%.db")
    lived(db)
    with closing(open_journal(db)) as journal:
        verify(journal)  # what is imported and compiled for it is there then
    with read_only(open_folder):
        with pytest.raises(StorageError):
            open_journal(db, create=False)
        with closing(open_journal(db, create=False, read_only=True)) as journal:
            found = verify(journal)
            with pytest.raises(StorageError, match="readonly"):
                journal.touch(1)
    assert [(each.name, each.events, each.error) for each in found] == [("e", 1, None)]


def test_what_is_only_in_the_log_is_not_passed_over(open_folder: Path) -> None:
    """Where the log cannot be read, the database is not what was acknowledged."""
    db = open_folder / "bandits.db"
    lived(str(db))
    copy = open_folder / "copy"
    copy.mkdir()
    with closing(apsw.Connection(str(db))) as connection:
        connection.execute("INSERT INTO belated_meta (name, value) VALUES ('x', 'y')")
        for path in (db, Path(f"{db}-wal")):
            (copy / path.name).write_bytes(path.read_bytes())
    with read_only(copy), pytest.raises(StorageError, match=r"newest events are still in .*bandits\.db-wal"):
        open_journal(str(copy / db.name), create=False, read_only=True)
    with closing(open_journal(str(copy / db.name), create=False, read_only=True)) as journal:
        assert [each.error for each in verify(journal)] == [None]


def test_verify_and_the_list_of_keys_only_read(tmp_path: Path) -> None:
    db = tmp_path / "bandits.db"
    lived(str(db))
    before = db.read_bytes()
    assert belated("verify", "--db", str(db)).stdout == "e: 1 event, 1 decision: correct\n"
    assert belated("keys", "list", "--db", str(db)).returncode == 0
    assert db.read_bytes() == before


def test_the_backup_of_the_page_is_made_while_the_server_runs(tmp_path: Path) -> None:
    lines = re.findall(r"^python -m apsw .*$", SERVE.read_text(), re.MULTILINE)
    assert len(lines) == 1
    with hosting(str(tmp_path / "bandits.db")) as server, server.client() as http:
        assert http.post("/v1/experiments", json=ASKED).status_code == 201
        assert http.post("/v1/experiments/e/decisions", json={"count": 1000}).status_code == 201
        subprocess.run([sys.executable, *shlex.split(lines[0])[1:]], cwd=tmp_path, check=True)
        found = belated("verify", "--db", str(tmp_path / "backup.db"))
        assert (found.returncode, found.stdout) == (0, "e: 1,000 events, 1,000 decisions: correct\n")


# ---- what is said ----


def test_a_wrong_port_is_said_in_our_words() -> None:
    for command in ("serve", "demo"):
        for port in ("abc", "", "80.5", "65536", "9" * 30, "²"):
            mistake(belated(command, "--port", port), f"port is {port!r}; give a number from 0 to 65535.")


def test_the_demo_sees_first_whether_the_port_is_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = belated("demo", "--no-browser", "--port", port, "--db", str(tmp_path / "demo.db"))
    mistake(ended, f"cannot listen on 127.0.0.1 port {port}")
    assert not list(tmp_path.iterdir())


def test_an_export_without_events_makes_its_experiment(tmp_path: Path) -> None:
    db, other, file = (str(tmp_path / name) for name in ("bandits.db", "other.db", "e.parquet"))
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=ASKED).status_code == 201
        Path(file).write_bytes(http.get("/v1/experiments/e/export.parquet").content)
    assert belated("import", file, "--db", other).stdout == "e: created; the export has no events.\n"
    assert belated("import", file, "--db", other).stdout == "e: everything was already there.\n"
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments/e/decisions").status_code == 201
        Path(file).write_bytes(http.get("/v1/experiments/e/export.parquet").content)
    assert belated("import", file, "--db", other).stdout == "e: 1 event imported.\n"


def test_keys_are_listed_as_a_table(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    belated("keys", "create", "--role", "admin", "--name", "the-shop-window", "--db", db)
    belated("keys", "create", "--role", "reader", "--name", "x", "--db", db)
    belated("keys", "revoke", "x", "--db", db)
    head, first, second = belated("keys", "list", "--db", db).stdout.splitlines()
    assert head.split() == ["name", "role", "created", "revoked"]
    for word, cells in (("role", ("admin", "reader")), ("created", ("2", "2")), ("revoked", ("", "2"))):
        for line, cell in zip((first, second), cells, strict=True):
            assert line[head.index(word) :].startswith(cell)
    assert len(first.split()) == 3
    assert len(second.split()) == 4


def test_help_begins_with_what_there_is() -> None:
    intro = belated("--help").stdout.partition("Options")[0]
    assert "belated serve" in intro
    assert "belated demo" in intro


def test_every_line_of_the_log_is_json(tmp_path: Path) -> None:
    with serving(str(tmp_path / "bandits.db")) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"this is no HTTP\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400")
    lines = [line for line in server.lines if "; Ctrl-C ends it." not in line]
    found = [json.loads(line) for line in lines]
    line = next(line for line in found if line["event"] == "Invalid HTTP request received.")
    assert (line["level"], line["logger"]) == ("warning", "uvicorn.error")
    assert line["timestamp"].endswith("Z")


@pytest.mark.slow
def test_an_upload_that_stalls_holds_up_the_end_for_a_few_seconds(tmp_path: Path) -> None:
    server = start(str(tmp_path / "bandits.db"))
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            b"POST /v1/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n{"
        )
        for _ in range(3):  # the upload came before these
            with server.client() as http:
                assert http.get("/livez").status_code == 200
        begin = time.monotonic()
        assert server.end() == 0
    assert time.monotonic() - begin > 5.0
    assert all(line.startswith("{") or "Ctrl-C" in line for line in server.lines), server.lines


# ---- behind a proxy that speaks TLS ----

PUBLIC = "bandits.example"


def passed_on(block: str, inner: str) -> dict[str, str]:
    """The headers that nginx sends with these lines in its settings for a browser's request to ``https://PUBLIC``."""
    known = {"$http_host": PUBLIC, "$host": PUBLIC, "$scheme": "https"}
    found = {"Host": inner}  # what nginx sends if nothing is said
    for name, value in re.findall(r"proxy_set_header\s+(\S+)\s+(\S+);", block):
        found[name] = known[value]
    return found


def test_the_dashboard_is_entered_through_the_proxy_of_the_page(tmp_path: Path) -> None:
    block = re.findall(r"^```nginx\n(.*?)^```", SERVE.read_text(), re.MULTILINE | re.DOTALL)[0]
    assert "proxy_pass http://127.0.0.1:8000;" in block
    db = str(tmp_path / "bandits.db")
    with closing(open_journal(db)) as journal:
        key = make_key(journal, "reader", "reader")
    with hosting(db) as server:

        def log_in(headers: dict[str, str], origin: str) -> httpx2.Response:
            return httpx2.post(
                f"{server.url}/login", data={"key": key}, headers={**headers, "Origin": origin}, timeout=PATIENCE
            )

        inner = server.url.removeprefix("http://")
        entered = log_in(passed_on(block, inner), f"https://{PUBLIC}")
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        cookie = entered.headers["set-cookie"]
        assert {"Secure", "HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
        ticket = {"Cookie": cookie.partition(";")[0], **passed_on(block, inner)}
        assert httpx2.get(f"{server.url}/experiments.json", headers=ticket, timeout=PATIENCE).status_code == 200

        plain = log_in({"Host": inner}, server.url)
        assert plain.status_code == 303
        assert "Secure" not in plain.headers["set-cookie"]

        forgotten = log_in(passed_on("", inner), f"https://{PUBLIC}")
        assert forgotten.status_code == 403
        assert "must pass the Host header through" in forgotten.json()["detail"]
        assert "set-cookie" not in forgotten.headers
