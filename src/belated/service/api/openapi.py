"""The API's document, OpenAPI 3.1, made from the routes and the messages."""

from __future__ import annotations

import math
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from belated._version import __version__
from belated.policies._base.policy import POLICIES
from belated.service.api import problem_types
from belated.service.api.field_descriptions import FIELDS, PARAMETERS
from belated.service.api.handlers import CURSOR, events
from belated.service.api.messages import (
    ExperimentName,
    ExperimentRequest,
    FeedbackItem,
    HistoryRequest,
    Id,
    ProblemAnswer,
)
from belated.service.api.problem_types import GOOD, KINDS, kinds_of
from belated.service.api.problems import MEDIA
from belated.service.api.routes import ROUTES, Route
from belated.validation import HUGE, Domain, Parameter, fields_of

REF = "#/components/schemas/{name}"
ALWAYS = tuple(sorted({KINDS[name].status for name in problem_types.ALWAYS}))
"""What any request may be refused with."""
HEADERS = {
    401: ("WWW-Authenticate", "Which kind of key is wanted."),
    503: ("Retry-After", "Seconds after which to come again."),
}
"""What comes with some of the errors."""
PLACES = {
    "name": "The experiment's name.",
    "id": "The decision's id, percent-encoded where it must be.",
    "cursor": f"Events behind this number: 0, `last_event`, or what the header {CURSOR} said.",
    "limit": "How many events at the most.",
}
"""What stands in an address."""


@cache
def document() -> dict[str, Any]:
    """All of it."""
    used = [kind for route in ROUTES for kind in _kinds(route)]
    named = list(dict.fromkeys([*used, FeedbackItem, ProblemAnswer]))
    _, schemas = msgspec.json.schema_components(named, ref_template=REF)
    policy = {"$ref": REF.format(name="Policy")}
    schemas[HistoryRequest.__name__]["properties"]["policy"] = {**policy}
    schemas[ExperimentRequest.__name__]["properties"]["policy"] = {"anyOf": [policy, {"type": "null"}], "default": None}
    for name, schema in schemas.items():
        for field, given in schema["properties"].items():
            given["description"] = FIELDS[name][field]
    schemas["Policy"] = _policies()
    schemas["FeedbacksRequest"]["properties"]["feedback"]["items"] = _items()
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "belated",
            "version": __version__,
            "description": "Decisions whose answers come late, or never.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "belated keys create --role ROLE"}
            },
        },
    }


@cache
def text() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(document())


def _kinds(route: Route) -> list[Any]:
    given = [each for kind in route.gives.values() for each in (kind if isinstance(kind, tuple) else (kind,))]
    return [kind for kind in (route.takes, *given) if isinstance(kind, type)]


def _operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.handler.__name__}",
        "summary": route.summary,
        "responses": {str(status): _answer(status, kind) for status, kind in sorted(route.gives.items())},
    }
    for status, when in GOOD.get(route.handler.__name__, {}).items():
        found["responses"][str(status)]["description"] = when
    refused = {*route.refuses, *((401, 403) if route.role else ()), *ALWAYS}
    for status in sorted(refused):
        found["responses"][str(status)] = _answer(status, ProblemAnswer, MEDIA)
        found["responses"][str(status)]["description"] = _whens(route, status)
        if status in HEADERS:
            found["responses"][str(status)]["headers"] = _header(*HEADERS[status])
    if route.handler is events:
        found["responses"]["200"]["headers"] = _header(CURSOR, "The cursor of the next page.")
    parameters = [*_in_path(route), *_in_query(route)]
    if parameters:
        found["parameters"] = parameters
    if route.takes is not None:
        schema = {"$ref": REF.format(name=route.takes.__name__)}
        found["requestBody"] = {"required": not route.optional, "content": {"application/json": {"schema": schema}}}
    if route.role:
        found["security"] = [{"bearer": []}]
        found["x-role"] = route.role
    return found


def _whens(route: Route, status: int) -> str:
    """When a route answers with a status that is no good one."""
    names = [name for name in kinds_of(route.handler.__name__, route.role) if KINDS[name].status == status]
    return " ".join(f"{name}: {KINDS[name].when}" for name in names)


def _answer(status: int, kind: Any, medium: str = "application/json") -> dict[str, Any]:
    if isinstance(kind, str):
        content: dict[str, Any] = {kind: {}}
    elif isinstance(kind, tuple):
        content = {medium: {"schema": {"anyOf": [{"$ref": REF.format(name=each.__name__)} for each in kind]}}}
    else:
        content = {medium: {"schema": {"$ref": REF.format(name=kind.__name__)}}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _header(name: str, text: str) -> dict[str, Any]:
    return {name: {"description": text, "required": True, "schema": {"type": "string"}}}


def _in_path(route: Route) -> list[dict[str, Any]]:
    problem_types = {"name": ExperimentName, "id": Id}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": PLACES[name],
            "schema": msgspec.json.schema(kind),
        }
        for name, kind in problem_types.items()
        if f"{{{name}}}" in route.path
    ]


def _in_query(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "query",
            "description": PLACES[name],
            "schema": {"type": "integer", "minimum": low, "maximum": high, "default": default},
        }
        for name, low, high, default in route.query
    ]


def _items() -> dict[str, Any]:
    """Of several feedbacks: any object is read, and one that is no feedback is refused in its result."""
    other = {
        "type": "object",
        "title": "OtherItem",
        "description": "Any other object: its result has the status 422 and says what is wrong.",
    }
    return {"anyOf": [{"$ref": REF.format(name="FeedbackItem")}, other]}


def _policies() -> dict[str, Any]:
    return {
        "title": "Policy",
        "description": "A policy by its label or its class, with its parameters.",
        "anyOf": [_policy(name, cls) for name, cls in POLICIES.items()],
    }


def _policy(name: str, cls: Any) -> dict[str, Any]:
    parameters = fields_of(cls)
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "title": name,
        "description": cls.formula,
        "properties": {
            "name": {"enum": list(dict.fromkeys([cls.label, name]))},
            **{each.name: _parameter(name, each) for each in parameters},
        },
        "required": ["name", *required],
        "additionalProperties": False,
    }


def _parameter(policy: str, parameter: Parameter) -> dict[str, Any]:
    found = _number(parameter.domain) if parameter.domain is not None else {"type": "boolean"}
    meaning = PARAMETERS.get(policy, {}).get(parameter.name)
    return found if meaning is None else {**found, "description": meaning}


def _number(domain: Domain) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "integer" if domain.whole else "number"}
    if domain.low > -math.inf:
        found["exclusiveMinimum" if domain.open_low else "minimum"] = domain.low
    if domain.high < math.inf:
        found["exclusiveMaximum" if domain.open_high else "maximum"] = domain.high
    else:
        found["exclusiveMaximum"] = HUGE
    return {"anyOf": [found, {"type": "null"}]} if domain.optional else found
