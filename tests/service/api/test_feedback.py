"""Feedback to the letter: in a batch each item is taken or refused for itself, and times and numbers are what they
are said to be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import httpx2
from refusals import COLOURS, for_each, refusal

from belated.service.api import openapi
from belated.service.app import make_app
from belated.service.core import writer
from belated.service.core.service import Service
from belated.service.core.transaction import Operation
from belated.service.storage.journal import open_journal

JSON = {"Content-Type": "application/json"}
DECISIONS = "/v1/experiments/colours/decisions"


def made(http: httpx2.Client, count: int) -> list[str]:
    """The ids of new decisions."""
    return [each["id"] for each in http.post(DECISIONS, json={"count": count}).json()["decisions"]]


def told(http: httpx2.Client, *items: Any) -> list[dict[str, Any]]:
    """What became of each feedback of a batch."""
    answer = http.post("/v1/feedback", json={"feedback": items})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def kind_of(result: dict[str, Any]) -> str:
    return str(result["type"]).removeprefix("urn:belated:problem:")


# ---- batches ----


def test_a_bad_item_is_refused_for_itself(http: httpx2.Client) -> None:
    one, two, three = made(http, 3)
    results = told(http, {"id": one, "reward": 1}, {"id": two, "reward": 2}, {"id": three, "reward": 0})
    assert [(each["id"], each["status"]) for each in results] == [(one, 201), (two, 422), (three, 201)]
    assert kind_of(results[1]) == "invalid-body"
    assert results[1]["detail"] == (
        "Expected `float` <= 1.0 - at `$.feedback[1].reward`; see /openapi.json for what is allowed."
    )
    assert http.get(f"/v1/decisions/{two}").json()["status"] == "pending"
    assert http.get(f"/v1/decisions/{three}").json()["reward"] == 0.0


def test_every_bad_item_says_where_it_is(http: httpx2.Client) -> None:
    def check(item: str, id: str | None, kind: str, where: str) -> None:
        before, after = made(http, 2)
        good = [json.dumps({"id": id, "reward": 1}) for id in (before, after)]
        body = f'{{"feedback": [{good[0]}, {item}, {good[1]}]}}'
        answer = http.post("/v1/feedback", content=body.encode(), headers=JSON)
        assert answer.status_code == 200, answer.text
        first, bad, last = answer.json()["results"]
        assert (first["status"], last["status"]) == (201, 201)
        assert (bad["id"], bad["status"], kind_of(bad)) == (id, 422, kind)
        assert where in bad["detail"]

    for_each(
        [
            ("{}", None, "invalid-body", "`$.feedback[1]`"),
            ('{"id": "x"}', "x", "invalid-body", "`$.feedback[1]`"),
            ('{"reward": 1}', None, "invalid-body", "`$.feedback[1]`"),
            ('{"id": 7, "reward": 1}', None, "invalid-body", "`$.feedback[1].id`"),
            ('{"id": "a/b", "reward": 1}', "a/b", "invalid-body", "`$.feedback[1].id`"),
            ('{"id": "", "reward": 1}', "", "invalid-body", "`$.feedback[1].id`"),
            ('{"id": "x", "reward": true}', "x", "invalid-body", "`$.feedback[1].reward`"),
            ('{"id": "x", "reward": -0.5}', "x", "invalid-body", "`$.feedback[1].reward`"),
            ('{"id": "x", "reward": 1e400}', "x", "invalid-body", "`$.feedback[1].reward`"),
            ('{"id": 1e400, "reward": 1}', None, "invalid-body", "`$.feedback[1].id`"),
            ('{"id": "x", "reward": ' + "9" * 5000 + "}", "x", "invalid-body", "`$.feedback[1].reward`"),
            ('{"id": "x", "reward": 1, "more": 1}', "x", "invalid-body", "`$.feedback[1]`"),
            ('{"id": "x", "reward": 1, "observed_at": 5}', "x", "invalid-body", "`$.feedback[1].observed_at`"),
            (
                '{"id": "x", "reward": 1, "observed_at": "soon"}',
                "x",
                "invalid-time",
                "feedback[1].observed_at is 'soon'",
            ),
            ('{"id": "x", "reward": 1, "observed_at": "9999-12-31T00:00:00Z"}', "x", "invalid-time", "feedback[1]"),
        ],
        check,
    )


def test_a_body_that_is_no_list_of_objects_is_refused_as_a_whole(http: httpx2.Client) -> None:
    def check(body: str, status: int, kind: str) -> None:
        (id,) = made(http, 1)
        given = body.replace("GOOD", json.dumps({"id": id, "reward": 1}))
        refusal(http.post("/v1/feedback", content=given.encode(), headers=JSON), status, kind)
        assert http.get(f"/v1/decisions/{id}").json()["status"] == "pending"

    for_each(
        [
            ('{"feedback": []}', 422, "invalid-body"),
            ('{"feedback": {}}', 422, "invalid-body"),
            ('{"feedback": null}', 422, "invalid-body"),
            ("{}", 422, "invalid-body"),
            ("[]", 422, "invalid-body"),
            ('{"feedback": [GOOD], "more": 1}', 422, "invalid-body"),
            ('{"feedback": [GOOD, 1]}', 422, "invalid-body"),
            ('{"feedback": [GOOD, [{"id": "x", "reward": 1}]]}', 422, "invalid-body"),
            ('{"feedback": [GOOD, null]}', 422, "invalid-body"),
            ('{"feedback": [GOOD, "x"]}', 422, "invalid-body"),
            ('{"feedback": [GOOD, {"id": "x", "reward": 1, "reward": 1}]}', 400, "malformed-json"),
            ('{"feedback": [GOOD], "feedback": [GOOD]}', 400, "malformed-json"),
            ('{"feedback": [GOOD, {"id": "x", "reward": NaN}]}', 400, "malformed-json"),
            ('{"feedback": [GOOD, {"id": "\\ud800", "reward": 1}]}', 400, "malformed-json"),
            ('{"feedback": [GOOD, {"id": "x", "reward": 1}', 400, "malformed-json"),
        ],
        check,
    )


def test_a_body_that_is_no_object_is_told_what_to_send(http: httpx2.Client) -> None:
    (id,) = made(http, 1)

    def check(path: str, what: str) -> None:
        for body in (json.dumps([{"id": id, "reward": 1}]), " 5", "null"):
            detail = refusal(http.post(path, content=body.encode(), headers=JSON), 422, "invalid-body")
            assert detail == f"the body is not an object; send {what}; see /openapi.json for what is allowed."

    for_each(
        [
            ("/v1/feedback", '{"feedback": [...]}'),
            (f"/v1/decisions/{id}/feedback", '{"reward": ...}'),
            ("/v1/experiments", '{"name": ..., "arms": [...]}'),
            ("/v1/experiments/colours/decisions", "{}, or an object with any of id, unit, metadata, count, of"),
        ],
        check,
    )


def test_bytes_that_are_no_text_are_refused_as_a_whole(http: httpx2.Client) -> None:
    body = b'{"feedback": [{"id": "\xff", "reward": 1}]}'
    refusal(http.post("/v1/feedback", content=body, headers=JSON), 400, "malformed-json")


def test_the_document_has_all_of_an_item_and_any_object_is_read() -> None:
    schemas = openapi.document()["components"]["schemas"]
    wanted, other = schemas["FeedbacksRequest"]["properties"]["feedback"]["items"]["anyOf"]
    assert wanted == {"$ref": "#/components/schemas/FeedbackItem"}
    assert set(schemas["FeedbackItem"]["properties"]) == {"id", "reward", "observed_at", "experiment"}
    assert schemas["FeedbackItem"]["required"] == ["id", "reward"]
    assert (other["type"], "properties" in other) == ("object", False)


def asked(db: str, work: Callable[[httpx2.AsyncClient, Service], Awaitable[None]]) -> None:
    """Ask the application itself, in this process."""

    async def run() -> None:
        service = Service(lambda: open_journal(db))
        await asyncio.to_thread(service.start)
        try:
            transport = httpx2.ASGITransport(make_app(service))
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
                await work(http, service)
        finally:
            await asyncio.to_thread(service.stop)

    asyncio.run(run())


def test_a_batch_is_one_operation(db: str) -> None:
    async def work(http: httpx2.AsyncClient, service: Service) -> None:
        await http.post("/v1/experiments", json=COLOURS)
        await http.post(DECISIONS, json={"id": "d", "count": 900})
        items = [{"id": f"d.{number}", "reward": 1} for number in range(900)]
        done: list[Operation] = []
        enqueue = service.writer.enqueue
        with mock.patch.object(
            service.writer, "enqueue", lambda each, reply: (done.append(each), enqueue(each, reply))
        ):
            answer = await http.post("/v1/feedback", json={"feedback": [*items, {"id": "nobody", "reward": 2}]})
        assert [len(each.ids) for each in done] == [900]
        statuses = [each["status"] for each in answer.json()["results"]]
        assert statuses == [201] * 900 + [422]

    asked(db, work)


def test_a_busy_server_refuses_a_batch_as_a_whole(db: str) -> None:
    async def work(http: httpx2.AsyncClient, service: Service) -> None:
        await http.post("/v1/experiments", json=COLOURS)
        await http.post(DECISIONS, json={"id": "d", "count": 2})
        batch = {"feedback": [{"id": "d.0", "reward": 1}, {"id": "d.1", "reward": 1}]}
        with mock.patch.object(writer, "MAX_QUEUE", 0):
            answer = await http.post("/v1/feedback", json=batch)
        refusal(answer, 503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert (await http.get("/v1/experiments/colours")).json()["observed"] == 0
        again = await http.post("/v1/feedback", json=batch)
        assert [each["status"] for each in again.json()["results"]] == [201, 201]

    asked(db, work)


def test_a_batch_is_counted_item_by_item(db: str) -> None:
    async def work(http: httpx2.AsyncClient, service: Service) -> None:
        await http.post("/v1/experiments", json=COLOURS)
        await http.post(DECISIONS, json={"id": "d", "count": 2})
        given = [("d.0", 1), ("d.0", 1), ("d.0", 0), ("d.1", 0), ("nobody", 1), ("d.1", 7)]
        items = [{"id": id, "reward": reward} for id, reward in given]
        results = (await http.post("/v1/feedback", json={"feedback": items})).json()["results"]
        assert [each["status"] for each in results] == [201, 200, 409, 201, 404, 422]
        text = service.metrics.text().decode()
        for result, count in (("observed", 2), ("duplicate", 1), ("conflict", 1)):
            assert f'belated_feedback_total{{experiment="colours",result="{result}"}} {count}.0\n' in text
        assert "belated_feedback_unknown_total 1.0\n" in text
        assert 'belated_feedback_delay_seconds_count{experiment="colours"} 2.0\n' in text

    asked(db, work)


# ---- times ----


def at(ahead: timedelta) -> str:
    return (datetime.now(UTC) + ahead).isoformat()


def test_a_time_that_is_still_to_come_is_refused(http: httpx2.Client) -> None:
    one, two = made(http, 2)
    path = f"/v1/decisions/{one}/feedback"
    for text in (at(timedelta(minutes=6)), "9999-12-31T23:59:59Z"):
        detail = refusal(http.post(path, json={"reward": 1, "observed_at": text}), 422, "invalid-time")
        assert f"observed_at is {text!r}, more than 5 minutes ahead of this server's clock" in detail
    assert http.get(f"/v1/decisions/{one}").json()["status"] == "pending"
    assert http.post(path, json={"reward": 1, "observed_at": at(timedelta(minutes=4))}).status_code == 201
    (result,) = told(http, {"id": two, "reward": 1, "observed_at": at(timedelta(hours=1))})
    assert (result["status"], kind_of(result)) == (422, "invalid-time")
    assert http.get(f"/v1/decisions/{two}").json()["status"] == "pending"


def test_a_time_before_the_decision_is_a_delay_of_nothing(http: httpx2.Client) -> None:
    assert http.post("/v1/experiments", json={**COLOURS, "name": "early", "arms": ["red"]}).status_code == 201
    http.post("/v1/experiments/early/decisions", json={"id": "early", "count": 2})
    for number, text in enumerate((at(-timedelta(hours=1)), "0001-01-01T00:00:00Z")):
        answer = http.post(f"/v1/decisions/early.{number}/feedback", json={"reward": 1, "observed_at": text})
        assert answer.status_code == 201
    (curve,) = http.get("/v1/experiments/early/delays").json()["curves"]
    assert (curve["seconds"], curve["answered"]) == ([0.0], [1.0])
    counted = http.get("/metrics").text
    assert 'belated_feedback_delay_seconds_sum{experiment="early"} 0.0\n' in counted


# ---- numbers ----


def test_whole_numbers_are_those_of_the_request_and_not_of_the_metadata(http: httpx2.Client) -> None:
    body = b'{"id": "kept", "count": 2.0, "of": 2.0, "metadata": {"a": 1.0, "b": [2.0, {"c": -0.0}], "n": 3}}'
    assert http.post(DECISIONS, content=body, headers=JSON).status_code == 201
    text = http.get("/v1/decisions/kept.1").text
    assert '"metadata":{"a":1.0,"b":[2.0,{"c":-0.0}],"n":3}' in text
    again = http.post(DECISIONS, content=body.replace(b'2.0, "of": 2.0', b'2, "of": 2'), headers=JSON)
    assert again.status_code == 200  # the same metadata, however the count is written
    asked = {"arms": ["a", "b"], "policy": {"name": "UCB"}, "decisions": [0.0, 1.0], "answers": [[2.0, 0.0, 0.5]]}
    moved = http.post("/v1/experiments/moved-by-floats/history", json={**asked, "seed": 0.0})
    assert moved.status_code == 201, moved.text
    refusal(http.post(DECISIONS, json={"count": 2.5}), 422, "invalid-body")


def test_nothing_has_no_sign(http: httpx2.Client) -> None:
    one, two = made(http, 2)
    body = b'{"reward": -0.0}'
    assert '"reward":0.0' in http.post(f"/v1/decisions/{one}/feedback", content=body, headers=JSON).text
    assert '"reward":0.0' in http.get(f"/v1/decisions/{one}").text
    batch = b'{"feedback": [{"id": "%s", "reward": -0.0}]}' % two.encode()
    assert http.post("/v1/feedback", content=batch, headers=JSON).json()["results"][0]["status"] == 201
    assert '"reward":0.0' in http.get(f"/v1/decisions/{two}").text
    silent = b'{"name": "unsigned", "arms": ["a"], "policy": {"name": "UCB"}, "silence": {"after": 60, "reward": -0.0}}'
    assert '"reward":0.0' in http.post("/v1/experiments", content=silent, headers=JSON).text
