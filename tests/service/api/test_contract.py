"""What the service asks of its storage, of both databases alike; and what it says of itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any
from unittest import mock

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import LocalServer
from starlette.exceptions import HTTPException

from belated.errors import DuplicateError, StorageError
from belated.service import app
from belated.service.api import ROUTES, openapi
from belated.service.app import make_app
from belated.service.core import writer
from belated.service.core.service import Service
from belated.service.storage.events import Event, Kind
from belated.service.storage.journal import Journal, open_journal

ASKED = {"name": "e", "arms": ["a", "b"], "policy": {"name": "UCB"}}


@pytest.fixture
def journal(db: str) -> Iterator[Journal]:
    with closing(open_journal(db)) as found:
        yield found


def decided(seq: int, id: str, at: int = 0) -> Event:
    return Event(seq, Kind.DECIDED, at or seq, id=id, number=seq - 1, arm=0, rank=seq - 1, deadline=2**60)


# ---- storage ----


def test_what_is_written_is_read_to_the_bit(journal: Journal) -> None:
    events = [
        decided(1, "x" * 128),
        Event(2, Kind.OBSERVED, 2**62, id="x" * 128, number=0, arm=0, rank=0, reward=5e-324, extra='{"a":"\\u0000🟢"}'),
        decided(3, "'; DROP TABLE belated_events; -- % ? \\ \"", 2**62),
        Event(4, Kind.OBSERVED, 2**62, id="'; DROP TABLE belated_events; -- % ? \\ \"", reward=1 / 3),
    ]
    with journal.database.transaction():
        stored = journal.create("e", "spec %s ? %", 7)
        journal.append([(stored.id, event) for event in events])
    assert list(journal.events(stored.id)) == events
    assert journal.events_after(stored.id, 2) == events[2:]
    assert list(journal.events(stored.id, 1, 2)) == events[1:3]
    assert journal.last(stored.id) == 4
    assert journal.experiment("e") == stored == journal.experiment_by_id(stored.id)
    found = journal.events_of_decisions([str(events[2].id), "nobody"])
    assert found == {events[2].id: [(stored.id, events[2]), (stored.id, events[3])], "nobody": []}


def failing(work: Callable[[], None]) -> None:
    work()
    raise ZeroDivisionError


def test_a_transaction_is_whole_or_nothing(journal: Journal) -> None:
    with journal.database.transaction():
        stored = journal.create("e", "{}", 0)
    with pytest.raises(ZeroDivisionError), journal.database.transaction():
        failing(lambda: journal.append([(stored.id, decided(1, "a"))]))
    assert list(journal.events(stored.id)) == []
    with journal.database.transaction():
        journal.append([(stored.id, decided(1, "a"))])
    assert journal.last(stored.id) == 1


@pytest.mark.parametrize("again", [decided(1, "b"), decided(2, "a")], ids=["a place", "an id"])
def test_nothing_is_written_twice(journal: Journal, again: Event) -> None:
    with journal.database.transaction():
        stored = journal.create("e", "{}", 0)
        journal.append([(stored.id, decided(1, "a"))])
    with pytest.raises(DuplicateError), journal.database.transaction():
        journal.append([(stored.id, decided(2, "c")), (stored.id, again)])
    assert [event.id for event in journal.events(stored.id)] == ["a"]


def test_pending_is_what_has_no_answer(journal: Journal) -> None:
    with journal.database.transaction():
        first, second = journal.create("e", "{}", 0), journal.create("f", "{}", 0)
        journal.append([(first.id, decided(seq, f"e{seq}")) for seq in range(1, 6)])
        journal.append([(second.id, decided(1, "f1"))])
        journal.append([(first.id, Event(6, Kind.OBSERVED, 6, id="e1", reward=1.0))])
        journal.append([(first.id, Event(7, "cancelled", 7, id="e3"))])
        journal.append([(first.id, Event(8, "imputed", 8, id="e4", reward=0.0))])
    assert [event.id for event in journal.pending(first.id)] == ["e2", "e5"]
    assert [event.id for event in journal.pending(first.id, 2)] == ["e5"]
    assert [event.id for event in journal.pending(first.id, 0, 1)] == ["e2"]
    assert [event.id for event in journal.pending(second.id)] == ["f1"]


def test_a_snapshot_is_not_replaced_by_an_older_one(journal: Journal) -> None:
    with journal.database.transaction():
        stored = journal.create("e", "{}", 0)
        assert journal.snapshot(stored.id) is None
        for seq, data in ((5, b"\x00five"), (3, b"three"), (7, b"seven\xff"), (6, b"six")):
            journal.save_snapshot(stored.id, seq, data)
    assert journal.snapshot(stored.id) == (7, b"seven\xff")


def test_a_reader_sees_what_is_committed_and_cannot_write(journal: Journal) -> None:
    with closing(journal.reader()) as reader:
        with journal.database.transaction():
            stored = journal.create("e", "{}", 0)
            assert reader.experiment("e") is None
        assert reader.experiment("e") == stored
        with pytest.raises(StorageError):
            reader.touch(1)


def test_a_journal_that_is_not_there_is_not_made(db: str) -> None:
    with pytest.raises(StorageError):
        open_journal(db, create=False)
    open_journal(db).close()
    open_journal(db, create=False).close()


# ---- the application in this process ----


def asked(db: str, work: Callable[[httpx2.AsyncClient], Any]) -> Any:
    """What comes of requests to an application in this process."""

    async def run() -> Any:
        service = Service(lambda: open_journal(db))
        application = make_app(service)
        service.start()
        transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
        try:
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                return await work(http)
        finally:
            await asyncio.to_thread(service.stop)

    return asyncio.run(run())


def test_a_full_queue_is_told(db: str) -> None:
    async def work(http: httpx2.AsyncClient) -> None:
        assert (await http.post("/v1/experiments", json=ASKED)).status_code == 201
        with mock.patch.object(writer, "MAX_QUEUE", 0):
            for answer in (await http.post("/v1/experiments/e/decisions"), await http.get("/readyz")):
                assert (answer.status_code, answer.json()["type"]) == (503, "urn:belated:problem:busy")
                assert answer.headers["retry-after"] == "1"
                assert answer.headers["content-type"] == "application/problem+json"
            batch = await http.post("/v1/feedback", json={"feedback": [{"id": "x", "reward": 1}]})
            assert (batch.status_code, batch.headers["retry-after"]) == (503, "1")
            assert (await http.get("/livez")).status_code == 200
        assert (await http.post("/v1/experiments/e/decisions")).status_code == 201

    asked(db, work)


def test_a_broken_handler_is_unforeseen(db: str) -> None:
    async def broken(_: Any) -> Any:
        raise RuntimeError("secret detail")

    routes = [replace(route, handler=broken) for route in ROUTES]

    async def work(http: httpx2.AsyncClient) -> None:
        for path in ("/livez", "/v1/experiments"):
            answer = await http.get(path)
            assert (answer.status_code, answer.json()["type"]) == (500, "urn:belated:problem:unforeseen")
            assert answer.headers["content-type"] == "application/problem+json"
            assert "secret" not in answer.text

    with mock.patch.object(app, "ROUTES", routes):
        asked(db, work)


def test_a_broken_page_is_unforeseen(db: str) -> None:
    async def work(http: httpx2.AsyncClient) -> None:
        answer = await http.get("/openapi.json")
        assert (answer.status_code, answer.json()["type"]) == (500, "urn:belated:problem:unforeseen")
        assert answer.headers["content-type"] == "application/problem+json"
        assert "secret" not in answer.text

    with mock.patch.object(openapi, "document_json", side_effect=RuntimeError("secret detail")):
        asked(db, work)


def test_an_error_of_starlette_keeps_its_status(db: str) -> None:
    async def work(http: httpx2.AsyncClient) -> None:
        answer = await http.get("/openapi.json")
        assert (answer.status_code, answer.headers["content-type"]) == (429, "application/problem+json")
        assert answer.headers["x-reason"] == "load"
        told = {"type": "about:blank", "title": "Too Many Requests", "status": 429, "detail": "come back later"}
        assert answer.json() == told

    error = HTTPException(429, "come back later", {"X-Reason": "load"})
    with mock.patch.object(openapi, "document_json", side_effect=error):
        asked(db, work)


# ---- metrics ----


def samples(http: httpx2.Client) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_metrics_count_what_happens(served: LocalServer) -> None:
    with served.client() as http:
        http.post("/v1/experiments", json=ASKED)
        silent = {**ASKED, "name": "s", "silence": {"after": 0.001, "reward": 0}}
        http.post("/v1/experiments", json=silent)
        http.post("/v1/experiments/e/decisions", json={"id": "d", "count": 5})
        http.post("/v1/experiments/e/decisions", json={"id": "d", "count": 5})
        http.post("/v1/experiments/s/decisions", json={"id": "late"})
        for reward in (1, 1, 0):
            http.post("/v1/decisions/d.0/feedback", json={"reward": reward})
        http.post("/v1/feedback", json={"feedback": [{"id": "nobody", "reward": 1}, {"id": "d.1", "reward": 0}]})
        http.post("/v1/decisions/d.2/cancel")
        for _ in range(1000):
            found = samples(http)
            if found.get(("belated_imputed_total", ("s",))):
                break
            time.sleep(0.01)
        http.post("/v1/decisions/late/feedback", json={"reward": 1})
        found = samples(http)
    assert found["belated_decisions_total", ("e",)] == 5
    assert found["belated_feedback_total", ("e", "observed")] == 2
    assert found["belated_feedback_total", ("e", "duplicate")] == 1
    assert found["belated_feedback_total", ("e", "conflict")] == 1
    assert found["belated_feedback_total", ("s", "late")] == 1
    assert found["belated_feedback_unknown_total", ()] == 1
    assert found["belated_imputed_total", ("s",)] == 1
    assert found["belated_pending", ("e",)] == 2
    assert found["belated_pending", ("s",)] == 0
    assert 0.0 < found["belated_oldest_pending_seconds", ("e",)] < 600.0
    assert found["belated_oldest_pending_seconds", ("s",)] == 0.0
    assert found["belated_feedback_delay_seconds_count", ("e",)] == 2
    assert found["belated_commit_seconds_count", ()] > 0
    assert found["belated_commit_seconds_sum", ()] > 0.0
    assert found["belated_events_total", ()] == 5 + 2 + 1 + 1 + 1 + 1
