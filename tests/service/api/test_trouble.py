"""Trouble in one place stays there: damaged experiments, many readers, large metadata, journals that grow."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import pytest
import structlog
from refusals import COLOURS, for_each, refusal
from serving import hosting

from belated.service.core import writer
from belated.service.core.experiment import Experiment
from belated.service.core.verify import verify
from belated.service.storage.journal import Journal, open_journal

OTHER = {**COLOURS, "name": "other"}


def decide(http: httpx2.Client, name: str, **asked: Any) -> httpx2.Response:
    return http.post(f"/v1/experiments/{name}/decisions", json=asked)


# ---- one experiment is damaged ----


def damage(db: str, sql: str) -> None:
    with closing(open_journal(db)) as journal, journal.database.transaction():
        journal.database.execute(sql)


DAMAGES = [
    "UPDATE belated_events SET arm = (arm + 1) % 3 WHERE seq = 2 AND experiment = 1",
    "DELETE FROM belated_events WHERE seq = 2 AND experiment = 1",
    "UPDATE belated_events SET kind = 'dreamt' WHERE seq = 2 AND experiment = 1",
    """UPDATE belated_experiments SET spec = '{"arms": ["a"], "policy": {"name": "Gone"}}' WHERE id = 1""",
    "UPDATE belated_experiments SET spec = 'nonsense' WHERE id = 1",
]


@pytest.mark.parametrize("sql", DAMAGES)
def test_a_damaged_experiment_is_no_other_s_trouble(db: str, sql: str) -> None:
    with hosting(db) as server, server.client() as http:
        for spec in (COLOURS, OTHER):
            assert http.post("/v1/experiments", json=spec).status_code == 201
            assert decide(http, spec["name"], id=f"{spec['name']} 1", count=3).status_code == 201
    damage(db, "DELETE FROM belated_snapshots")
    damage(db, sql)
    with structlog.testing.capture_logs() as log, hosting(db) as server, server.client() as http:
        for _ in range(2):
            told = http.get("/v1/experiments").json()
            assert ([each["name"] for each in told["experiments"]], told["damaged"]) == (["other"], ["colours"])
            detail = refusal(http.get("/v1/experiments/colours"), 500, "experiment-damaged")
            assert "belated verify" in detail
            refusal(decide(http, "colours"), 500, "experiment-damaged")
            assert decide(http, "other").status_code == 201
        assert "belated_experiments_damaged 1.0" in http.get("/metrics").text
        assert http.get("/readyz").status_code == 200
        index = http.get("/", headers={"Accept": "text/html"}).text
        assert "Cannot be read: <strong>colours</strong>" in index
        assert http.get("/experiments.json").json()["damaged"] == ["colours"]
        found = [line for line in log if line["event"] == "experiment cannot be read"]
        assert len(found) == 1, "it is not tried again and again"


def test_a_damaged_experiment_that_is_mended_is_read_again_with_its_next_event(db: str) -> None:
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        assert decide(http, "colours", id="one").status_code == 201
    damage(db, "DELETE FROM belated_snapshots")
    damage(db, "UPDATE belated_events SET number = 7")
    with hosting(db) as server, server.client() as http:
        refusal(http.get("/v1/experiments/colours"), 500, "experiment-damaged")
        damage(db, "UPDATE belated_events SET number = 0")
        damage(db, "INSERT INTO belated_events (experiment, seq, kind, at) VALUES (1, 2, 'stopped', 9000000000000000)")
        assert http.get("/v1/experiments/colours").json()["status"] == "stopped"
        assert http.get("/v1/experiments").json()["damaged"] == []


# ---- many readers ----


def test_bursts_of_readers_do_not_pile_up(db: str) -> None:
    """A thread pool ends threads that rest; the connections that they read with are used by the next ones."""
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        service, opened = server.service, []
        with mock.patch.object(service.writer.journal, "reader", side_effect=service.writer.journal.reader) as reader:
            for _ in range(3):
                barrier = threading.Barrier(8)

                def read(_: int, barrier: threading.Barrier = barrier) -> str:
                    with service.reader() as journal:
                        barrier.wait()  # all of them read at once
                        return str(journal.experiments()[0].name)

                with ThreadPoolExecutor(8) as pool:  # its threads end with it
                    assert set(pool.map(read, range(8))) == {"colours"}
                opened.append(reader.call_count)
        assert opened[0] <= 8
        assert opened == [opened[0]] * 3


# ---- metadata ----


def test_metadata_is_short(http: httpx2.Client) -> None:
    assert decide(http, "colours", metadata={"text": "x" * 16_000}).status_code == 201
    detail = refusal(decide(http, "colours", metadata={"text": "x" * 17_000}), 422, "invalid-body")
    assert "16,384" in detail
    assert decide(http, "colours", metadata={"text": "x" * 1_000}, count=1000).status_code == 201
    detail = refusal(decide(http, "colours", metadata={"text": "x" * 1_100}, count=1000), 422, "invalid-body")
    assert "1,048,576" in detail


def test_pages_of_events_come_in_parts_and_whole(http: httpx2.Client) -> None:
    name = {**COLOURS, "name": "paged"}
    http.post("/v1/experiments", json=name)
    for _ in range(2):
        assert decide(http, "paged", count=400).status_code == 201
    cursor, seen = 0, []
    for limit in (1, 249, 250, 251, 1000):
        answer = http.get(f"/v1/experiments/paged/events?cursor={cursor}&limit={limit}")
        lines = answer.text.splitlines()
        assert len(lines) <= limit
        seen += [int(line.partition('"seq":')[2].partition(",")[0]) for line in lines]
        cursor = int(answer.headers["Belated-Cursor"])
        assert cursor == len(seen)
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) >= 800
    end = http.get(f"/v1/experiments/paged/events?cursor={cursor}")
    assert (end.text, end.headers["Belated-Cursor"]) == ("", str(cursor))
    refusal(http.get(f"/v1/experiments/paged/events?cursor={cursor + 1}"), 409, "cursor-ahead")


# ---- a journal that grows while it is looked through ----


def test_verify_beside_a_server_at_work(db: str) -> None:
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json={**COLOURS, "policy": {"name": "UCB"}}).status_code == 201
        assert decide(http, "colours", count=1000).status_code == 201
        stop = threading.Event()

        def write() -> None:
            with server.client() as writing:
                while not stop.is_set():
                    decide(writing, "colours", count=20)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            with closing(open_journal(db, create=False)) as journal:
                seen = verify(journal)
                while len(seen) < 5 or (seen[-1].events == seen[0].events and len(seen) < 500):
                    seen += verify(journal)
        finally:
            stop.set()
            thread.join()
    assert {each.error for each in seen} == {None}
    assert seen[-1].events > seen[0].events, "nothing was written meanwhile"


def test_verify_sees_a_silence_that_was_passed_over(db: str) -> None:
    spec = {**COLOURS, "silence": {"after": 3600.0, "reward": 0.0}}
    with hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=spec).status_code == 201
        assert decide(http, "colours", id="one").status_code == 201
    with closing(open_journal(db)) as journal:
        assert [each.error for each in verify(journal)] == [None]
        _pass_over(journal)
        (found,) = verify(journal)
    assert "still to be imputed" in str(found.error)


def _pass_over(journal: Journal) -> None:
    from belated.service.core.experiment import restore

    stored = journal.experiment("colours")
    assert stored is not None
    experiment = restore(journal, stored)
    experiment.swept = 2**60
    with journal.database.transaction():
        journal.save_snapshot(stored.id, experiment.seq, experiment.save())


# ---- what a page from elsewhere sends ----


def test_an_odd_origin_is_another_origin(http: httpx2.Client) -> None:
    def check(origin: str) -> None:
        refusal(http.get("/v1/experiments", headers={"Origin": origin}), 403, "other-origin")
        answer = http.post("/login", headers={"Origin": origin}, data={"key": "x"})
        assert answer.status_code == 403

    for_each(["http://[x", "http://]", "null", "http://evil.example", "://", "http://[::1"], check)


def test_two_servers_on_one_file(tmp_path: Path) -> None:
    """Each sees what the other wrote."""
    db = str(tmp_path / "bandits.db")
    with hosting(db) as one, hosting(db) as two, one.client() as first, two.client() as second:
        assert first.post("/v1/experiments", json=COLOURS).status_code == 201
        for number in range(20):
            assert decide((first, second)[number % 2], "colours", id=str(number)).status_code == 201
        assert first.get("/v1/experiments/colours").json()["pulls"] == 20
        assert second.get("/v1/experiments/colours").json()["pulls"] == 20


# ---- the file ----


def test_a_file_that_was_taken_away_is_not_written_into_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bandits.db"
    with hosting(str(path)) as server, server.client() as http:
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        for name in ("bandits.db", "bandits.db-wal", "bandits.db-shm"):
            (tmp_path / name).rename(tmp_path / f"kept-{name}")
        refusal(decide(http, "colours"), 503, "storage")
        refusal(http.get("/readyz"), 503, "storage")
        refusal(http.get("/v1/experiments/colours/events"), 503, "storage")
        assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("kept-")] == []
        for name in ("bandits.db", "bandits.db-wal", "bandits.db-shm"):
            (tmp_path / f"kept-{name}").rename(tmp_path / name)
        assert decide(http, "colours").status_code == 201


def test_a_clean_end_leaves_one_file(tmp_path: Path) -> None:
    """A copy of the file of a server that has ended is all of it."""
    path = tmp_path / "bandits.db"
    with hosting(str(path)) as server, server.client() as http:
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        assert decide(http, "colours", count=7).status_code == 201
        for place in ("/v1/experiments/colours/events", "/", "/experiments/colours"):
            assert http.get(place).status_code == 200
    assert [each.name for each in tmp_path.iterdir()] == ["bandits.db"]
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    with closing(open_journal(str(copy), create=False)) as journal:
        assert [(each.events, each.error) for each in verify(journal)] == [(7, None)]


def test_where_the_database_is_is_not_told_to_callers(tmp_path: Path) -> None:
    path = tmp_path / "secret-place.db"
    with (
        structlog.testing.capture_logs() as log,
        hosting(str(path)) as server,
        server.client() as http,
    ):
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        path.rename(tmp_path / "elsewhere.db")
        for answer in (http.get("/readyz"), decide(http, "colours"), http.get("/v1/experiments")):
            assert "secret-place" not in refusal(answer, 503, "storage")
        assert any("secret-place" in str(line) for line in log)


# ---- who stopped it ----


def test_a_bandit_that_moves_does_not_resume_what_somebody_stopped(http: httpx2.Client) -> None:
    name = "stopped-by-hand"
    spec = {"arms": COLOURS["arms"], "policy": {"name": "UCB", "confidence": 1.0}, "seed": 0}
    assert http.post("/v1/experiments", json={**spec, "name": name}).status_code == 201
    assert decide(http, name).json()["arm"] == "red"
    assert http.post(f"/v1/experiments/{name}/stop").json()["status"] == "stopped"
    next_one = {**spec, "decisions": [1], "answers": [], "after": 1, "first": 1}  # UCB pulls green next
    refusal(http.post(f"/v1/experiments/{name}/history", json=next_one), 409, "experiment-stopped")
    told = http.get(f"/v1/experiments/{name}").json()
    assert (told["status"], told["pulls"]) == ("stopped", 1)
    assert http.post(f"/v1/experiments/{name}/resume").json()["status"] == "running"
    assert http.post(f"/v1/experiments/{name}/history", json=next_one).status_code == 201


def test_a_snapshot_that_cannot_be_made_stops_nobody(db: str) -> None:
    def fail(*_: object) -> bytes:
        raise TypeError("this state cannot be saved")

    with (
        mock.patch.object(writer, "SNAPSHOT_EVERY", 1),
        mock.patch.object(Experiment, "save", fail),
        structlog.testing.capture_logs() as log,
        hosting(db) as server,
        server.client() as http,
    ):
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        for _ in range(3):
            assert decide(http, "colours").status_code == 201
    assert "snapshot" in {entry["event"] for entry in log}
