"""Requests and responses, independent of how they are sent (sans-IO).

An :data:`Exchange` is a generator: it yields an :class:`HttpRequest` to send, or seconds to wait, and is sent the
outcome. The blocking and the asyncio client drive the same exchanges."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from belated.errors import ApiError, BelatedError, ConflictingFeedback, InvalidParameter, UnknownDecision

if TYPE_CHECKING:
    from httpx2 import Response, TransportError

T = TypeVar("T")

RETRY_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses after which a request is sent again."""
PROBLEM = "urn:belated:problem:"
ERRORS: dict[str, type[BelatedError]] = {
    "unknown-decision": UnknownDecision,
    "conflicting-feedback": ConflictingFeedback,
}
"""Problem types with the errors that a live bandit raises for them."""


class HttpRequest(NamedTuple):
    """A request to send."""

    method: str
    path: str
    body: bytes | None = None


class Retry(Exception):
    """The request has to be sent again, after at least ``seconds``."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.seconds = seconds


Action = HttpRequest | float
Exchange = Generator[Action, "Response | TransportError | None", T]


def json_request(method: str, path: str, body: Any) -> HttpRequest:
    """Make a request with a JSON body, or without one."""
    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return HttpRequest(method, path, None if body is None else text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameter(f"this cannot be sent as JSON: {error}") from None


def result_of(outcome: Response | TransportError, parse: Callable[[Any], T]) -> T:
    """What ``parse`` makes of the response's data; raises the error of a problem document, or :class:`Retry`."""
    if isinstance(outcome, Exception):
        raise Retry(f"{type(outcome).__name__}{f': {outcome}' if str(outcome) else ''}")
    status, body = outcome.status_code, outcome.content
    if status in RETRY_STATUSES:
        raise Retry(f"status {status}", _retry_after(outcome.headers.get("retry-after", "").strip()))
    try:
        data = json.loads(body) if body else None
    except (ValueError, RecursionError):
        data = None
    if not 200 <= status < 300:
        problem = data if isinstance(data, dict) else {}
        raise error_of(status, problem.get("type"), problem.get("detail"))
    try:
        if isinstance(data, dict):
            return parse(data)
    except (KeyError, TypeError, IndexError, AttributeError):
        pass
    raise Retry(f"status {status} with {len(body)} bytes that are not from a belated server")


def error_of(status: int, type: Any, detail: Any) -> BelatedError:
    """The error for a problem document: the one that a live bandit would raise, or an ApiError."""
    if not isinstance(type, str) or not type.startswith(PROBLEM) or not isinstance(detail, str):
        return ApiError(status, "not-belated", f"status {status}, not from a belated server; check the URL.")
    name = type.removeprefix(PROBLEM)
    return ERRORS[name](detail) if name in ERRORS else ApiError(status, name, detail)


def _retry_after(text: str) -> float:
    """The seconds that a response asks to wait; 0 if it does not."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)
