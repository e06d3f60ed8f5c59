"""Requests made from the document by schemathesis, with all its checks: a few here, 20,000 by ``torture/fuzz.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import ignored_auth
from serving import hosting

from belated.service.api import ROUTES

FUZZ = Path(__file__).parents[3] / "torture" / "fuzz.py"


def fuzz(db: str, cases: int, **surroundings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FUZZ), "--cases", str(cases), "--seed", "1", "--db", db]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=5000, check=False, env={**os.environ, **surroundings}
    )


def test_a_few_requests_of_each_operation(tmp_path: Path) -> None:
    """In this process, on a server without keys; what they would be checked for is left out."""
    with hosting(str(tmp_path / "bandits.db")) as server, server.client() as http:
        asked = {"name": "e", "arms": ["a", "b"], "policy": {"name": "UCB"}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        assert http.post("/v1/experiments/e/decisions", json={"id": "d", "count": 100}).status_code == 201
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        operations = [each.ok() for each in schema.get_all_operations()]
        assert len(operations) == len(ROUTES)
        for operation in operations:

            @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
            @given(case=operation.as_strategy())
            def valid(case: schemathesis.Case) -> None:
                case.call_and_validate(excluded_checks=[ignored_auth])

            valid()


@pytest.mark.slow
def test_no_check_fails(db: str) -> None:
    ended = fuzz(db, 300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no check failed" in ended.stdout


BROKEN = {
    "Undocumented status code": (
        "import belated.service.api.monitoring as m\n"
        "respond = m.json_response\n"
        "def other(message):\n"
        "    response = respond(message)\n"
        "    response.status_code = 202 if isinstance(message, m.StateAnswer) else response.status_code\n"
        "    return response\n"
        "m.json_response = other\n"
    ),
    "Response violates schema": (
        "import belated.service.api.monitoring as m\nm.StateAnswer = lambda state: {'status': 7}\n"
    ),
    "Server error": "import belated.service.api.monitoring as m\nm.delay_curves = None\n",
}
"""What schemathesis calls a defect, and a server that has it."""


@pytest.mark.slow
@pytest.mark.parametrize("defect", BROKEN)
def test_the_control_is_seen(defect: str, tmp_path: Path) -> None:
    """A server with a defect is found out, and for this defect."""
    (tmp_path / "sitecustomize.py").write_text(BROKEN[defect], encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = fuzz(str(tmp_path / "bandits.db"), 100, PYTHONPATH=path)
    assert ended.returncode != 0
    assert "FAILURES" in ended.stderr
    assert defect in ended.stderr


def test_the_document_is_served_to_everybody(tmp_path: Path) -> None:
    with hosting(str(tmp_path / "bandits.db")) as server, server.client() as http:
        answer = http.get("/openapi.json")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["openapi"].startswith("3.1")
