"""Parse and validate requests; encode responses: messages as JSON, errors as RFC 9457 describes."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from msgspec import inspect
from starlette.requests import Request
from starlette.responses import Response

from belated.errors import ApiError
from belated.service import timestamps
from belated.service.api.messages import MAX_BODY, ProblemAnswer
from belated.service.core.service import Service
from belated.service.core.spec import ID, NAME
from belated.service.problem_types import PREFIX, ProblemType, public_error, unknown_decision, unknown_experiment

T = TypeVar("T")
_NAME, _ID = re.compile(NAME), re.compile(ID)
MAX_METADATA = 16_384
"""Bytes of a decision's metadata: they are written and sent with each of its events."""
MAX_DEPTH = 64
"""Nesting levels of metadata."""
SEE_OPENAPI = "see /openapi.json for what is allowed."
MAX_AHEAD = 300_000_000
"""Microseconds that a time may be ahead of the server's clock."""


def service_of(request: Request) -> Service:
    """The service that handles a request."""
    service: Service = request.scope["belated"]
    return service


async def parse_body(request: Request, message: type[T], empty: T | None = None) -> T:
    """The body of a request, validated; ``empty`` where there may be none."""
    body = await request.body()
    if empty is not None and not body:
        return empty
    media = request.headers.get("content-type", "")
    if media != "application/json" and media.partition(";")[0].strip().lower() != "application/json":
        given = f"is {media!r}" if media else "is missing"
        raise ProblemType.NOT_JSON.error(f"the content type {given}; send Content-Type: application/json.")
    try:
        decoded = decode_message(body, message)
        if body.count(b":") > 1:
            json.loads(body, object_pairs_hook=_reject_duplicates, parse_int=str, parse_float=str)
        return decoded
    except msgspec.ValidationError as error:
        whole = " - at `$" not in str(error) and not body.lstrip().startswith(b"{")  # not a part of it
        said = f"the body is not an object; send {_outline(message)}" if whole else error
        raise ProblemType.INVALID_BODY.error(f"{said}; {SEE_OPENAPI}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemType.MALFORMED_JSON.error(f"the body is not valid JSON: {error}.") from None


def _outline(message: type[Any]) -> str:
    """An object for a message, with the keys that it has to have or, if there are none, may have."""
    schema = inspect.type_info(message)
    assert isinstance(schema, inspect.StructType)
    needed = [field for field in schema.fields if field.required]
    if not needed:
        return f"{{}}, or an object with any of {', '.join(field.encode_name for field in schema.fields)}"
    return "{" + ", ".join(f'"{field.encode_name}": {_placeholder(field.type)}' for field in needed) + "}"


def _placeholder(schema: inspect.Type) -> str:
    inner = schema.type if isinstance(schema, inspect.Metadata) else schema
    return "[...]" if isinstance(inner, inspect.ListType) else "..."


def decode_message(body: bytes | msgspec.Raw, message: type[T]) -> T:
    """Decode JSON into a message, or raise msgspec's error. 7.0 is accepted as an integer, as JSON has one number
    type."""
    try:
        return msgspec.json.decode(body, type=message)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise
    return msgspec.convert(_to_integers(msgspec.json.decode(body), inspect.type_info(message)), type=message)


def _to_integers(value: Any, schema: inspect.Type) -> Any:
    """Convert integral floats to integers wherever the schema has an integer; metadata is left alone."""
    if isinstance(schema, inspect.IntType) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(schema, inspect.Metadata):
        return _to_integers(value, schema.type)
    if isinstance(schema, inspect.UnionType):  # of one type and None
        return _to_integers(value, next(each for each in schema.types if not isinstance(each, inspect.NoneType)))
    if isinstance(schema, inspect.ListType) and isinstance(value, list):
        return [_to_integers(item, schema.item_type) for item in value]
    if isinstance(schema, inspect.TupleType) and isinstance(value, list) and len(value) == len(schema.item_types):
        return [_to_integers(item, each) for item, each in zip(value, schema.item_types, strict=True)]
    if isinstance(schema, inspect.StructType) and isinstance(value, dict):
        types = {field.encode_name: field.type for field in schema.fields}
        return {key: _to_integers(item, types[key]) if key in types else item for key, item in value.items()}
    return value


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a duplicate key: JSON parsers differ in which value counts."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise ProblemType.MALFORMED_JSON.error(f"the body has the key {twice!r} twice in one object; give it once.")


def check_metadata(metadata: dict[str, Any], count: int) -> None:
    """Refuse metadata that is too large to be written with each of ``count`` decisions, or nested too deeply."""
    depth, nested = 0, [metadata]
    while nested := [item for each in nested for item in _containers(each)]:
        depth += 1
        if depth > MAX_DEPTH:
            raise ProblemType.INVALID_BODY.error(
                f"metadata is nested more than {MAX_DEPTH} levels deep; serialize it to a string instead."
            )
    size = len(msgspec.json.encode(metadata))
    if size > MAX_METADATA or size * count > MAX_BODY:
        raise ProblemType.INVALID_BODY.error(
            f"metadata has {size:,} bytes, for each of {count:,} decisions; give at most {MAX_METADATA:,}, and "
            f"{MAX_BODY:,} for all decisions of a request."
        )


def _containers(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, dict | list)]


def experiment_name(request: Request) -> str:
    """The experiment name in the path; unknown if it is not a valid name."""
    name: str = request.path_params["name"]
    if not _NAME.fullmatch(name):
        raise unknown_experiment(name)
    return name


def decision_id(request: Request) -> str:
    """The decision id in the path; unknown if it is not a valid id."""
    id: str = request.path_params["id"]
    if not _ID.fullmatch(id):
        raise unknown_decision(id)
    return id


def too_large() -> ApiError:
    """The error for a body that is too large."""
    return ProblemType.TOO_LARGE.error(f"a body has at most {MAX_BODY:,} bytes; split the request.")


def parse_time(text: str | None, field: str = "observed_at") -> int | None:
    """A time in microseconds since 1970, if given; refuse one in the future."""
    if text is None:
        return None
    time = timestamps.parse(text)
    if time is None:
        raise ProblemType.INVALID_TIME.error(f"{field} is {text!r}; give RFC 3339, such as 2026-01-31T12:00:00Z.")
    if time > (now := timestamps.now()) + MAX_AHEAD:
        raise ProblemType.INVALID_TIME.error(
            f"{field} is {text!r}, more than {MAX_AHEAD // 60_000_000} minutes ahead of this server's clock "
            f"({timestamps.isoformat(now)}); set the clock right, or leave it out."
        )
    return time


def unsigned(reward: float) -> float:
    """A reward with -0.0, which JSON allows, turned into 0.0.

    >>> unsigned(-0.0), unsigned(0.5)
    (0.0, 0.5)
    """
    return reward + 0.0


# ---- responses ----

PROBLEM_MEDIA = "application/problem+json"
encode = msgspec.json.Encoder().encode


def json_response(message: Any, *, created: bool = False) -> Response:
    """A message with status 200, or 201 if the request created something."""
    return Response(encode(message), 201 if created else 200, media_type="application/json")


def problem_answer(error: ApiError) -> ProblemAnswer:
    """An error as it goes over the wire."""
    type = f"{PREFIX}{error.kind}"
    return ProblemAnswer(type, HTTPStatus(error.status).phrase, error.status, str(error))


def error_response(error: Exception, headers: dict[str, str] | None = None) -> Response:
    """The response to a request that was refused or failed."""
    public = public_error(error)
    all_headers = dict(headers or {})
    if public.status == HTTPStatus.SERVICE_UNAVAILABLE:
        all_headers["Retry-After"] = "1"
    if public.status == HTTPStatus.UNAUTHORIZED:
        all_headers["WWW-Authenticate"] = "Bearer"
    return Response(encode(problem_answer(public)), public.status, all_headers, PROBLEM_MEDIA)
