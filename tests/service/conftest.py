"""Databases and servers for the tests of the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres import fresh, server
from serving import Server, serving


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server, up for the whole run."""
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database: a file, then one on the server."""
    if request.param == "sqlite":
        return str(tmp_path / "bandits.db")
    url: Any = request.getfixturevalue("postgres")
    return fresh(url)


@pytest.fixture
def served(db: str) -> Iterator[Server]:
    """A server on it."""
    with serving(db) as found:
        yield found
