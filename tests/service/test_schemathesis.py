"""Requests made from the document by schemathesis, with all its checks: a few here, 20,000 by ``torture/fuzz.py``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from serving import serving

FUZZ = Path(__file__).parents[2] / "torture" / "fuzz.py"


def fuzz(db: str, cases: int, **surroundings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FUZZ), "--cases", str(cases), "--seed", "1", "--db", db]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=500, check=False, env={**os.environ, **surroundings}
    )


def test_no_check_fails(db: str) -> None:
    ended = fuzz(db, 300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no check failed" in ended.stdout


BROKEN = {
    "Undocumented status code": (
        "import belated.service.api.handlers as h\n"
        "json = h._json\n"
        "h._json = lambda value, status=200: json(value, 202 if isinstance(value, h.StateAnswer) else status)\n"
    ),
    "Response violates schema": (
        "import belated.service.api.handlers as h\nh.StateAnswer = lambda state: {'status': 7}\n"
    ),
    "Server error": "import belated.service.api.handlers as h\nh.delay_curves = None\n",
}
"""What schemathesis calls a defect, and a server that has it."""


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
    with serving(str(tmp_path / "bandits.db")) as server, server.client() as http:
        answer = http.get("/openapi.json")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["openapi"].startswith("3.1")
