"""Requests as the handlers want them: bodies, times, numbers in the address."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec
from msgspec import inspect
from starlette.requests import Request

from belated.errors import ApiError
from belated.service.api.messages import BODY, ID
from belated.service.core import timestamps
from belated.service.core.errors import unknown_decision, unknown_experiment
from belated.service.core.spec import NAME

T = TypeVar("T")
_NAME, _ID = re.compile(NAME), re.compile(ID)
LONGEST_METADATA = 16_384
"""Bytes of a decision's metadata, at the most: they are written and sent as often as its event."""
ALLOWED = "/openapi.json says what is allowed."
AHEAD = 300_000_000
"""Microseconds that a time may be ahead of this machine's clock."""
DEEPEST = 64
"""Levels of a metadata's lists and objects, at the most."""


async def body_as(request: Request, kind: type[T], empty: T | None = None) -> T:
    """The body of a request, checked; ``empty`` where there may be none."""
    body = await request.body()
    if empty is not None and not body:
        return empty
    media = request.headers.get("content-type", "")
    if media != "application/json" and media.partition(";")[0].strip().lower() != "application/json":
        given = f"is {media!r}" if media else "is missing"
        raise ApiError(415, "not-json", f"the content type {given}; send Content-Type: application/json.")
    return decoded(body, kind)


def decoded(body: bytes, kind: type[T]) -> T:
    """JSON of a kind, or the error that says what is wrong."""
    if len(body) > BODY:
        raise too_large()
    try:
        found = read_as(body, kind)
        if body.count(b":") > 1:
            json.loads(body, object_pairs_hook=_each_once, parse_int=str, parse_float=str)
        return found
    except msgspec.ValidationError as error:
        raise ApiError(422, "invalid-body", f"{error}; {ALLOWED}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, "malformed-json", f"the body is no JSON: {error}.") from None


def read_as(body: bytes | msgspec.Raw, kind: type[T]) -> T:
    """JSON of a kind, or msgspec's error. 7.0 is a whole number too, in JSON."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise
    return msgspec.convert(_whole(msgspec.json.decode(body), inspect.type_info(kind)), type=kind)


def _whole(value: Any, kind: inspect.Type) -> Any:
    """The same with whole numbers as such where those are wanted; metadata and the like stay as they are."""
    if isinstance(kind, inspect.IntType) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(kind, inspect.UnionType):  # of one kind and None
        return _whole(value, next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
    if isinstance(kind, inspect.ListType) and isinstance(value, list):
        return [_whole(part, kind.item_type) for part in value]
    if isinstance(kind, inspect.TupleType) and isinstance(value, list) and len(value) == len(kind.item_types):
        return [_whole(part, each) for part, each in zip(value, kind.item_types, strict=True)]
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        kinds = {field.encode_name: field.type for field in kind.fields}
        return {key: _whole(part, kinds[key]) if key in kinds else part for key, part in value.items()}
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object that has a key twice: readers of JSON differ in which of the values counts."""
    if len(pairs) > 1 and len({key for key, _ in pairs}) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in (other for other, _ in pairs[:place]))
        raise ApiError(400, "malformed-json", f"the body has the key {twice!r} twice in one object; give it once.")


def check_metadata(metadata: dict[str, Any], count: int) -> None:
    """An error for what is too much to be written beside each of so many decisions."""
    _check_depth(metadata)
    size = len(msgspec.json.encode(metadata))
    if size > LONGEST_METADATA or size * count > BODY:
        raise ApiError(
            422,
            "invalid-body",
            f"metadata has {size:,} bytes, for each of {count:,} decisions; give at most {LONGEST_METADATA:,}, and "
            f"{BODY:,} for all decisions of a request.",
        )


def _check_depth(metadata: Any) -> None:
    """An error for lists and objects that are nested too deeply to be written and read again."""
    level, inside = 0, [metadata]
    while inside := [part for each in inside for part in _parts(each)]:
        level += 1
        if level > DEEPEST:
            raise ApiError(
                422, "invalid-body", f"metadata is nested more than {DEEPEST} levels deep; give it as a text instead."
            )


def _parts(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in inside if isinstance(part, dict | list)]


def name_of(request: Request) -> str:
    """The experiment's name in the address; an error if no experiment can have it."""
    name: str = request.path_params["name"]
    if not _NAME.fullmatch(name):
        raise unknown_experiment(name)
    return name


def id_of(request: Request) -> str:
    """The decision's id in the address; an error if no decision can have it."""
    id: str = request.path_params["id"]
    if not _ID.fullmatch(id):
        raise unknown_decision(id)
    return id


def too_large() -> ApiError:
    """The error for a body that is too large."""
    return ApiError(413, "too-large", f"a body has at most {BODY:,} bytes; send several requests.")


def time_of(text: str | None, what: str = "observed_at") -> int | None:
    """A time that was given, if it was; an error for one that is still to come."""
    if text is None:
        return None
    found = timestamps.read(text)
    if found is None:
        raise ApiError(422, "invalid-time", f"{what} is {text!r}; give RFC 3339, such as 2026-01-31T12:00:00Z.")
    if found > (now := timestamps.now()) + AHEAD:
        raise ApiError(
            422,
            "invalid-time",
            f"{what} is {text!r}, more than {AHEAD // 60_000_000} minutes ahead of this server's clock, which says "
            f"{timestamps.shown(now)}; set the clock right, or leave it out.",
        )
    return found


def unsigned(reward: float) -> float:
    """A reward without the sign that JSON lets 0 have.

    >>> unsigned(-0.0), unsigned(0.5)
    (0.0, 0.5)
    """
    return reward + 0.0


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
        raise ApiError(422, "invalid-query", f"{name} is {text!r}; give a whole number from {low} to {high}.")
    return value


def only(request: Request, *names: str) -> None:
    """An error for anything else in the address, or the same twice."""
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in names or given.count(name) > 1:
            allowed = f"give each of {', '.join(names)} once at the most" if names else "there are none here"
            raise ApiError(422, "invalid-query", f"the query has {name!r}; {allowed}.")
