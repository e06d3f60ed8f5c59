"""Responses: messages as JSON, errors as problems (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from belated.errors import ApiError
from belated.service.api.messages import ProblemAnswer
from belated.service.problems import PREFIX

PROBLEM_MEDIA = "application/problem+json"
encode = msgspec.json.Encoder().encode


def json_response(message: Any, *, created: bool = False) -> Response:
    """A message with status 200, or 201 if the request created something."""
    return Response(encode(message), 201 if created else 200, media_type="application/json")


def problem_answer(error: ApiError) -> ProblemAnswer:
    """An error as it goes over the wire."""
    return ProblemAnswer(f"{PREFIX}{error.kind}", HTTPStatus(error.status).phrase, error.status, str(error))


def problem_response(error: ApiError, headers: dict[str, str] | None = None) -> Response:
    """The response to a refused request."""
    all_headers = dict(headers or {})
    if error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        all_headers["Retry-After"] = "1"
    if error.status == HTTPStatus.UNAUTHORIZED:
        all_headers["WWW-Authenticate"] = "Bearer"
    return Response(encode(problem_answer(error)), error.status, all_headers, PROBLEM_MEDIA)
