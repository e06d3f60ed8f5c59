"""Requests with retries, independent of how they are sent (sans-IO).

An :data:`Exchange` is a generator: it yields an :class:`HttpRequest` to send or a :class:`Wait`, and is sent the
outcome. The blocking and the asyncio client drive the same exchanges."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from belated.errors import (
    ApiError,
    BelatedError,
    ConflictingFeedback,
    InvalidParameter,
    ServiceUnavailable,
    UnknownDecision,
)

T = TypeVar("T")

RETRY_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses after which a request is sent again."""
LONGEST_WAIT = 60.0
"""Seconds; if a server asks for more with Retry-After, the client gives up."""
LONGEST_BACKOFF = 5.0
PROBLEM = "urn:belated:problem:"
ERRORS: dict[str, type[BelatedError]] = {
    "unknown-decision": UnknownDecision,
    "conflicting-feedback": ConflictingFeedback,
}
"""Problem types with the errors that a live bandit raises for them."""

_random = random.SystemRandom()  # leaves the caller's seeds alone


class HttpRequest(NamedTuple):
    """A request to send."""

    method: str
    path: str
    body: bytes | None = None


class Wait(NamedTuple):
    """A pause before the next attempt."""

    seconds: float


class HttpResponse(NamedTuple):
    """A response; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportFailure(NamedTuple):
    """No response, or not all of it, came back."""

    reason: str


class Retry(NamedTuple):
    """A response that asks to send the request again."""

    reason: str


Action = HttpRequest | Wait
Outcome = HttpResponse | TransportFailure | None
Exchange = Generator[Action, Outcome, T]


@dataclass(frozen=True)
class RetryPolicy:
    """Number of retries, and exponential backoff with jitter from ``wait`` seconds on."""

    retries: int
    wait: float

    def backoff(self, attempt: int) -> float:
        """Seconds to wait after this attempt (1, 2, ...)."""
        longest: float = min(self.wait * 2.0 ** (attempt - 1), LONGEST_BACKOFF)
        return longest * _random.uniform(0.5, 1.0)


def json_request(method: str, path: str, body: Any) -> HttpRequest:
    """Make a request with a JSON body, or without one."""
    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return HttpRequest(method, path, None if body is None else text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameter(f"this cannot be sent as JSON: {error}") from None


def request(
    http_request: HttpRequest, retry_policy: RetryPolicy, parse: Callable[[Any], T | Retry], id: str | None = None
) -> Exchange[T]:
    """Send a request, again if necessary, and return what ``parse`` makes of the response's data."""
    for attempt in range(1, retry_policy.retries + 2):
        outcome = yield http_request
        least = 0.0
        if isinstance(outcome, HttpResponse):
            least = _retry_after(outcome)
            result = _parse(outcome, parse)
            if not isinstance(result, Retry):
                return result
            reason = result.reason
        else:
            assert outcome is not None
            reason = outcome.reason
        if attempt > retry_policy.retries or least > LONGEST_WAIT:
            break
        yield Wait(max(retry_policy.backoff(attempt), least))
    hint = f"; it asks to wait {least:.0f} seconds" if least > LONGEST_WAIT else ""
    raise ServiceUnavailable(
        f"the service did not respond to {http_request.method} {http_request.path} in {attempt} attempts: "
        f"{reason}{hint}. It may or may not have been done; the same call again counts once"
        + (f", with id={id!r}." if id is not None else "."),
        id,
    )


def _parse(response: HttpResponse, parse: Callable[[Any], T | Retry]) -> T | Retry:
    if response.status in RETRY_STATUSES:
        return Retry(f"status {response.status}")
    try:
        data = json.loads(response.body) if response.body else None
    except (ValueError, RecursionError):
        data = None
    if not 200 <= response.status < 300:
        problem = data if isinstance(data, dict) else {}
        raise error_of(response.status, problem.get("type"), problem.get("detail"))
    try:
        if isinstance(data, dict):
            return parse(data)
    except (KeyError, TypeError, IndexError, AttributeError):
        pass
    return Retry(f"status {response.status} with {len(response.body)} bytes that are not from a belated server")


def error_of(status: int, type: Any, detail: Any) -> BelatedError:
    """The error for a problem document: the one that a live bandit would raise, or an ApiError."""
    if not isinstance(type, str) or not type.startswith(PROBLEM) or not isinstance(detail, str):
        return ApiError(status, "not-belated", f"status {status}, not from a belated server; check the URL.")
    name = type.removeprefix(PROBLEM)
    return ERRORS[name](detail) if name in ERRORS else ApiError(status, name, detail)


def _retry_after(response: HttpResponse) -> float:
    """The seconds that a response asks to wait; 0 if it does not."""
    text = response.headers.get("retry-after", "").strip() if response.status in RETRY_STATUSES else ""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def to_httpx(request: HttpRequest) -> dict[str, Any]:
    """The arguments of ``httpx2``'s ``request``."""
    headers = {"Content-Type": "application/json"} if request.body is not None else {}
    return {"method": request.method, "url": request.path, "content": request.body, "headers": headers}


def from_httpx(response: Any) -> HttpResponse:
    """A response of ``httpx2``."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpResponse(response.status_code, headers, response.content)


def transport_failure(error: Exception) -> TransportFailure:
    """A transport error of ``httpx2``."""
    return TransportFailure(f"{type(error).__name__}{f': {error}' if str(error) else ''}")
