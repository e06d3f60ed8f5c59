"""What tests of the HTTP interface share."""

from __future__ import annotations

import httpx2

COLOURS = {"name": "colours", "arms": ["red", "green"], "policy": {"name": "UCB"}}


def problem(answer: httpx2.Response, status: int, kind: str) -> str:
    """What a problem says; it must be one as RFC 9457 has it."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail"}
    assert (body["type"], body["status"]) == (f"urn:belated:problem:{kind}", status)
    assert body["title"]
    return str(body["detail"])
