"""A PostgreSQL server of our own: made in a folder, started for a test, ended with it."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


def program(name: str) -> str:
    """A program of PostgreSQL's, from where Debian puts it or from the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    chosen = str(found[-1]) if found else shutil.which(name)
    assert chosen, f"this needs PostgreSQL's {name}; install it (Debian: postgresql)"
    return chosen


def _as_server(command: list[str]) -> list[str]:
    """PostgreSQL does not run as root; Debian's package brings a user for it."""
    other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return [*other, *command] if os.getuid() == 0 else command


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a server that is up within this context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="golden-pg-"))
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    control = [program("pg_ctl"), "-D", str(data), "-w", "-s"]
    made = [program("initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"]
    try:
        subprocess.run(_as_server(made), check=True, capture_output=True, cwd=folder)
        start = [*control, "-l", str(folder / "log"), "-o", options, "start"]
        subprocess.run(_as_server(start), check=True, capture_output=True, cwd=folder)
        url = f"postgresql://postgres@127.0.0.1:{port}"
        try:
            with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE golden")
            yield f"{url}/golden"
        finally:
            stop = [*control, "-m", "immediate", "stop"]
            subprocess.run(_as_server(stop), check=False, capture_output=True, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def dumped(url: str) -> str:
    """The database as SQL that any server takes: without what only psql, or only a newer server, understands."""
    command = [program("pg_dump"), "--no-owner", "--no-privileges", "--no-comments", "--rows-per-insert=100", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if not line.startswith(("\\", "--", "SET transaction_timeout"))]
    return "\n".join(line for line in lines if line.strip()) + "\n"


def restore(url: str, dump: Path) -> None:
    """Fill an empty database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(dump.read_text(encoding="utf-8"))  # type: ignore[arg-type]
