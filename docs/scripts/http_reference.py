"""The HTTP reference, generated from the routes, the messages, the problem types and the examples."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Any

import http_examples
import msgspec
from markdown_tables import table

from belated.policies import POLICIES
from belated.service.api import GROUPS, openapi
from belated.service.api.messages import doc
from belated.service.api.monitoring import NDJSON, PARQUET, PLAIN
from belated.service.api.openapi import PATH_PARAMETERS
from belated.service.api.routing import ANY_REQUEST, KEYED, NameParameter, QueryParameter, Route
from belated.service.dashboard.counters import Page
from belated.service.problem_types import ProblemType

WIDTH = 100
LONG = 45
"""Examples with more lines are collapsed."""
MEDIA = {
    NDJSON: "Lines of JSON, one [event](#object-EventLine) each; the header `Belated-Cursor` is the next `cursor`.",
    PARQUET: "A Parquet file, for `belated import`, pandas, polars, DuckDB.",
    PLAIN: "The text format of Prometheus.",
}
DASHBOARD_JSON = (
    ("/experiments.json", "The first page of the dashboard as JSON", "ExperimentsAnswer"),
    ("/experiments/{name}.json", "The page of an experiment as JSON: all data of its charts", "Page"),
)
TITLES = {
    "ExperimentAnswer": "Experiment",
    "ArmAnswer": "Arm",
    "SilenceAnswer": "Silence",
    "ExperimentsAnswer": "Experiments",
    "DecisionAnswer": "Decision",
    "DecisionsAnswer": "Decisions",
    "DecisionStatusAnswer": "Decision and its outcome",
    "FeedbacksAnswer": "Results",
    "FeedbackResult": "Result",
    "DelaysAnswer": "Delays",
    "CurveAnswer": "Curve",
    "StateAnswer": "State",
    "EventLine": "Event",
    "ProblemAnswer": "Problem",
    "Page": "Page of an experiment",
    "Feedback": "Feedback",
    "Ages": "Ages",
}
OBJECTS = [
    "ExperimentAnswer",
    "ArmAnswer",
    "SilenceAnswer",
    "ExperimentsAnswer",
    "DecisionAnswer",
    "DecisionsAnswer",
    "DecisionStatusAnswer",
    "FeedbacksAnswer",
    "FeedbackResult",
    "EventLine",
    "DelaysAnswer",
    "CurveAnswer",
    "StateAnswer",
    "ProblemAnswer",
    "Page",
    "Feedback",
    "Traffic",
    "Series",
    "Bracket",
    "Elimination",
    "Ages",
]


class EventLine(msgspec.Struct):
    """A line of ``GET .../events``. Fields that do not apply are omitted."""

    seq: Annotated[int, doc("Its number in the experiment: 1, 2, ..., without a gap.")]
    kind: Annotated[
        str,
        doc(
            "`decided`, `observed`, `imputed`, `replaced` (the true reward after an imputed one), "
            "`cancelled`, `arm-added`, `stopped` or `resumed`."
        ),
    ]
    at: Annotated[str, doc("When it was written.")]
    id: Annotated[str, doc("The id of the decision.")]
    arm: Annotated[str, doc("The arm of the decision.")]
    reward: Annotated[
        float, doc("For `observed`, `imputed` and `replaced`; for `cancelled`, the retracted imputed reward.")
    ]
    deadline: Annotated[str, doc("For `decided`: when silence counts as feedback.")]
    unit: Annotated[str, doc("For `decided`.")]
    metadata: Annotated[dict[str, Any], doc("For `decided`.")]
    count: Annotated[int, doc("For `decided`, in a batch with an id: its number of decisions.")]
    of: Annotated[int, doc("For `decided`, in a batch with an id: the caller's total.")]
    observed_at: Annotated[
        str, doc("For `observed` and `replaced`: when the feedback was observed, if its sender said so.")
    ]
    name: Annotated[str, doc("For `arm-added`: the new arm.")]
    moved: Annotated[
        bool, doc("True if it happened elsewhere, before a bandit was imported; `at` is the time of the import.")
    ]


def http_page() -> str:
    """Return the whole reference: routes, objects, problem types."""
    _, schemas = msgspec.json.schema_components([Page, EventLine], ref_template=openapi.REF)
    schemas = {**schemas, **openapi.document()["components"]["schemas"]}
    rows = [
        [f"[`{route.method} {route.path}`](#{route.name})", route.summary, route.role or "anyone"]
        for group in GROUPS
        for route in group
    ]
    rows += [[f"[`GET {path}`](#{_dashboard_anchor(path)})", summary, "reader"] for path, summary, _ in DASHBOARD_JSON]
    parts = ["## All routes", table(["route", "", "least role"], rows), _everywhere()]
    for group in GROUPS:
        parts += [f"## {group.title}", *(_route(route, schemas) for route in group)]
    parts += ["## The dashboard", *_dashboard_json(schemas), "## Objects", "The objects in responses."]
    parts += [_object(name, schemas) for name in OBJECTS]
    return "\n\n".join([*parts, _problem_types()])


def names_page() -> str:
    """Return the table of the policies' names: over HTTP, and in Python."""
    rows = [
        [f'`"{cls.label}"`', f"[`{name}`](policies.md#policies.{name})", _yes(cls.supports_new_arms)]
        for name, cls in POLICIES.items()
    ]
    return table(["over HTTP, and in responses", "class in `belated.policies`", "takes new arms"], rows)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _everywhere() -> str:
    always = ", ".join(_problem_type(each) for each in ANY_REQUEST)
    keyed = ", ".join(_problem_type(each) for each in KEYED)
    return (
        f"Besides what its own table lists, any request may be refused with {always}; if there are keys, a route with "
        f"a role also with {keyed}. `HEAD` works wherever `GET` does."
    )


# ---- a route ----


def _route(route: Route, schemas: dict[str, Any]) -> str:
    parts = [_heading(f"{route.method} {route.path}", route.name), f"{route.summary}.", _role(route.role)]
    types = {"name": "string of 1 to 64 characters", "id": "string of 1 to 132 characters"}
    rows = [
        [f"`{name}`", "path", types[name], description]
        for name, (_, description) in PATH_PARAMETERS.items()
        if f"{{{name}}}" in route.path
    ]
    rows += [
        [
            f"`{parameter.name}`",
            "query",
            _query_type(parameter),
            parameter.description,
        ]
        for parameter in route.query or ()
    ]
    if rows:
        parts.append(table(["parameter", "in", "type", "meaning"], rows))
    if route.request is not None:
        parts.append(_body(route, schemas))
    rows = [[f"**{status}**", when, _success(route.answer)] for status, when in route.responses.items()]
    rows += [[f"{each.status}", each.when, _problem_type(each)] for each in route.problem_types]
    parts.append(table(["status", "when", "response"], rows))
    return "\n\n".join([*parts, *_examples(f"{route.method} {route.path}")])


def _query_type(parameter: QueryParameter | NameParameter) -> str:
    """What a query parameter may be, in words."""
    if isinstance(parameter, NameParameter):
        return "string of 1 to 64 characters"
    return f"integer from {parameter.minimum} to {_number(parameter.maximum)}; default {parameter.default:,}"


def _heading(route: str, anchor: str) -> str:
    """A heading with a short label in the table of contents."""
    short = route.replace("/v1/experiments/{name}/", "…/").replace("/v1/decisions/{id}/", "…/")
    return f"### {route} {{ #{anchor} data-toc-label='{short}' }}"


def _role(role: str | None) -> str:
    return f"Least role: **{role}**." if role else "Open to anyone, without a key."


def _success(body: Any) -> str:
    if isinstance(body, str):
        return MEDIA[body]
    if isinstance(body, tuple):
        return f"{_linked(body[0].__name__)}; with `count` {_linked(body[1].__name__)}"
    return _linked(body.__name__)


def _linked(name: str) -> str:
    return f"[{TITLES.get(name, name)}](#object-{name})"


def _problem_type(each: ProblemType) -> str:
    return f"[`{each.kind}`](#problem-{each.kind})"


def _body(route: Route, schemas: dict[str, Any]) -> str:
    rows = _fields(schemas[route.request.__name__], schemas)
    note = "\n\nThe body is optional." if route.optional_body else ""
    return table(["field of the body", "type", "", "meaning"], rows) + note


def _fields(schema: Any, schemas: dict[str, Any], prefix: str = "") -> list[list[str]]:
    """The rows of an object's fields, including those of nested objects."""
    rows = []
    for key, field in schema["properties"].items():
        needed = "required" if key in schema.get("required", ()) else _default(field)
        rows.append([_unbroken(prefix + key), _type(field), needed, field["description"]])
        inner = _inner(field)
        if inner in schemas and inner != "Policy":
            mark = "[]." if field.get("type") == "array" else "."
            rows += _fields(schemas[inner], schemas, f"{prefix}{key}{mark}")
    return rows


def _unbroken(key: str) -> str:
    """A key without line breaks."""
    return f"`{key}`{{ .whole }}"


def _default(field: Any) -> str:
    value = field.get("default")
    return "optional" if value is None else f"default `{json.dumps(value)}`"


def _inner(field: Any) -> str:
    """The name of the object that a field holds, or holds a list of."""
    for each in (field, field.get("items", {}), *field.get("anyOf", ()), *field.get("items", {}).get("anyOf", ())):
        if "$ref" in each:
            return str(each["$ref"].rpartition("/")[2])
    return ""


LIMITS = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"))
TIMES = {"created_at", "decided_at", "at"}
ENDS = {"begin", "end"}
"""Fields of responses that hold times."""
TYPE_NAMES = {"array": "list"}


def _type(field: Any) -> str:
    if "anyOf" in field:
        found = [
            _type(each) for each in field["anyOf"] if each.get("type") != "null" and each.get("title") != "OtherItem"
        ]
        return " or ".join(found)
    if "$ref" in field:
        policy = field["$ref"].endswith("/Policy")
        return '`{"name": ..., ...}`, see [policies](#policies)' if policy else "object"
    name = TYPE_NAMES.get(field.get("type"), field.get("type", ""))
    if field.get("format") == "date-time":
        name = "time"
    low = next((field[key] for key in ("minLength", "minItems") if key in field), None)
    high = next((field[key] for key in ("maxLength", "maxItems") if key in field), None)
    items = field.get("items", {}) if field.get("type") == "array" else {}
    of = f"; each {_type(items)}" if items.get("type") in ("string", "integer", "number") else ""
    if high is not None and name != "time":
        unit = "characters" if field["type"] == "string" else "items"
        return f"{name} of {f'{low:,} to' if low is not None else 'at most'} {high:,} {unit}{of}"
    ends = [f"{word} {_number(field[key])}" for key, word in LIMITS if key in field]
    return " ".join([name, *ends]) + of


def _number(value: float) -> str:
    powers = {2**53: "2<sup>53</sup>", 2**62: "2<sup>62</sup>"}
    return powers.get(int(value)) or f"{value:,.15g}"


# ---- examples ----


def _examples(route: str) -> list[str]:
    found = [each for each in json.loads(http_examples.FILE.read_text(encoding="utf-8")) if each["route"] == route]
    return [_example(each) for each in found]


def _example(each: Any) -> str:
    sent = [f"{each['method']} {each['path']} HTTP/1.1"]
    if each["body"] is not None:
        sent += ["Content-Type: application/json", "", laid_out(each["body"])]
    came = [f"HTTP/1.1 {each['status']} {HTTPStatus(each['status']).phrase}", f"Content-Type: {each['medium']}"]
    came += [f"{name}: {value}" for name, value in each["headers"].items()]
    if each["medium"] == "application/x-ndjson":
        came += ["", *(json.dumps(line, ensure_ascii=False) for line in each["answer"])]
    elif each["answer"] is not None:
        came += ["", each["answer"] + "\n..." if isinstance(each["answer"], str) else laid_out(each["answer"])]
    text = f"```http\n{chr(10).join(sent)}\n```\n\n```http\n{chr(10).join(came)}\n```"
    if text.count("\n") <= LONG:
        return text
    return f'<details markdown="1"><summary>Example</summary>\n\n{text}\n\n</details>'


def laid_out(value: Any, indent: int = 0) -> str:
    """JSON for people: on one line what has room there."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list):
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {laid_out(part, indent + 2)}" for key, part in value.items()]
    else:
        lines = [f"{inner}{laid_out(part, indent + 2)}" for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(lines) + "\n" + " " * indent + closing


# ---- the dashboard, objects, problem types ----


def _dashboard_anchor(path: str) -> str:
    return "dashboard-experiments" if path == DASHBOARD_JSON[0][0] else "dashboard-experiment"


def _dashboard_json(schemas: dict[str, Any]) -> list[str]:
    parts = [
        "Each page of the dashboard is also available as JSON, with a reader's key in the header or with the session "
        "cookie that `/login` sets. It is computed at most once a second and has what the page shows; to read "
        "everything, use the events."
    ]
    for path, summary, name in DASHBOARD_JSON:
        rows = [["**200**", "", _linked(name)]]
        if "{name}" in path:
            rows.append(["404", ProblemType.UNKNOWN_EXPERIMENT.when, _problem_type(ProblemType.UNKNOWN_EXPERIMENT)])
        parts.append(f"{_heading(f'GET {path}', _dashboard_anchor(path))}\n\n{summary}.\n\n{_role('reader')}")
        parts += [table(["status", "when", "response"], rows), *_examples(f"GET {path}")]
    return parts


def _object(name: str, schemas: dict[str, Any]) -> str:
    head = f"### {TITLES.get(name, name)} {{ #object-{name} }}"
    if name == "EventLine":
        rows = [[_unbroken(key), field["description"]] for key, field in schemas[name]["properties"].items()]
        return "\n\n".join(
            [head, "A line of the journal. Fields that do not apply are omitted.", table(["field", "meaning"], rows)]
        )
    rows = []
    for key, field in schemas[name]["properties"].items():
        inner = _inner(field)
        type_name = _linked(inner) if inner in OBJECTS else _type(field)
        if inner in OBJECTS and field.get("type") == "array":
            type_name = f"list of {type_name}"
        if any(each.get("type") == "null" for each in field.get("anyOf", ())):
            type_name += " or null"
        if key in TIMES | ENDS:
            type_name = "time" if key in TIMES else type_name.replace("list; each string", "list of times")
        rows.append([_unbroken(key), type_name, field["description"]])
    return "\n\n".join([head, table(["field", "type", "meaning"], rows)])


def _problem_types() -> str:
    rows = [
        [
            f'<span id="problem-{each.kind}">{_unbroken(each.kind)}</span>',
            str(each.status),
            each.when,
            each.remedy,
        ]
        for each in sorted(ProblemType, key=lambda each: (each.status, each.kind))
    ]
    text = (
        "All problem types. The `type` is `urn:belated:problem:` and the name in the first column, and never changes; "
        "the `detail` of a response says what was wrong with this request. `503` comes with `Retry-After`, `401` with "
        "`WWW-Authenticate`, `405` with `Allow`."
    )
    return "\n\n".join(["## Problem types", text, table(["type", "status", "when", "what to do"], rows)])
