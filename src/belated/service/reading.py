"""Requests as the handlers want them: bodies, times, numbers in the address."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import Request

from belated.errors import Refused
from belated.service import clock
from belated.service.messages import BODY

T = TypeVar("T")


async def body_as(request: Request, kind: type[T]) -> T:
    """The body of a request, checked."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        given = f"is {media!r}" if media else "is missing"
        raise Refused(415, "not-json", f"the content type {given}; send Content-Type: application/json.")
    return decoded(await request.body(), kind)


def decoded(body: bytes, kind: type[T]) -> T:
    """JSON of a kind, or the error that says what is wrong."""
    if len(body) > BODY:
        raise too_large()
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid-body", f"{error}; /openapi.json says what is allowed.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, "malformed-json", f"the body is no JSON: {error}.") from None


def too_large() -> Refused:
    """The error for a body that is too large."""
    return Refused(413, "too-large", f"a body has at most {BODY:,} bytes; send several requests.")


def time_of(text: str | None, what: str = "observed_at") -> int | None:
    """A time that was given, if it was."""
    if text is None:
        return None
    found = clock.read(text)
    if found is None:
        raise Refused(422, "invalid-time", f"{what} is {text!r}; give RFC 3339, such as 2026-01-31T12:00:00Z.")
    return found


def whole(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number in the address."""
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    except ValueError:
        value = -1
    if not low <= value <= high:
        raise Refused(422, "invalid-query", f"{name} is {text!r}; give a whole number from {low} to {high}.")
    return value


def only(request: Request, *names: str) -> None:
    """An error for anything else in the address, or the same twice."""
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in names or given.count(name) > 1:
            allowed = f"give each of {', '.join(names)} once at the most" if names else "there are none here"
            raise Refused(422, "invalid-query", f"the query has {name!r}; {allowed}.")
