"""Servers for the tests of the client, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres import fresh
from postgres import server as postgres_server
from serving import LocalServer, hosting


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that this file's tests share, on each database."""
    if request.param == "sqlite":
        with hosting(str(tmp_path_factory.mktemp("served") / "bandits.db")) as found:
            yield found
    else:
        with postgres_server() as url, hosting(fresh(url)) as found:
            yield found
