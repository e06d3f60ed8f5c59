"""Errors as RFC 9457 says: a stable type, a title, the status, and what to do."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from belated.errors import ApiError
from belated.service.api.messages import ProblemAnswer

MEDIA = "application/problem+json"


def problem(refused: ApiError) -> ProblemAnswer:
    """A refusal as it goes over the wire."""
    title = HTTPStatus(refused.status).phrase
    return ProblemAnswer(f"urn:belated:problem:{refused.kind}", title, refused.status, str(refused))


def problem_response(refused: ApiError, headers: dict[str, str] | None = None) -> Response:
    """The answer to a request that was refused."""
    more = dict(headers or {})
    if refused.status in (429, 503):
        more["Retry-After"] = "1"
    if refused.status == HTTPStatus.UNAUTHORIZED:
        more["WWW-Authenticate"] = "Bearer"
    return Response(msgspec.json.encode(problem(refused)), refused.status, more, MEDIA)
