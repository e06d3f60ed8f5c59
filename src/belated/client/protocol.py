"""Asking and being answered, whatever carries it: when to ask again, and what an answer means.

A conversation is a generator. It yields what is to be done, a :class:`Call` or a :class:`Wait`, and is sent what came
of it; so one text serves the client that blocks and the one that awaits."""

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

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses that say: not now."""
LONGEST_WAIT = 60.0
"""Seconds; whoever asks for more patience gets none."""
LONGEST_BACKOFF = 5.0
PROBLEM = "urn:belated:problem:"
ERRORS: dict[str, type[BelatedError]] = {
    "unknown-decision": UnknownDecision,
    "conflicting-feedback": ConflictingFeedback,
}
"""Kinds of problems that a live bandit knows, too."""

_chance = random.SystemRandom()  # the caller's own seeds stay the caller's


class Call(NamedTuple):
    """A request."""

    method: str
    path: str
    body: bytes | None = None


class Wait(NamedTuple):
    """A pause."""

    seconds: float


class Reply(NamedTuple):
    """What came back, with the headers' names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Failure(NamedTuple):
    """Nothing came back, or not all of it."""

    why: str


class Retry(NamedTuple):
    """An answer that asks to be asked for again."""

    why: str


Step = Call | Wait
Outcome = Reply | Failure | None
Talk = Generator[Step, Outcome, T]


@dataclass(frozen=True)
class RetryPolicy:
    """How often is asked again, and how long is waited before: twice as long each time, and never quite as long."""

    retries: int
    wait: float

    def pause(self, attempt: int) -> float:
        """Seconds to wait after so many attempts."""
        longest: float = min(self.wait * 2.0 ** (attempt - 1), LONGEST_BACKOFF)
        return longest * _chance.uniform(0.5, 1.0)


def call(method: str, path: str, body: Any = None) -> Call:
    """A request whose body is JSON."""
    if body is None:
        return Call(method, path)
    try:
        text = json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return Call(method, path, text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameter(f"this cannot be sent as JSON: {error}") from None


def told(asked: Call, patience: RetryPolicy, read: Callable[[int, Any], T | Retry], id: str | None = None) -> Talk[T]:
    """What ``read`` makes of the answer's status and data; asked for again until there is one."""
    for attempt in range(1, patience.retries + 2):
        outcome = yield asked
        why, least = _why_not(outcome), 0.0
        if isinstance(outcome, Reply):
            if why is None:
                found = _read(outcome, read)
                if not isinstance(found, Retry):
                    return found
                why = found.why
            least = _retry_after(outcome)
        if attempt > patience.retries or least > LONGEST_WAIT:
            break
        yield Wait(max(patience.pause(attempt), least))
    hint = f"; it asks for {least:.0f} seconds of patience" if least > LONGEST_WAIT else ""
    raise ServiceUnavailable(
        f"the service gave no answer to {asked.method} {asked.path} in {attempt} attempts: {why}{hint}. Whether it was "
        "done is not known; the same again counts once" + (f", with id={id!r}." if id is not None else "."),
        id,
    )


def _why_not(outcome: Outcome) -> str | None:
    """Why an outcome is no answer yet; None if it is one."""
    if isinstance(outcome, Failure):
        return outcome.why
    assert isinstance(outcome, Reply)
    return f"status {outcome.status}" if outcome.status in AGAIN else None


def _read(reply: Reply, read: Callable[[int, Any], T | Retry]) -> T | Retry:
    try:
        data = json.loads(reply.body) if reply.body else None
    except (ValueError, RecursionError):
        data = None
    if not 200 <= reply.status < 300:
        about = data if isinstance(data, dict) else {}
        raise refusal(reply.status, about.get("type"), about.get("detail"))
    try:
        if isinstance(data, dict):
            return read(reply.status, data)
    except (KeyError, TypeError, IndexError, AttributeError):
        pass
    return Retry(f"status {reply.status} with {len(reply.body)} bytes that are no answer of a server of belated's")


def refusal(status: int, type: Any, detail: Any) -> BelatedError:
    """A problem as the error that a live bandit would have raised, if it knows it."""
    if not isinstance(type, str) or not type.startswith(PROBLEM) or not isinstance(detail, str):
        return ApiError(status, "not-belated", f"status {status}, not from a server of belated's; look at the address.")
    kind = type.removeprefix(PROBLEM)
    known = ERRORS.get(kind)
    return known(detail) if known is not None else ApiError(status, kind, detail)


def _retry_after(reply: Reply) -> float:
    """The seconds that an answer asks to wait; 0 if it does not."""
    text = reply.headers.get("retry-after", "").strip() if reply.status in AGAIN else ""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)
