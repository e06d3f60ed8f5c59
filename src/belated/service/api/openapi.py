"""The OpenAPI 3.1 document, generated from the routes and the messages."""

from __future__ import annotations

import math
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from belated._version import __version__
from belated.policies import POLICIES
from belated.service.api import messages, monitoring
from belated.service.api.responses import PROBLEM_MEDIA
from belated.service.api.route import Route
from belated.service.api.router import ROUTES
from belated.validation import HUGE, Domain, Parameter, fields_of

REF = "#/components/schemas/{name}"
ERROR_HEADERS = {
    401: ("WWW-Authenticate", "The authentication scheme."),
    503: ("Retry-After", "Seconds to wait before a retry."),
}
"""Headers of some of the errors."""
PATH_PARAMETERS = {
    "name": (messages.ExperimentName, "The name of the experiment."),
    "id": (messages.Id, "The id of the decision, percent-encoded where necessary."),
}
POLICY_PARAMETERS: dict[str, dict[str, str]] = {
    "PendingUCB": {
        "patience": "The longest plausible delay, in decisions of the experiment, not in seconds: how many it makes, "
        "at its busiest, while feedback may still arrive. Default: 4 times the longest delay of the arm so far.",
    },
    "PrefixUCB": {"spread": "Whether pulls are spread over the arms while feedback is pending."},
}
"""Parameters of policies whose meaning differs over HTTP, or that are not numbers."""


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    used = [message for route in ROUTES for message in _messages(route)]
    named = list(dict.fromkeys([*used, messages.FeedbackItem, messages.ProblemAnswer]))
    _, schemas = msgspec.json.schema_components(named, ref_template=REF)
    policy = {"$ref": REF.format(name="Policy")}
    _replace(schemas, messages.HistoryRequest, "policy", policy)
    _replace(schemas, messages.ExperimentRequest, "policy", {"anyOf": [policy, {"type": "null"}], "default": None})
    schemas["Policy"] = _policies()
    schemas["FeedbacksRequest"]["properties"]["feedback"]["items"] = _feedback_items()
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "belated",
            "version": __version__,
            "description": "Decisions whose feedback comes late, or never.",
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
def document_json() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(document())


def _replace(schemas: dict[str, Any], message: type, field: str, schema: dict[str, Any]) -> None:
    """Put another schema in the place of a field's, under the same description."""
    properties = schemas[message.__name__]["properties"]
    properties[field] = {**schema, "description": properties[field]["description"]}


def _messages(route: Route) -> list[Any]:
    bodies = [
        body
        for success in route.responses.values()
        for body in (success.body if isinstance(success.body, tuple) else (success.body,))
    ]
    return [body for body in (route.request, *bodies) if isinstance(body, type)]


def _operation(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, success in sorted(route.responses.items()):
        responses[str(status)] = _response(success.when or HTTPStatus(status).phrase, success.body)
    by_status: dict[int, list[str]] = {}
    for problem in route.all_problems():
        by_status.setdefault(problem.status, []).append(f"{problem.name}: {problem.when}")
    for status, descriptions in by_status.items():
        responses[str(status)] = _response(" ".join(descriptions), messages.ProblemAnswer, PROBLEM_MEDIA)
        if status in ERROR_HEADERS:
            responses[str(status)]["headers"] = _header(*ERROR_HEADERS[status])
    if route.handler is monitoring.events:
        responses["200"]["headers"] = _header(monitoring.CURSOR_HEADER, "The cursor of the next page.")
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.name}",
        "summary": route.summary,
        "responses": responses,
    }
    parameters = [*_path_parameters(route), *_query_parameters(route)]
    if parameters:
        operation["parameters"] = parameters
    if route.request is not None:
        schema = {"$ref": REF.format(name=route.request.__name__)}
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": not route.optional_body, "content": content}
    if route.role:
        operation["security"] = [{"bearer": []}]
        operation["x-role"] = route.role
    return operation


def _response(description: str, body: Any, media: str = "application/json") -> dict[str, Any]:
    if isinstance(body, str):
        content: dict[str, Any] = {body: {}}
    elif isinstance(body, tuple):
        content = {media: {"schema": {"anyOf": [{"$ref": REF.format(name=each.__name__)} for each in body]}}}
    else:
        content = {media: {"schema": {"$ref": REF.format(name=body.__name__)}}}
    return {"description": description, "content": content}


def _header(name: str, description: str) -> dict[str, Any]:
    return {name: {"description": description, "required": True, "schema": {"type": "string"}}}


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": msgspec.json.schema(schema),
        }
        for name, (schema, description) in PATH_PARAMETERS.items()
        if f"{{{name}}}" in route.path
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "description": parameter.description,
            "schema": {
                "type": "integer",
                "minimum": parameter.minimum,
                "maximum": parameter.maximum,
                "default": parameter.default,
            },
        }
        for parameter in route.query
    ]


def _feedback_items() -> dict[str, Any]:
    """Batch feedback takes any object; one that is not a feedback is refused in its result."""
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
            **{each.name: _policy_parameter(name, each) for each in parameters},
        },
        "required": ["name", *required],
        "additionalProperties": False,
    }


def _policy_parameter(policy: str, parameter: Parameter) -> dict[str, Any]:
    schema = _number(parameter.domain) if parameter.domain is not None else {"type": "boolean"}
    description = POLICY_PARAMETERS.get(policy, {}).get(parameter.name)
    return schema if description is None else {**schema, "description": description}


def _number(domain: Domain) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if domain.whole else "number"}
    if domain.low > -math.inf:
        schema["exclusiveMinimum" if domain.open_low else "minimum"] = domain.low
    if domain.high < math.inf:
        schema["exclusiveMaximum" if domain.open_high else "maximum"] = domain.high
    else:
        schema["exclusiveMaximum"] = HUGE
    return {"anyOf": [schema, {"type": "null"}]} if domain.optional else schema
