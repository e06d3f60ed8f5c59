"""Servers for the tests of the client, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import fresh
from postgres import server as postgres_server
from serving import Server, serving


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server."""
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server on an empty database."""
    sqlite = request.param == "sqlite"
    with serving(str(tmp_path / "bandits.db") if sqlite else fresh(request.getfixturevalue("postgres"))) as server:
        yield server
