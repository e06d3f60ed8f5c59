"""The OpenAPI 3.1 document, generated from the routes and the messages."""

from __future__ import annotations

import math
from functools import cache
from http import HTTPStatus
from itertools import groupby
from typing import Any

import msgspec

from belated._version import __version__
from belated.parameter_docs import parameter_texts
from belated.policies import POLICIES
from belated.policies._base.names import superseded_note
from belated.service.api import ROUTES, messages, monitoring
from belated.service.api.codec import PROBLEM_MEDIA
from belated.service.api.routing import Route
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
_PATIENCE = (
    "The longest plausible delay, in decisions of the experiment, not in seconds: how many it makes, at its busiest, "
    "while feedback may still arrive. Default: "
)
POLICY_PARAMETERS: dict[str, dict[str, str]] = {
    "ImputedUCB": {"patience": f"{_PATIENCE}estimated from the delays so far."},
    "SafeImputedUCB": {"patience": f"{_PATIENCE}estimated from the delays so far."},
    "PendingUCB": {"patience": f"{_PATIENCE}4 times the longest delay of the arm so far."},
}
"""Parameters of policies whose meaning differs over HTTP."""


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    used = [message for route in ROUTES for message in (route.request, *_answers(route)) if isinstance(message, type)]
    named = dict.fromkeys([*used, messages.FeedbackItem, messages.ProblemAnswer])
    _, schemas = msgspec.json.schema_components(named, ref_template=REF)
    policy = {"$ref": REF.format(name="Policy")}
    _replace(schemas, messages.HistoryRequest, policy)
    _replace(schemas, messages.ExperimentRequest, {"anyOf": [policy, {"type": "null"}], "default": None})
    schemas["Policy"] = {
        "title": "Policy",
        "description": "A policy by its label or its class, with its parameters.",
        "anyOf": [_policy(name, cls) for name, cls in POLICIES.items()],
    }
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


def _replace(schemas: dict[str, Any], message: type, schema: dict[str, Any]) -> None:
    """Put another schema in the place of a message's policy, under the same description."""
    properties = schemas[message.__name__]["properties"]
    properties["policy"] = {**schema, "description": properties["policy"]["description"]}


def _answers(route: Route) -> tuple[Any, ...]:
    return route.answer if isinstance(route.answer, tuple) else (route.answer,)


def _operation(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, when in sorted(route.responses.items()):
        content = _content("application/json", *_answers(route))
        responses[str(status)] = {"description": when or HTTPStatus(status).phrase, "content": content}
    for status, types in groupby(route.all_problem_types(), lambda each: each.status):
        description = " ".join(f"{each.kind}: {each.when}" for each in types)
        content = _content(PROBLEM_MEDIA, messages.ProblemAnswer)
        responses[str(status)] = {"description": description, "content": content}
        if status in ERROR_HEADERS:
            responses[str(status)]["headers"] = _header(*ERROR_HEADERS[status])
    if route.handler is monitoring.events:
        responses["200"]["headers"] = _header(monitoring.CURSOR_HEADER, "The cursor of the next page.")
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{route.name}",
        "summary": route.summary,
        "responses": responses,
    }
    if parameters := _parameters(route):
        operation["parameters"] = parameters
    if route.request is not None:
        content = _content("application/json", route.request)
        operation["requestBody"] = {"required": not route.optional_body, "content": content}
    if route.role:
        operation["security"] = [{"bearer": []}]
        operation["x-role"] = route.role
    return operation


def _content(media: str, *bodies: Any) -> dict[str, Any]:
    """The content of a request or response: one of several messages, or another media type."""
    if isinstance(bodies[0], str):
        return {bodies[0]: {}}
    schemas = [{"$ref": REF.format(name=body.__name__)} for body in bodies]
    return {media: {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}


def _header(name: str, description: str) -> dict[str, Any]:
    return {name: {"description": description, "required": True, "schema": {"type": "string"}}}


def _parameters(route: Route) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    for name, (type, description) in PATH_PARAMETERS.items():
        if f"{{{name}}}" in route.path:
            schema = msgspec.json.schema(type)
            parameters.append(
                {"name": name, "in": "path", "required": True, "description": description, "schema": schema}
            )
    parameters += [
        {"name": each.name, "in": "query", "description": each.description, "schema": each.schema}
        for each in route.query or ()
    ]
    return parameters


def _policy(name: str, cls: Any) -> dict[str, Any]:
    parameters = fields_of(cls)
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "title": name,
        "description": f"{cls.formula}. {superseded_note(cls)}" if cls.superseded_by else cls.formula,
        **({"deprecated": True} if cls.superseded_by else {}),
        "properties": {
            "name": {"enum": list(dict.fromkeys([cls.label, name]))},
            **{each.name: _policy_parameter(name, each) for each in parameters},
        },
        "required": ["name", *required],
        "additionalProperties": False,
    }


def _policy_parameter(policy: str, parameter: Parameter) -> dict[str, Any]:
    schema = _number(parameter.domain) if parameter.domain is not None else {"type": "boolean"}
    written = parameter_texts(POLICIES[policy])[parameter.name].replace("``", "`")
    return {**schema, "description": POLICY_PARAMETERS.get(policy, {}).get(parameter.name, written)}


def _number(domain: Domain) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if domain.whole else "number"}
    if domain.low > -math.inf:
        schema["exclusiveMinimum" if domain.open_low else "minimum"] = domain.low
    if domain.high < math.inf:
        schema["exclusiveMaximum" if domain.open_high else "maximum"] = domain.high
    else:
        schema["exclusiveMaximum"] = HUGE
    words = [{"enum": list(domain.words)}] if domain.words else []
    return {"anyOf": [schema, *words, {"type": "null"}]} if domain.optional or words else schema
