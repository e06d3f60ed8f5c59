"""Databases and servers for the tests of the service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import pytest
from playwright.sync_api import Browser
from postgres import database, server
from refusals import COLOURS
from serving import LocalServer, hosting
from watching import chromium

from belated.errors import ApiError
from belated.service.api.routing import Router
from belated.service.demo import write_history

UNDECLARED: list[str] = []
"""What handlers of servers in this process were refused with, although their routes do not declare it."""


@pytest.fixture(scope="session", autouse=True)
def watched_routes() -> Iterator[None]:
    """Note problem types that a route does not declare."""
    dispatch = Router._dispatch

    async def watched(self: Router, routes: Any, request: Any) -> Any:
        try:
            return await dispatch(self, routes, request)
        except ApiError as error:
            route = routes["GET" if request.method == "HEAD" else request.method]
            if error.kind not in {each.kind for each in route.all_problem_types()}:
                UNDECLARED.append(f"{route.method} {route.path}: {error.kind}")
            raise

    with mock.patch.object(Router, "_dispatch", watched):
        yield


@pytest.fixture(autouse=True)
def only_declared_problem_types(watched_routes: None) -> Iterator[None]:
    """Fail a test in which a route refused a request with a problem type that it does not declare."""
    UNDECLARED.clear()
    yield
    assert not UNDECLARED


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server, up for the whole run."""
    with server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new, empty database: a file, then one on the server."""
    if request.param == "sqlite":
        yield str(tmp_path / "bandits.db")
    else:
        with database(request.getfixturevalue("postgres")) as url:
            yield url


@pytest.fixture
def served(db: str) -> Iterator[LocalServer]:
    """A server on it."""
    with hosting(db) as found:
        yield found


@pytest.fixture(scope="module")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with hosting(str(tmp_path_factory.mktemp("http") / "bandits.db")) as found:
        yield found


@pytest.fixture(scope="module")
def postgres_server(postgres: str) -> Iterator[LocalServer]:
    with database(postgres) as url, hosting(url) as found:
        yield found


@pytest.fixture(params=["sqlite_server", "postgres_server"])
def http(request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    """A client of a server that this file's tests share, on each database; it has the experiment ``colours``."""
    server: LocalServer = request.getfixturevalue(request.param)
    with server.client() as found:
        assert found.post("/v1/experiments", json=COLOURS).status_code in (200, 201)
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server on the demo's history, without its visitors."""
    db = str(tmp_path_factory.mktemp("demo") / "demo.db")
    write_history(db, seed=0)
    with hosting(db) as found:
        yield found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[LocalServer]:
    with hosting(str(tmp_path / "empty.db")) as found:
        yield found
