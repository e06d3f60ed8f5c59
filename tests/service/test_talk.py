"""When a client asks again, how long it waits, and what it makes of an answer; without a server."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from belated.client.operations import Verbs
from belated.client.protocol import LONGEST_BACKOFF, Call, Failure, Outcome, Reply, RetryPolicy, Talk, Wait
from belated.client.responses import summary
from belated.errors import ApiError, BelatedError, ConflictingFeedback, ServiceUnavailable, UnknownDecision

MADE = {"id": "x", "arm": "red"}


def test_an_older_server_says_less_of_an_arm() -> None:
    """What it does not know of is None; what every server says is missed."""
    known = {"arm": "a", "pulls": 2, "observed": 1, "pending": 1, "mean": 0.5, "lower": 0.0, "upper": 1.0}
    old = {**known, "active": True, "eliminated_at": None}
    (found,) = summary({"arms": [old]})
    assert (found.arm, found.upper, found.lower_from, found.upper_from) == ("a", 1.0, None, None)
    (found,) = summary({"arms": [{**old, "lower_from": 1, "upper_from": 2, "newer": 3}]})
    assert (found.lower_from, found.upper_from) == (1, 2)
    with pytest.raises(KeyError):
        summary({"arms": [known]})


def reply(status: int, data: Any = None, **headers: str) -> Reply:
    body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def problem(status: int, kind: str, detail: str = "why") -> Reply:
    return reply(status, {"type": f"urn:belated:problem:{kind}", "detail": detail})


def play(talk: Talk[Any], *outcomes: Outcome) -> tuple[Any, list[Call], list[float]]:
    """The result of a conversation in which these come back, what was sent, and how long it waited in between."""
    left, calls, waits = list(outcomes), [], []
    outcome: Outcome = None
    while True:
        try:
            step = talk.send(outcome)
        except StopIteration as end:
            assert not left, f"{len(left)} outcomes were not asked for"
            return end.value, calls, waits
        except BelatedError as error:
            assert not left, f"{len(left)} outcomes were not asked for"
            return error, calls, waits
        if isinstance(step, Wait):
            waits.append(step.seconds)
            outcome = None
        else:
            calls.append(step)
            outcome = left.pop(0)


def verbs(retries: int = 4, wait: float = 0.1) -> Verbs:
    return Verbs(RetryPolicy(retries, wait), "colours")


def test_a_lost_request_is_sent_again_to_the_byte() -> None:
    found, calls, waits = play(verbs().choose(None, None, None), *[Failure("cut")] * 3, reply(200, MADE))
    assert found == ("x", "red")
    assert len(calls) == 4
    assert len(set(calls)) == 1, "the id is the same"
    assert json.loads(calls[0].body or b"")["id"]
    assert len(waits) == 3


def test_every_call_has_an_id_of_its_own() -> None:
    asked = verbs()
    ids = {play(asked.choose(None, None, None), reply(201, MADE))[1][0].body for _ in range(100)}
    assert len(ids) == 100


def test_waits_grow_and_differ_and_have_a_limit() -> None:
    _, _, waits = play(verbs(10).choose(None, None, None), *[Failure("cut")] * 11)
    for attempt, waited in enumerate(waits):
        longest = min(0.1 * 2**attempt, LONGEST_BACKOFF)
        assert 0.5 * longest <= waited <= longest
    firsts = {play(verbs().cancel("x"), Failure("cut"), reply(200, MADE))[2][0] for _ in range(20)}
    assert len(firsts) == 20


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_is_busy_is_asked_again(status: int) -> None:
    found, calls, _ = play(verbs().choose(None, None, None), reply(status), reply(status, b"<html>"), reply(201, MADE))
    assert found.arm == "red"
    assert len(calls) == 3


def test_retry_after_is_honoured() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    busy = reply(503, retry_after="7"), reply(429, retry_after=later), reply(503, retry_after="soon")
    _, _, waits = play(verbs().choose(None, None, None), *busy, reply(201, MADE))
    assert waits[0] == 7.0
    assert 28.0 < waits[1] <= 30.0
    assert waits[2] <= 0.4


def test_nobody_waits_for_an_hour() -> None:
    error, calls, waits = play(verbs().choose(None, None, None), reply(503, retry_after="3600"))
    assert isinstance(error, ServiceUnavailable)
    assert "3600 seconds" in str(error)
    assert (len(calls), waits) == (1, [])


def test_in_the_end_it_gives_up_and_tells_the_id() -> None:
    error, calls, _ = play(verbs(2).choose(None, None, None), *[Failure("ReadTimeout")] * 3)
    assert isinstance(error, ServiceUnavailable)
    assert isinstance(error, ConnectionError)
    assert error.id == json.loads(calls[0].body or b"")["id"]
    assert (
        f"3 attempts: ReadTimeout. Whether it was done is not known; the same again counts once, with id={error.id!r}."
        in str(error)
    )
    error, calls, _ = play(verbs(0).observe("x", 1.0, None), Failure("cut"))
    assert isinstance(error, ServiceUnavailable)
    assert (error.id, len(calls)) == (None, 1)


def test_the_id_of_many_decisions_is_that_of_the_whole_call() -> None:
    first = reply(201, {"decisions": [{"id": str(n), "arm": "red"} for n in range(1000)]})
    error, calls, _ = play(verbs(0).choose_many(1500, "mine", None, None), first, Failure("cut"))
    assert isinstance(error, ServiceUnavailable)
    assert error.id == "mine"
    assert [json.loads(each.body or b"") for each in calls] == [
        {"id": "mine", "count": 1000, "of": 1500},
        {"id": "mine.1000", "count": 500, "of": 1500},
    ]


def test_what_one_request_can_make_is_no_part_of_more() -> None:
    answer = reply(201, {"decisions": [{"id": str(n), "arm": "red"} for n in range(1000)]})
    made, calls, _ = play(verbs().choose_many(1000, "mine", None, None), answer)
    assert len(made) == 1000
    assert [json.loads(each.body or b"") for each in calls] == [{"id": "mine", "count": 1000}]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (problem(404, "unknown-decision"), UnknownDecision),
        (problem(409, "conflicting-feedback"), ConflictingFeedback),
        (problem(409, "decision-cancelled"), ApiError),
        (problem(500, "unforeseen"), ApiError),
        (reply(500, b"oh"), ApiError),
        (reply(301, b"<html>"), ApiError),
        (reply(404, {"detail": "nginx"}), ApiError),
    ],
)
def test_a_refusal_is_an_error_at_once(answer: Reply, kind: type[BelatedError]) -> None:
    error, calls, _ = play(verbs().observe("x", 1.0, None), answer)
    assert type(error) is kind
    assert len(calls) == 1
    if isinstance(error, ApiError):
        assert error.status == answer.status
        assert error.kind in ("decision-cancelled", "unforeseen", "not-belated")


@pytest.mark.parametrize("body", [b"", b"<html>welcome</html>", b'{"arm": ', b"[]", b"null", b'{"arms": []}'])
def test_a_good_status_with_nonsense_is_no_answer(body: bytes) -> None:
    found, calls, _ = play(verbs().choose(None, None, None), reply(200, body), reply(200, MADE))
    assert found.id == "x"
    assert len(calls) == 2


def test_feedback_that_met_a_busy_server_is_sent_again() -> None:
    def results(*statuses: int) -> Reply:
        return reply(200, {"results": [{"id": id, "status": s} for id, s in zip("abc", statuses, strict=True)]})

    talk = verbs().observe_many({"a": 1.0, "b": 0.0, "c": 0.5})
    found, calls, _ = play(talk, results(201, 503, 200), Failure("cut"), results(200, 201, 200))
    assert found == 2
    assert len(calls) == 3


def test_many_feedbacks_are_all_sent_before_the_first_refusal_is_told() -> None:
    ids = [str(number) for number in range(1200)]
    bad = {"id": "7", "status": 409, "type": "urn:belated:problem:conflicting-feedback", "detail": "two"}
    first = [bad if id == "7" else {"id": id, "status": 201} for id in ids[:1000]]
    second = [{"id": id, "status": 201} for id in ids[1000:]]
    error, calls, _ = play(
        verbs().observe_many([(id, 1.0) for id in ids]), reply(200, {"results": first}), reply(200, {"results": second})
    )
    assert isinstance(error, ConflictingFeedback)
    assert str(error) == "two"
    assert [len(json.loads(each.body or b"")["feedback"]) for each in calls] == [1000, 200]
