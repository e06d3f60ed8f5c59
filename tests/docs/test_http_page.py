"""The HTTP reference: complete, and its examples are what a server answers."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages import ROOT
from serving import serving

from belated.service.api import openapi
from belated.service.api.field_descriptions import FIELDS
from belated.service.api.problem_types import ALWAYS, GOOD, KEYED, KINDS, REFUSALS, kinds_of
from belated.service.api.routes import ROUTES
from belated.service.dashboard.schemas import Page

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


# ---- problems ----


def refusals() -> Iterator[tuple[int, str]]:
    """(status, kind) of every refusal in the service's code."""
    for path in [*sorted((ROOT / "src/belated/service").rglob("*.py")), ROOT / "src/belated/errors.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
                status, kind = node.args[:2]
                assert isinstance(kind, ast.Constant), f"{path}:{node.lineno}: a kind that cannot be collected"
                known = status.value if isinstance(status, ast.Constant) else KINDS[kind.value].status
                yield known, kind.value


def test_every_problem_of_the_code_is_in_the_table_and_no_other() -> None:
    assert {(kind.status, name) for name, kind in KINDS.items()} == set(refusals())


def test_every_problem_is_one_of_a_route_or_of_none() -> None:
    used = {*ALWAYS, *KEYED, *(name for names in REFUSALS.values() for name in names)}
    assert set(KINDS) - used == {"not-found", "method-not-allowed"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_statuses_of_a_route_are_those_of_its_problems(route: Any) -> None:
    name = route.handler.__name__
    always = {KINDS[kind].status for kind in (*ALWAYS, *KEYED)}
    assert {KINDS[kind].status for kind in REFUSALS[name]} - always == set(route.refuses) - always
    assert set(GOOD.get(name, route.gives)) == set(route.gives)
    told = openapi.document()["paths"][route.path][route.method.lower()]["responses"]
    assert {KINDS[kind].status for kind in kinds_of(name, route.role)} == {int(each) for each in told if each >= "400"}


# ---- fields ----


def test_every_field_has_a_meaning_and_nothing_else_has() -> None:
    schemas = dict(openapi.document()["components"]["schemas"])
    del schemas["Policy"]
    schemas |= msgspec.json.schema_components([Page])[1]
    fields = {name: set(schema["properties"]) for name, schema in schemas.items()}
    assert fields == {name: set(meanings) for name, meanings in FIELDS.items() if name != "EventLine"}


def test_what_is_easily_mistaken_is_said() -> None:
    assert "not a time" in FIELDS["ArmAnswer"]["eliminated_at"]
    assert "when silence was taken for an answer" in FIELDS["DecisionStatusAnswer"]["observed_at"]


# ---- the page ----


def test_every_route_is_on_the_page_with_an_example() -> None:
    text = page()
    twins = ["GET /experiments.json", "GET /experiments/{name}.json"]
    for name in [*(f"{route.method} {route.path}" for route in ROUTES), *twins]:
        _, _, after = text.partition(f"\n### {name} {{ #")
        section = re.split(r"^##", after, maxsplit=1, flags=re.MULTILINE)[0]
        assert section.count("```http") >= 2, name
        assert "| status | when | what comes |" in section, name
    for key in ("`silence.after`", "`feedback[].reward`", "`cursor`", "`limit`", "`policy`"):
        assert key in text
    for kind in KINDS:
        assert f'id="problem-{kind}"' in text
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

    with serving(str(tmp_path / "bandits.db")) as server, server.client() as http:
        found = http_examples.play(http)
    kept = json.loads(http_examples.FILE.read_text(encoding="utf-8"))
    assert [http_examples.masked(each) for each in found] == [http_examples.masked(each) for each in kept], (
        "run python docs/scripts/http_examples.py"
    )
    known = {key for each in found if each["medium"].endswith("ndjson") for line in each["answer"] for key in line}
    assert known <= set(FIELDS["EventLine"])
