"""The retries of a client, its backoff, and its reading of responses; without a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from httpx2 import ReadTimeout, Response, TransportError

from belated.client.base import LONGEST_BACKOFF, Operations
from belated.client.messages import parse_summary
from belated.client.protocol import Exchange, HttpRequest
from belated.errors import ApiError, BelatedError, ConflictingFeedback, ServiceUnavailable, UnknownDecision

DECISION = {"id": "x", "arm": "red"}


def test_older_servers_may_omit_newer_fields() -> None:
    """What it does not know of is None; what every server says is missed."""
    known = {"arm": "a", "pulls": 2, "observed": 1, "pending": 1, "mean": 0.5, "lower": 0.0, "upper": 1.0}
    old = {**known, "active": True, "eliminated_at": None}
    (found,) = parse_summary({"arms": [old]})
    assert (found.arm, found.upper, found.lower_from, found.upper_from) == ("a", 1.0, None, None)
    (found,) = parse_summary({"arms": [{**old, "lower_from": 1, "upper_from": 2, "newer": 3}]})
    assert (found.lower_from, found.upper_from, found.corrected_mean, found.dependence) == (1, 2, None, None)
    (found,) = parse_summary({"arms": [{**old, "corrected_mean": 0.6, "dependence": 0.99}]})
    assert (found.corrected_mean, found.dependence) == (0.6, 0.99)
    with pytest.raises(KeyError):
        parse_summary({"arms": [known]})


def response(status: int, data: Any = None, **headers: str) -> Response:
    body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
    return Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()}, content=body)


def problem(status: int, kind: str, detail: str = "why") -> Response:
    return response(status, {"type": f"urn:belated:problem:{kind}", "detail": detail})


def play(exchange: Exchange[Any], *outcomes: Response | TransportError) -> tuple[Any, list[HttpRequest], list[float]]:
    """The result of a conversation in which these come back, what was sent, and how long it waited in between."""
    left, requests, waits = list(outcomes), [], []
    outcome: Response | TransportError | None = None
    while True:
        try:
            step = exchange.send(outcome)
        except StopIteration as end:
            assert not left, f"{len(left)} outcomes were not asked for"
            return end.value, requests, waits
        except BelatedError as error:
            assert not left, f"{len(left)} outcomes were not asked for"
            return error, requests, waits
        if isinstance(step, float):
            waits.append(step)
            outcome = None
        else:
            requests.append(step)
            outcome = left.pop(0)


def operations(retries: int = 4, wait: float = 0.1) -> Operations:
    return Operations(retries, wait, "colours")


def test_lost_request_is_resent_byte_for_byte() -> None:
    found, requests, waits = play(
        operations().choose(None, None, None), *[TransportError("cut")] * 3, response(200, DECISION)
    )
    assert found == ("x", "red")
    assert len(requests) == 4
    assert len(set(requests)) == 1, "the id is the same"
    assert json.loads(requests[0].body or b"")["id"]
    assert len(waits) == 3


def test_each_call_has_its_own_id() -> None:
    asked = operations()
    ids = {play(asked.choose(None, None, None), response(201, DECISION))[1][0].body for _ in range(100)}
    assert len(ids) == 100


def test_backoff_grows_with_jitter_up_to_a_limit() -> None:
    _, _, waits = play(operations(10).choose(None, None, None), *[TransportError("cut")] * 11)
    for attempt, waited in enumerate(waits):
        longest = min(0.1 * 2**attempt, LONGEST_BACKOFF)
        assert 0.5 * longest <= waited <= longest
    firsts = {play(operations().cancel("x"), TransportError("cut"), response(200, DECISION))[2][0] for _ in range(20)}
    assert len(firsts) == 20


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_busy_server_is_retried(status: int) -> None:
    found, requests, _ = play(
        operations().choose(None, None, None), response(status), response(status, b"<html>"), response(201, DECISION)
    )
    assert found.arm == "red"
    assert len(requests) == 3


def test_retry_after_is_respected() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    busy = response(503, retry_after="7"), response(429, retry_after=later), response(503, retry_after="soon")
    _, _, waits = play(operations().choose(None, None, None), *busy, response(201, DECISION))
    assert waits[0] == 7.0
    assert 28.0 < waits[1] <= 30.0
    assert waits[2] <= 0.4


def test_gives_up_when_retry_after_is_too_long() -> None:
    error, requests, waits = play(operations().choose(None, None, None), response(503, retry_after="3600"))
    assert isinstance(error, ServiceUnavailable)
    assert "3600 seconds" in str(error)
    assert (len(requests), waits) == (1, [])


def test_service_unavailable_has_the_id() -> None:
    error, requests, _ = play(operations(2).choose(None, None, None), *[ReadTimeout("")] * 3)
    assert isinstance(error, ServiceUnavailable)
    assert isinstance(error, ConnectionError)
    assert error.id == json.loads(requests[0].body or b"")["id"]
    assert "3 attempts: ReadTimeout." in str(error)
    assert f"counts once, with id={error.id!r}." in str(error)
    error, requests, _ = play(operations(0).observe("x", 1.0, None), TransportError("cut"))
    assert isinstance(error, ServiceUnavailable)
    assert (error.id, len(requests)) == (None, 1)


def test_batches_share_the_id_of_the_call() -> None:
    first = response(201, {"decisions": [{"id": str(n), "arm": "red"} for n in range(1000)]})
    error, requests, _ = play(operations(0).choose_many(1500, "mine", None, None), first, TransportError("cut"))
    assert isinstance(error, ServiceUnavailable)
    assert error.id == "mine"
    assert [json.loads(each.body or b"") for each in requests] == [
        {"id": "mine", "count": 1000, "of": 1500},
        {"id": "mine.1000", "count": 500, "of": 1500},
    ]


def test_one_request_has_no_total() -> None:
    refusal = response(201, {"decisions": [{"id": str(n), "arm": "red"} for n in range(1000)]})
    made, requests, _ = play(operations().choose_many(1000, "mine", None, None), refusal)
    assert len(made) == 1000
    assert [json.loads(each.body or b"") for each in requests] == [{"id": "mine", "count": 1000}]


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (problem(404, "unknown-decision"), UnknownDecision),
        (problem(409, "conflicting-feedback"), ConflictingFeedback),
        (problem(409, "decision-cancelled"), ApiError),
        (problem(500, "unforeseen"), ApiError),
        (response(500, b"oh"), ApiError),
        (response(301, b"<html>"), ApiError),
        (response(404, {"detail": "nginx"}), ApiError),
    ],
)
def test_refusals_are_not_retried(refusal: Response, kind: type[BelatedError]) -> None:
    error, requests, _ = play(operations().observe("x", 1.0, None), refusal)
    assert type(error) is kind
    assert len(requests) == 1
    if isinstance(error, ApiError):
        assert error.status == refusal.status_code
        assert error.kind in ("decision-cancelled", "unforeseen", "not-belated")


@pytest.mark.parametrize("body", [b"", b"<html>welcome</html>", b'{"arm": ', b"[]", b"null", b'{"arms": []}'])
def test_garbage_with_a_good_status_is_retried(body: bytes) -> None:
    found, requests, _ = play(operations().choose(None, None, None), response(200, body), response(200, DECISION))
    assert found.id == "x"
    assert len(requests) == 2


def test_busy_items_resend_the_batch() -> None:
    def results(*statuses: int) -> Response:
        return response(200, {"results": [{"id": id, "status": s} for id, s in zip("abc", statuses, strict=True)]})

    exchange = operations().observe_many({"a": 1.0, "b": 0.0, "c": 0.5})
    found, requests, _ = play(exchange, results(201, 503, 200), TransportError("cut"), results(200, 201, 200))
    assert found == 2
    assert len(requests) == 3


def test_all_batches_are_sent_before_an_error_is_raised() -> None:
    ids = [str(number) for number in range(1200)]
    bad = {"id": "7", "status": 409, "type": "urn:belated:problem:conflicting-feedback", "detail": "two"}
    first = [bad if id == "7" else {"id": id, "status": 201} for id in ids[:1000]]
    second = [{"id": id, "status": 201} for id in ids[1000:]]
    error, requests, _ = play(
        operations().observe_many([(id, 1.0) for id in ids]),
        response(200, {"results": first}),
        response(200, {"results": second}),
    )
    assert isinstance(error, ConflictingFeedback)
    assert str(error) == "two"
    assert [len(json.loads(each.body or b"")["feedback"]) for each in requests] == [1000, 200]
