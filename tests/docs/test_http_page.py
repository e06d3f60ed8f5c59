"""The HTTP reference: complete, and its examples are what a server answers."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pages import ROOT
from serving import hosting

from belated.service.api import ROUTES, openapi
from belated.service.api.routing import ANY_REQUEST, KEYED
from belated.service.dashboard.counters import Page
from belated.service.problem_types import ProblemType

SCRIPTS = ROOT / "docs" / "scripts"


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[None]:
    """The modules that make the page can be imported."""
    sys.path.insert(0, str(SCRIPTS))
    yield
    sys.path.remove(str(SCRIPTS))


def page() -> str:
    from http_reference import http_page

    text: str = http_page()
    return text


# ---- problem types ----


def raised() -> Iterator[str]:
    """The name of every problem type that the service's code raises: ``ProblemType.NAME.error(...)``."""
    for path in sorted((ROOT / "src/belated/service").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).removeprefix("ProblemType.")
                if called.endswith(".error") and called.removesuffix(".error").isupper():
                    yield called.removesuffix(".error").lower().replace("_", "-")
                if called == "ApiError":
                    assert path.name == "problem_types.py", f"{path}: raise a problem type"


def test_every_problem_type_is_raised_somewhere() -> None:
    assert {each.kind for each in ProblemType} == set(raised())


def test_every_problem_type_is_one_of_a_route_or_of_none() -> None:
    used = {each.kind for each in (*ANY_REQUEST, *KEYED, *(each for route in ROUTES for each in route.problem_types))}
    of_none = {"not-found", "method-not-allowed", "invalid-silence"}  # the last: a body out of range is invalid-body
    assert {each.kind for each in ProblemType} - used == of_none


TYPES = {
    400: {"malformed-json"},
    401: {"no-key", "unknown-key"},
    403: {"not-allowed", "other-origin"},
    404: {"unknown-experiment", "unknown-decision", "not-found"},
    405: {"method-not-allowed"},
    409: {
        "experiment-exists",
        "experiment-stopped",
        "id-in-use",
        "ambiguous-id",
        "arm-exists",
        "policy-is-closed",
        "conflicting-feedback",
        "decision-cancelled",
        "decision-observed",
        "cannot-replace",
        "cannot-take-back",
        "history-differs",
        "history-out-of-order",
        "cursor-ahead",
    },
    413: {"too-large"},
    415: {"not-json"},
    421: {"other-host"},
    422: {
        "invalid-body",
        "invalid-name",
        "invalid-arms",
        "invalid-experiment",
        "unknown-policy",
        "unknown-parameter",
        "invalid-policy",
        "invalid-silence",
        "invalid-time",
        "invalid-query",
    },
    500: {"unforeseen", "experiment-damaged"},
    503: {"busy", "stopped", "storage", "newer-schema"},
}
"""Every problem type by its status. Clients rely on them: add, but do not change."""


def test_every_problem_type_has_its_status() -> None:
    assert {(each.status, each.kind) for each in ProblemType} == {
        (status, name) for status, names in TYPES.items() for name in names
    }


def test_the_document_has_the_statuses_of_each_route() -> None:
    for route in ROUTES:
        responses = openapi.document()["paths"][route.path][route.method.lower()]["responses"]
        refused = {each.status for each in route.all_problem_types()}
        assert {int(status) for status in responses} == refused | set(route.responses), route.path
        for each in route.all_problem_types():
            assert f"{each.kind}: {each.when}" in responses[str(each.status)]["description"]


# ---- fields ----


def fields() -> dict[str, dict[str, str]]:
    """The description of every field, by object."""
    from http_reference import EventLine

    schemas = dict(openapi.document()["components"]["schemas"])
    del schemas["Policy"]
    schemas |= msgspec.json.schema_components([Page, EventLine])[1]
    return {
        name: {key: field.get("description", "") for key, field in schema["properties"].items()}
        for name, schema in schemas.items()
    }


def test_every_field_has_a_meaning() -> None:
    assert [(name, key) for name, each in fields().items() for key, text in each.items() if not text] == []


def test_what_is_easily_mistaken_is_said() -> None:
    assert "not a time" in fields()["ArmAnswer"]["eliminated_at"]
    assert "when it was imputed" in fields()["DecisionStatusAnswer"]["observed_at"]


# ---- the page ----


def test_every_route_is_on_the_page_with_an_example() -> None:
    text = page()
    twins = ["GET /experiments.json", "GET /experiments/{name}.json"]
    for name in [*(f"{route.method} {route.path}" for route in ROUTES), *twins]:
        _, _, after = text.partition(f"\n### {name} {{ #")
        section = re.split(r"^##", after, maxsplit=1, flags=re.MULTILINE)[0]
        assert section.count("```http") >= 2, name
        assert "| status | when | response |" in section, name
    for key in ("`silence.after`", "`feedback[].reward`", "`cursor`", "`limit`", "`policy`"):
        assert key in text
    for each in ProblemType:
        assert f'id="problem-{each.kind}"' in text
    linked = set(re.findall(r"\]\(#([\w-]+)\)", text))
    there = set(re.findall(r"\{ #([\w-]+)", text)) | set(re.findall(r'id="([\w-]+)"', text)) | {"policies"}
    assert linked <= there


def test_the_names_of_policies_are_those_of_the_registry() -> None:
    from http_reference import names_page

    assert '`"OPSE"` | [`OptimisticPessimisticElimination`]' in names_page()
    assert '`"Thompson"` | [`ThompsonSampling`]' in names_page()
    text = (ROOT / "docs/reference/http.md").read_text(encoding="utf-8")
    assert "<!-- generated: http -->" in text
    assert "<!-- generated: names -->" in text


def test_the_examples_are_what_a_server_answers(tmp_path: Path) -> None:
    import http_examples

    with hosting(str(tmp_path / "bandits.db")) as server, server.client() as http:
        found = http_examples.play(http)
    kept = json.loads(http_examples.FILE.read_text(encoding="utf-8"))
    assert [http_examples.masked(each) for each in found] == [http_examples.masked(each) for each in kept], (
        "run python docs/scripts/http_examples.py"
    )
    known = {key for each in found if each["medium"].endswith("ndjson") for line in each["answer"] for key in line}
    assert known <= set(fields()["EventLine"])
