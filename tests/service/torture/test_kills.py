"""kill -9 under load, and SIGTERM: what was acknowledged is there, once. See torture/kills.py for the 500."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from clients import EXPERIMENT, Client, ask
from kills import EARLY, torture
from ledger import Ledger, compare
from postgres import fresh
from serving import start

from belated.service.storage.journal import open_journal


@pytest.mark.slow
def test_kills_on_sqlite_lose_nothing(tmp_path: Path) -> None:
    outcome = torture(str(tmp_path / "bandits.db"), 12, "1")
    assert (outcome.kills, outcome.lost, outcome.wrong) == (12, 0, 0), outcome.examples
    assert outcome.acknowledged > 12 * 50


@pytest.mark.slow
def test_kills_on_postgresql_lose_nothing(postgres: str) -> None:
    outcome = torture(fresh(postgres), 8, "1")
    assert (outcome.kills, outcome.lost, outcome.wrong) == (8, 0, 0), outcome.examples
    assert outcome.acknowledged > 8 * 50


@pytest.mark.slow
def test_a_server_that_acknowledges_before_the_commit_is_found_out(db: str) -> None:
    outcome = torture(db, 8, "1", EARLY)
    assert outcome.lost == 1, "the control lost nothing: the test sees nothing"


@pytest.mark.parametrize("seconds", [0.1, pytest.param(0.4, marks=pytest.mark.slow)])
def test_sigterm_under_load_finishes_commits(db: str, seconds: float) -> None:
    ledger = Ledger()
    server = start(db)
    assert ask(server.url, "POST", "/v1/experiments", EXPERIMENT)[0] == 201
    clients = [Client(number, random.Random(number), ledger).copy(server.url) for number in range(6)]
    for client in clients:
        client.start()
    while not any(client.acknowledged for client in clients):
        time.sleep(0.01)
    time.sleep(seconds)
    assert server.end() == 0
    for client in clients:
        client.join()
    assert len(ledger) > 0
    journal = open_journal(db, create=False)
    found = compare(journal, ledger)
    (stored,) = journal.experiments()
    snapshot = journal.snapshot(stored.id)
    journal.close()
    assert found.fine, str(found)
    assert snapshot is not None, "the end keeps a snapshot, so that the next start is short"
    assert snapshot[0] == found.events
