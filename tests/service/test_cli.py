"""The commands of the service, and how a server begins and ends."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import structlog
from postgres import as_server, fresh, program
from postgres import server as postgres_server
from serving import PATIENCE, Server, serving, start
from typer.testing import CliRunner

from belated.cli import app
from belated.service.auth import hash_key
from belated.service.storage.database import without_password
from belated.service.storage.journal import open_journal

ASKED = {"name": "e", "arms": ["a", "b"], "policy": {"name": "UCB"}}


class Ended(NamedTuple):
    """What became of a command."""

    returncode: int
    stdout: str
    stderr: str


def belated(*arguments: str, **surroundings: str) -> Ended:
    """Run a command to its end, in this process."""
    try:
        found = CliRunner().invoke(app, arguments, env=surroundings)
    finally:
        structlog.reset_defaults()
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return Ended(found.exit_code, found.stdout, found.stderr)


def mistake(ended: Any, said: str) -> None:
    """It ended with a message, not with a traceback."""
    assert ended.returncode == 2, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


# ---- keys ----


def test_keys_are_made_listed_and_revoked(db: str) -> None:
    made = belated("keys", "create", "--role", "writer", "--db", db)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert key.startswith("bel_")
    assert "writer-1" in made.stderr
    assert key not in made.stderr
    again = belated("keys", "create", "--role", "admin", "--name", "boss", BELATED_DB=db)
    assert again.returncode == 0
    assert again.stdout.strip() != key
    listed = belated("keys", "list", "--db", db)
    assert re.search(r"^writer-1 +writer +2\S+$", listed.stdout, re.MULTILINE)
    assert re.search(r"^boss +admin +2\S+$", listed.stdout, re.MULTILINE)
    assert key not in listed.stdout + listed.stderr
    assert hash_key(key) not in listed.stdout
    assert belated("keys", "revoke", "boss", "--db", db).returncode == 0
    after = belated("keys", "list", "--db", db).stdout
    assert re.search(r"^boss +admin +2\S+ +2\S+$", after, re.MULTILINE)
    mistake(belated("keys", "revoke", "boss", "--db", db), "there is no active key 'boss'")
    assert belated("keys", "create", "--role", "reader", "--name", "boss", "--db", db).returncode == 0


def test_a_name_that_is_free_is_found(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    assert belated("keys", "create", "--role", "writer", "--name", "writer-2", "--db", db).returncode == 0
    made = belated("keys", "create", "--role", "writer", "--db", db)
    assert made.returncode == 0
    assert "writer-" in made.stderr


def test_wrong_keys_are_mistakes(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    mistake(
        belated("keys", "create", "--role", "king", "--db", db), "role is 'king'; give one of reader, writer, admin"
    )
    assert not Path(db).exists()
    mistake(belated("keys", "list", "--db", db), "there is no such file")
    mistake(belated("keys", "revoke", "x", "--db", db), "there is no such file")
    mistake(belated("keys", "create", "--role", "admin", "--name", "a b", "--db", db), "name is 'a b'; give 1 to 64")
    belated("keys", "create", "--role", "admin", "--name", "x", "--db", db)
    mistake(belated("keys", "create", "--role", "admin", "--name", "x", "--db", db), "there is already a key 'x'")


# ---- databases ----


def test_databases_that_cannot_be(tmp_path: Path) -> None:
    mistake(belated("serve", "--db", str(tmp_path / "no" / "x.db")), "there is no folder")
    mistake(belated("serve", "--db", "mysql://x/y"), "give a path for SQLite, or postgresql://")
    mistake(belated("serve", "--db", str(tmp_path)), "cannot be opened")
    text = tmp_path / "text.db"
    text.write_text("this is no database, but a text that is long enough to be seen as one" * 50)
    mistake(belated("serve", "--db", str(text)), "cannot be opened")
    mistake(belated("verify", "--db", str(tmp_path / "nothing.db")), "there is no such file")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE x (y)")
    connection.close()
    mistake(belated("verify", "--db", str(other)), "is not a database of belated")


def test_a_server_that_cannot_be_reached() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        ended = belated("serve", "--db", f"postgresql://me:secret@127.0.0.1:{port}/x")
    mistake(ended, "cannot be reached")
    assert "secret" not in ended.stderr
    assert "me:***@" in ended.stderr
    mistake(belated("serve", "--db", "postgresql://[broken"), "error: ")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("bandits.db", None),
        ("/data/what?.db", None),
        ("postgresql://me@h:5432/db?application_name=a@b&sslmode=require", None),
        ("postgresql://me:secret@h/db", "postgresql://me:***@h/db"),
        ("postgresql://:secret@[::1]:5432/db", "postgresql://:***@[::1]:5432/db"),
        ("postgresql://me:%73ecret@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:sec@ret@h/db", "postgresql://me:***@h/db"),
        ("postgresql://me:sec:r/e?t@h/db?x=y", "postgresql://me:***@h/db?x=y"),
        ("postgresql://h/db?user=me&password=secret", "postgresql://h/db?user=me&password=***"),
        ("postgresql://h/db?password=sec%40r@et&user=me", "postgresql://h/db?password=***&user=me"),
        ("postgresql://h:5432/db?password=a@secret", "postgresql://h:5432/db?password=***"),
        ("postgresql://h/db?pass%77ord=secret&sslpassword=secret", "postgresql://h/db?pass%77ord=***&sslpassword=***"),
        ("postgresql://me:secret@h/db?password=secret", "postgresql://me:***@h/db?password=***"),
        ("mysql://me:secret@h/db", "mysql://me:***@h/db"),
        ("host=h password=secret user=me", "host=h password=*** user=me"),
        ("password = 'sec \\' ret' host=h", "password = *** host=h"),
    ],
)
def test_passwords_are_not_shown(given: str, shown: str | None) -> None:
    assert without_password(given) == (shown or given)


@pytest.mark.parametrize("command", [["serve"], ["verify"], ["keys", "list"], ["demo", "--no-browser", "--port", "0"]])
def test_passwords_are_in_no_message(command: list[str], postgres: str) -> None:
    place = postgres.rpartition("@")[2]
    unreachable = f"postgresql://{place}/nothing?user=postgres&password=secret"
    for db in ("mysql://me:secret@h/db", "mysql://h/db?password=secret", unreachable):
        ended = belated(*command, "--db", db)
        mistake(ended, without_password(db))
        assert "secret" not in ended.stderr + ended.stdout
    empty = fresh(postgres).replace("postgres@", "postgres:secret@")
    if command[0] in ("verify", "keys"):
        ended = belated(*command, "--db", empty)
        mistake(ended, "is not a database of belated")
        assert "postgres:***@" in ended.stderr
        assert "secret" not in ended.stderr + ended.stdout


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = belated("serve", "--db", str(tmp_path / "bandits.db"), "--port", port)
    mistake(ended, f"cannot listen on 127.0.0.1 port {port}")
    mistake(belated("serve", "--db", str(tmp_path / "bandits.db"), "--port", "65536"), "port is '65536'")


# ---- beginning and ending ----


def test_the_end_is_asked_for_and_all_is_kept(db: str) -> None:
    server = start(db)
    told: list[str] = []

    def load() -> None:
        with server.client() as http:
            try:
                while True:
                    made = http.post("/v1/experiments/e/decisions")
                    if made.status_code != 201:
                        assert made.status_code == 503
                        return
                    told.append(made.json()["id"])
            except httpx2.TransportError:
                return

    with server.client() as http:
        assert http.post("/v1/experiments", json=ASKED).status_code == 201
    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(told) <= 10:
        time.sleep(0.02)
    assert server.end() == 0
    for thread in threads:
        thread.join()
    assert "Traceback" not in "".join(server.lines)
    journal = open_journal(db)
    kept = [event.id for event in journal.events(1)]
    snapshot = journal.snapshot(1)
    journal.close()
    assert len(kept) == len(set(kept))
    assert set(told) <= set(kept)
    assert snapshot is not None
    assert snapshot[0] == len(kept)
    found = belated("verify", "--db", db)
    assert (found.returncode, found.stdout) == (
        0,
        f"e: {len(kept):,} events, {len(kept):,} decisions: correct\n",
    )


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    server = start(str(tmp_path / "bandits.db"))
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=PATIENCE) in (0, 130)
    assert server.reading is not None
    server.reading.join()
    assert server.process.stderr is not None
    server.process.stderr.close()
    assert "Traceback" not in "".join(server.lines)


def test_a_database_without_experiments_is_as_it_should_be(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    open_journal(db).close()
    ended = belated("verify", "--db", db)
    assert (ended.returncode, ended.stdout) == (0, "there are no experiments.\n")


def test_help_names_every_command() -> None:
    text = belated("--help").stdout
    assert all(f" {name} " in text for name in ("serve", "verify", "import", "keys"))
    assert "BELATED_DB" in belated("serve", "--help").stdout


# ---- a disk that takes no more ----


def limit(server: Server, size: int) -> None:
    """Files of the server's process may not grow beyond a size."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def test_a_full_disk_is_told_and_nothing_is_acknowledged(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    with serving(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=ASKED).status_code == 201
        assert http.post("/v1/experiments/e/decisions", json={"id": "before"}).status_code == 201
        assert http.get("/readyz").json() == {"status": "ready"}
        limit(server, 1)
        for path in ("/readyz", "/v1/experiments/e/decisions"):
            answer = http.get(path) if path == "/readyz" else http.post(path, json={"id": "lost"})
            assert (answer.status_code, answer.json()["type"]) == (503, "urn:belated:problem:storage")
            assert answer.headers["retry-after"] == "1"
            assert answer.headers["content-type"] == "application/problem+json"
        assert http.get("/livez").json() == {"status": "alive"}
        limit(server, resource.RLIM_INFINITY)
        assert http.get("/readyz").status_code == 200
        assert http.get("/v1/decisions/lost").status_code == 404
        assert http.post("/v1/experiments/e/decisions", json={"id": "lost"}).status_code == 201
        assert http.get("/v1/experiments/e").json()["decisions"] == 2


def test_a_postgresql_that_goes_and_comes_back() -> None:
    with postgres_server() as url:
        db = fresh(url)
        data = next(
            Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0-D\0")[1].split(b"\0")[0].decode()
            for process in os.listdir("/proc")
            if process.isdigit()
            and url.rpartition(":")[2].encode() in cmdline(process)
            and b"\0-D\0" in cmdline(process)
        )
        control = [program("pg_ctl"), "-D", data, "-w", "-s"]
        with serving(db) as server, server.client() as http:
            assert http.post("/v1/experiments", json=ASKED).status_code == 201
            assert http.get("/readyz").status_code == 200
            options = Path(data, "postmaster.opts").read_text().split(maxsplit=1)[1].replace('"', "")
            options = options.replace(f"-D {data}", "")
            subprocess.run(as_server([*control, "-m", "immediate", "stop"]), check=True, cwd="/")
            for _ in range(2):
                answer = http.get("/readyz")
                assert (answer.status_code, answer.json()["type"]) == (503, "urn:belated:problem:storage")
                assert http.post("/v1/experiments/e/decisions", json={"id": "x"}).status_code == 503
            assert http.get("/livez").status_code == 200
            # until keys were read again, in vain
            while not any("background task failed, will retry" in line for line in server.lines):
                time.sleep(0.05)
            assert http.get("/livez").status_code == 200
            log = Path(data).parent / "log"
            subprocess.run(as_server([*control, "-l", str(log), "-o", options, "start"]), check=True, cwd="/")
            end = time.monotonic() + PATIENCE
            while http.get("/readyz").status_code != 200:
                assert time.monotonic() < end
                time.sleep(0.05)
            assert http.post("/v1/experiments/e/decisions", json={"id": "x"}).status_code == 201
            for path in ("events", "delays", "export.parquet"):
                assert http.get(f"/v1/experiments/e/{path}").status_code == 200
            assert http.get("/metrics").status_code == 200
        assert all(json.loads(line) for line in server.lines if line.startswith("{"))


def cmdline(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("serve", ("starlette", "apsw", "uvicorn", "msgspec")),
        ("verify", ("apsw", "msgspec")),
        ("keys create --role admin", ("apsw", "msgspec")),
        ("import x.parquet", ("apsw", "msgspec")),
        ("import x.parquet", ("pyarrow",)),
        ("demo --no-browser --port 0", ("starlette", "apsw", "uvicorn", "msgspec")),
        ("demo --no-browser --port 0", ("httpx2",)),
    ],
)
def test_what_is_missing_is_named(command: str, missing: tuple[str, ...], tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {missing!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from belated.cli import main\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *command.split(), "--db", str(tmp_path / "x.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    mistake(ended, "pip install 'belated[service]'")
