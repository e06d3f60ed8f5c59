"""What tests of the HTTP interface share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import httpx2

COLOURS = {"name": "colours", "arms": ["red", "green"], "policy": {"name": "UCB"}}


def refusal(answer: httpx2.Response, status: int, kind: str) -> str:
    """What a refusal says; it must have this status and problem type, in the form of RFC 9457."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail"}
    assert (body["type"], body["status"]) == (f"urn:belated:problem:{kind}", status)
    assert body["title"]
    return str(body["detail"])


def for_each(cases: Iterable[Any], check: Callable[..., None]) -> None:
    """Check every case (several arguments are a tuple), and list all that fail."""
    failures = []
    for case in cases:
        try:
            check(*case) if isinstance(case, tuple) else check(case)
        except AssertionError as error:
            failures.append(f"{case!r:.200}: {error}")
    assert not failures, "\n".join(failures)
