"""The HTTP reference, made from the routes, the messages, the problems and the examples."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import http_examples
import msgspec
from markdown_tables import table

from belated.policies._base.policy import POLICIES
from belated.service.api import openapi
from belated.service.api.field_descriptions import FIELDS
from belated.service.api.openapi import PLACES
from belated.service.api.problem_types import ALWAYS, GOOD, KEYED, KINDS, REFUSALS
from belated.service.api.routes import NDJSON, PARQUET, PLAIN, ROUTES, Route
from belated.service.dashboard.schemas import Page

WIDTH = 100
LONG = 45
"""Lines of an example that is folded away."""
MEDIA = {
    NDJSON: "Lines of JSON, an [event](#object-EventLine) each; the header `Belated-Cursor` is the next `cursor`.",
    PARQUET: "A Parquet file, for `belated import`, pandas, polars, DuckDB.",
    PLAIN: "Text, as Prometheus reads it.",
}
GROUPS = {
    "Experiments": ("create", "experiments", "experiment", "add_arm", "stop", "resume", "history"),
    "Decisions and feedback": ("decide", "feedback", "feedbacks", "cancel", "decision"),
    "What happened": ("events", "export", "delays"),
    "The server": ("livez", "readyz", "metrics"),
}
TWINS = (
    ("/experiments.json", "The dashboard's first page as JSON", "ExperimentsAnswer"),
    ("/experiments/{name}.json", "An experiment's page as JSON: all that its charts are drawn from", "Page"),
)
TITLES = {
    "ExperimentAnswer": "Experiment",
    "ArmAnswer": "Arm",
    "SilenceAnswer": "Silence",
    "ExperimentsAnswer": "Experiments",
    "DecisionAnswer": "Decision",
    "DecisionsAnswer": "Decisions",
    "DecisionStatusAnswer": "Decision and what became of it",
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


def http_page() -> str:
    """Return the whole reference: routes, objects, problems."""
    routes = {route.handler.__name__: route for route in ROUTES}
    schemas = {**openapi.document()["components"]["schemas"], **_of_pages()}
    rows = [
        [f"[`{route.method} {route.path}`](#{name})", route.summary, route.role or "everybody"]
        for names in GROUPS.values()
        for name, route in ((name, routes[name]) for name in names)
    ]
    rows += [[f"[`GET {path}`](#{_twin(path)})", summary, "reader"] for path, summary, _ in TWINS]
    parts = ["## All routes", table(["route", "", "least role"], rows), _everywhere()]
    for title, names in GROUPS.items():
        parts += [f"## {title}", *(_route(routes[name], schemas) for name in names)]
    parts += ["## The dashboard", *_twins(schemas), "## Objects", "What answers are made of."]
    parts += [_object(name, schemas) for name in OBJECTS]
    return "\n\n".join([*parts, _problems()])


def names_page() -> str:
    """Return the table of the policies' names: over HTTP, and in Python."""
    rows = [
        [f'`"{cls.label}"`', f"[`{name}`](policies.md#policies.{name})", _yes(cls.supports_new_arms)]
        for name, cls in POLICIES.items()
    ]
    return table(["over HTTP, and in answers", "class in `belated.policies`", "takes new arms"], rows)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _of_pages() -> dict[str, Any]:
    _, found = msgspec.json.schema_components([Page], ref_template=openapi.REF)
    return {
        name: {**schema, "properties": {key: {**given} for key, given in schema["properties"].items()}}
        for name, schema in found.items()
    }


def _everywhere() -> str:
    always = ", ".join(_problem(name) for name in ALWAYS)
    keyed = ", ".join(_problem(name) for name in KEYED)
    return (
        f"Beside what its own table says, any request may be refused with {always}; where there are keys, a route with "
        f"a role also with {keyed}. `HEAD` is answered wherever `GET` is."
    )


# ---- a route ----


def _route(route: Route, schemas: dict[str, Any]) -> str:
    name = route.handler.__name__
    parts = [_heading(f"{route.method} {route.path}", name), f"{route.summary}.", _role(route.role)]
    places = [each for each in ("name", "id") if f"{{{each}}}" in route.path]
    kinds = {"name": "text of 1 to 64 characters", "id": "text of 1 to 132 characters"}
    rows = [[f"`{each}`", "path", kinds[each], PLACES[each]] for each in places]
    rows += [
        [f"`{each}`", "query", f"whole number from {low} to {_number(high)}; if left out {default:,}", PLACES[each]]
        for each, low, high, default in route.query
    ]
    if rows:
        parts.append(table(["parameter", "in", "what it may be", "meaning"], rows))
    if route.takes is not None:
        parts.append(_body(route, schemas))
    rows = [[f"**{status}**", GOOD.get(name, {}).get(status, ""), _gives(kind)] for status, kind in route.gives.items()]
    rows += [
        [f"{KINDS[kind].status}", KINDS[kind].when, _problem(kind)]
        for kind in sorted(REFUSALS[name], key=lambda kind: KINDS[kind].status)
    ]
    parts.append(table(["status", "when", "what comes"], rows))
    return "\n\n".join([*parts, *_examples(f"{route.method} {route.path}")])


def _heading(route: str, anchor: str) -> str:
    """A heading, whose line in the table of contents is short enough to be told from others."""
    short = route.replace("/v1/experiments/{name}/", "…/").replace("/v1/decisions/{id}/", "…/")
    return f"### {route} {{ #{anchor} data-toc-label='{short}' }}"


def _role(role: str | None) -> str:
    return f"Least role: **{role}**." if role else "Everybody may, without a key."


def _gives(kind: Any) -> str:
    if isinstance(kind, str):
        return MEDIA[kind]
    if isinstance(kind, tuple):
        return f"{_linked(kind[0].__name__)}; with `count` {_linked(kind[1].__name__)}"
    return _linked(kind.__name__)


def _linked(name: str) -> str:
    return f"[{TITLES.get(name, name)}](#object-{name})"


def _problem(kind: str) -> str:
    return f"[`{kind}`](#problem-{kind})"


def _body(route: Route, schemas: dict[str, Any]) -> str:
    rows = _fields(schemas[route.takes.__name__], schemas, route.takes.__name__)
    note = "\n\nThe body may be left out." if route.optional else ""
    return table(["key of the body", "what it may be", "", "meaning"], rows) + note


def _fields(schema: Any, schemas: dict[str, Any], name: str, before: str = "") -> list[list[str]]:
    """The rows of an object's keys, those of objects within it too."""
    rows = []
    for key, given in schema["properties"].items():
        needed = "required" if key in schema.get("required", ()) else _default(given)
        rows.append([_whole(before + key), _kind(given), needed, FIELDS[name][key]])
        inner = _inner(given)
        if inner in schemas and inner != "Policy":
            mark = "[]." if given.get("type") == "array" else "."
            rows += _fields(schemas[inner], schemas, inner, f"{before}{key}{mark}")
    return rows


def _whole(key: str) -> str:
    """A key that no line break divides."""
    return f"`{key}`{{ .whole }}"


def _default(given: Any) -> str:
    value = given.get("default")
    return "optional" if value is None else f"if left out `{json.dumps(value)}`"


def _inner(given: Any) -> str:
    """The name of the object that a field holds, or holds a list of."""
    for each in (given, given.get("items", {}), *given.get("anyOf", ()), *given.get("items", {}).get("anyOf", ())):
        if "$ref" in each:
            return str(each["$ref"].rpartition("/")[2])
    return ""


LIMITS = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"))
TIMES = {"created_at", "decided_at", "at"}
ENDS = {"begin", "end"}
"""Of answers: fields that hold times."""
WORDS = {"string": "text", "array": "list", "boolean": "true or false", "integer": "whole number"}


def _kind(given: Any) -> str:
    if "anyOf" in given:
        found = [
            _kind(each) for each in given["anyOf"] if each.get("type") != "null" and each.get("title") != "OtherItem"
        ]
        return " or ".join(found)
    if "$ref" in given:
        name = given["$ref"].rpartition("/")[2]
        return '`{"name": ..., ...}`, see [policies](#policies)' if name == "Policy" else "object"
    kind = WORDS.get(given.get("type"), given.get("type", ""))
    if given.get("format") == "date-time":
        kind = "time"
    low = next((given[key] for key in ("minLength", "minItems") if key in given), None)
    high = next((given[key] for key in ("maxLength", "maxItems") if key in given), None)
    items = given.get("items", {}) if given.get("type") == "array" else {}
    of = f"; each {_kind(items)}" if items.get("type") in ("string", "integer", "number") else ""
    if high is not None and kind != "time":
        unit = "characters" if given["type"] == "string" else "items"
        return f"{kind} of {f'{low:,} to' if low is not None else 'at most'} {high:,} {unit}{of}"
    ends = [f"{word} {_number(given[key])}" for key, word in LIMITS if key in given]
    return " ".join([kind, *ends]) + of


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


# ---- the dashboard, objects, problems ----


def _twin(path: str) -> str:
    return "twin-experiments" if path == TWINS[0][0] else "twin-experiment"


def _twins(schemas: dict[str, Any]) -> list[str]:
    parts = [
        "Each page of the dashboard has a twin that programs read. A reader's key in the header opens it, and so does "
        "the ticket that `/login` put into the browser's cookie. They are computed at most every other second, and "
        "show what a page shows; to read everything, use the events."
    ]
    for path, summary, name in TWINS:
        rows = [["**200**", "", _linked(name)]]
        if "{name}" in path:
            rows.append(["404", KINDS["unknown-experiment"].when, _problem("unknown-experiment")])
        parts.append(f"{_heading(f'GET {path}', _twin(path))}\n\n{summary}.\n\n{_role('reader')}")
        parts += [table(["status", "when", "what comes"], rows), *_examples(f"GET {path}")]
    return parts


def _object(name: str, schemas: dict[str, Any]) -> str:
    head = f"### {TITLES.get(name, name)} {{ #object-{name} }}"
    if name == "EventLine":
        rows = [[_whole(key), meaning] for key, meaning in FIELDS[name].items()]
        return "\n\n".join(
            [head, "A line of the journal. What does not apply is left out.", table(["key", "meaning"], rows)]
        )
    rows = []
    for key, given in schemas[name]["properties"].items():
        inner = _inner(given)
        kind = _linked(inner) if inner in OBJECTS else _kind(given)
        if inner in OBJECTS and given.get("type") == "array":
            kind = f"list of {kind}"
        if any(each.get("type") == "null" for each in given.get("anyOf", ())):
            kind += " or null"
        kind = "time" if key in TIMES else kind.replace("list; each text", "list of times") if key in ENDS else kind
        rows.append([_whole(key), kind, FIELDS[name][key]])
    return "\n\n".join([head, table(["key", "type", "meaning"], rows)])


def _problems() -> str:
    rows = [
        [f'<span id="problem-{name}">{_whole(name)}</span>', str(kind.status), kind.when, kind.do]
        for name, kind in sorted(KINDS.items(), key=lambda item: (item[1].status, item[0]))
    ]
    text = (
        "Every kind of error. The `type` is `urn:belated:problem:` and the name in the first column, and never "
        "changes; the `detail` of an answer says what was given in this request. `503` comes with `Retry-After`, `401` "
        "with `WWW-Authenticate`, `405` with `Allow`."
    )
    return "\n\n".join(["## Problems", text, table(["type", "status", "when", "what to do"], rows)])
