"""A PostgreSQL server of our own: made in a folder, started for the tests, ended with them."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


def program(name: str) -> str:
    """A program of PostgreSQL's, from the path or where Debian puts it."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    chosen = str(found[-1]) if found else shutil.which(name)
    assert chosen, f"the tests need PostgreSQL's {name}; install it (Debian: postgresql)"
    return chosen


def as_server(command: list[str]) -> list[str]:
    """PostgreSQL does not run as root; Debian's package brings a user for it."""
    return (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command] if os.getuid() == 0 else command
    )


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that is up within this context; its databases are ``fresh``'s."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="belated-pg-"))
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=200 -c fsync=off"
    control = [program("pg_ctl"), "-D", str(data), "-w", "-s"]
    try:
        initdb = [program("initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"]
        subprocess.run(as_server(initdb), check=True, capture_output=True, cwd=folder)
        start = [*control, "-l", str(folder / "log"), "-o", options, "start"]
        subprocess.run(as_server(start), check=True, capture_output=True, cwd=folder)
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}"
        finally:
            subprocess.run(
                as_server([*control, "-m", "immediate", "stop"]), check=False, capture_output=True, cwd=folder
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_EMPTIED: dict[str, list[str]] = {}
"""The databases of each server that were used and emptied: that is faster than to make new ones."""


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of an empty database that is nobody else's within this context."""
    emptied = _EMPTIED.setdefault(url, [])
    found = emptied.pop() if emptied else fresh(url)
    name = found.rpartition("/")[2]
    try:
        yield found
    finally:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        with psycopg.connect(found, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        emptied.append(found)


def fresh(url: str) -> str:
    """The URL of a new, empty database on the server."""
    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return f"{url}/{name}"
