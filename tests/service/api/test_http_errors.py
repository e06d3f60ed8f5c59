"""Every error has a problem type, and nothing odd gets in."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
from refusals import for_each, refusal
from serving import PATIENCE

from belated.service.api.messages import MAX_BODY

JSON = {"Content-Type": "application/json"}


# ---- errors ----


def test_errors_are_problems(http: httpx2.Client) -> None:
    def check(method: str, path: str, status: int, kind: str) -> None:
        refusal(http.request(method, path), status, kind)

    for_each(
        [
            ("GET", "/nothing", 404, "not-found"),
            ("GET", "/v1/experiments/nobody", 404, "unknown-experiment"),
            ("POST", "/v1/experiments/nobody/decisions", 404, "unknown-experiment"),
            ("POST", "/v1/experiments/nobody/stop", 404, "unknown-experiment"),
            ("GET", "/v1/experiments/nobody/events", 404, "unknown-experiment"),
            ("GET", "/v1/experiments/nobody/delays", 404, "unknown-experiment"),
            ("GET", "/v1/experiments/nobody/export.parquet", 404, "unknown-experiment"),
            ("GET", "/v1/decisions/nobody", 404, "unknown-decision"),
            ("POST", "/v1/decisions/nobody/cancel", 404, "unknown-decision"),
            ("GET", "/v1/decisions/a%00b", 404, "unknown-decision"),
            ("GET", "/v1/decisions/%2Fa", 404, "not-found"),
            ("POST", "/v1/decisions/a%00b/cancel", 404, "unknown-decision"),
            ("GET", "/v1/experiments/a%00b", 404, "unknown-experiment"),
            ("GET", "/v1/experiments/%FF%FE", 404, "unknown-experiment"),
            ("GET", "/v1/experiments/colours/", 404, "not-found"),
            ("GET", "/v1/experiments/colours?x=1", 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?limit=0", 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?limit=100001", 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?cursor=-1", 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?cursor=1&cursor=2", 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?cursor=" + "9" * 5000, 422, "invalid-query"),
            ("GET", "/v1/experiments/colours/events?cursor=%C2%B2", 422, "invalid-query"),
            ("POST", "/v1/feedback", 415, "not-json"),
        ],
        check,
    )


def test_other_methods_are_told_which_are_allowed(http: httpx2.Client) -> None:
    def check(method: str, path: str, allowed: set[str]) -> None:
        answer = http.request(method, path)
        refusal(answer, 405, "method-not-allowed")
        assert set(answer.headers["allow"].split(", ")) == allowed

    for_each(
        [
            ("DELETE", "/v1/experiments", {"GET", "HEAD", "POST"}),
            ("PUT", "/v1/experiments/colours", {"GET", "HEAD"}),
            ("GET", "/v1/experiments/colours/decisions", {"POST"}),
            ("PATCH", "/v1/decisions/x/feedback", {"POST"}),
            ("OPTIONS", "/v1/feedback", {"POST"}),
            ("POST", "/openapi.json", {"GET", "HEAD"}),
        ],
        check,
    )


def test_other_media_are_refused(http: httpx2.Client) -> None:
    def check(kind: str) -> None:
        headers = {"Content-Type": kind} if kind else {}
        refusal(http.post("/v1/experiments/colours/decisions", content=b"{}", headers=headers), 415, "not-json")

    for_each(["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"], check)


def test_json_with_a_charset_is_json(http: httpx2.Client) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert http.post("/v1/experiments/colours/decisions", content=b"{}", headers=headers).status_code == 201


MALFORMED = [
    b"",
    b"{",
    b"nonsense",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"reward": NaN}',
    b'{"reward": Infinity}',
    b'{"reward": -Infinity}',
    b'{"reward": 1} x',
    b'{"reward": 1, "reward": 1}',
    b'{"reward": 0, "r\\u0065ward": 1}',
    b'{"reward": 1, "observed_at": "\\ud800"}',
]
INVALID = [
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b'{"reward": null}',
    b'{"reward": true}',
    b'{"reward": "1"}',
    b'{"reward": 1e400}',
    b'{"reward": -1e400}',
    b'{"reward": 1.0000000000000002}',
    b'{"reward": -5e-324}',
    b'{"reward": 2}',
    b'{"reward": 123456789012345678901234567890}',
    b'{"reward": ' + b"9" * 5000 + b"}",
    b'{"reward": 1, "other": 1}',
    b'{"reward": 1, "observed_at": 5}',
]


def test_malformed_bodies_are_refused(http: httpx2.Client) -> None:
    def check(body: bytes) -> None:
        refusal(http.post("/v1/decisions/one/feedback", content=body, headers=JSON), 400, "malformed-json")

    for_each(MALFORMED, check)


def test_invalid_bodies_are_refused(http: httpx2.Client) -> None:
    def check(body: bytes) -> None:
        refusal(http.post("/v1/decisions/one/feedback", content=body, headers=JSON), 422, "invalid-body")

    for_each(INVALID, check)


def test_a_refused_body_says_which_key_is_there_twice(http: httpx2.Client) -> None:
    body = b'{"metadata": {"a": 1, "b": {"c": 1, "c": 2}}}'
    answer = http.post("/v1/experiments/colours/decisions", content=body, headers=JSON)
    assert "'c'" in refusal(answer, 400, "malformed-json")


# ---- large bodies ----


def test_a_body_as_large_as_allowed_is_read(http: httpx2.Client) -> None:
    begin = b'{"reward": 1, "x": "'
    body = begin + b"x" * (MAX_BODY - len(begin) - 2) + b'"}'
    assert len(body) == MAX_BODY
    refusal(http.post("/v1/decisions/x/feedback", content=body, headers=JSON), 422, "invalid-body")


def test_a_larger_body_is_refused_by_its_length(http: httpx2.Client) -> None:
    refusal(http.post("/v1/decisions/x/feedback", content=b" " * (MAX_BODY + 1), headers=JSON), 413, "too-large")
    refusal(http.post("/v1/experiments/colours/stop", content=b" " * (MAX_BODY + 1)), 413, "too-large")
    assert http.get("/livez").status_code == 200


def test_a_larger_body_without_a_length_is_refused(http: httpx2.Client) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * (MAX_BODY // 10)

    refusal(http.post("/v1/decisions/x/feedback", content=parts(), headers=JSON), 413, "too-large")
    assert http.get("/livez").status_code == 200


def test_a_chunked_body_is_read(http: httpx2.Client) -> None:
    answer = http.post("/v1/experiments/colours/decisions", content=iter([b'{"unit"', b': "u"}']), headers=JSON)
    assert answer.status_code == 201


def test_a_request_that_is_none_is_answered_400(http: httpx2.Client) -> None:
    place = urlsplit(str(http.base_url))
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=PATIENCE) as line:
        line.sendall(b"\x00\x01 nonsense\r\n\r\n")
        assert line.recv(1000).startswith(b"HTTP/1.1 400")
