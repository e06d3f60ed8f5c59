from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import belated
from belated.cli import app

SMALL = """\
horizon = 200
runs = 4
out = "made"

[problem]
rewards = [{law = "Bernoulli", mean = 0.3}, {law = "Bernoulli", mean = 0.7}]
delays = {law = "Fixed", rounds = 10}

[[policies]]
policy = "UCB"
confidence = 1.0

[[policies]]
policy = "SuccessiveElimination"
confidence = 1.0
"""

SWEEP = (
    SMALL
    + """
[sweep]
key = "problem.delays.rounds"
values = [0, 20, 100]
"""
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a folder of its own, and a terminal of 80 columns without colours."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "NO_COLOR", "TERMINAL_WIDTH", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    path = tmp_path / "swept.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def call() -> Callable[..., Any]:
    """Runs a command in this process; an exception that is no exit fails the test."""

    def run(*arguments: object) -> Any:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    """What a process needs to find the package that is tested."""
    return {**os.environ, "PYTHONPATH": str(Path(belated.__file__).parents[1]), "COLUMNS": "80"}


@pytest.fixture
def process(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command in a process of its own, its output in pipes."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "belated", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=3000)

    return run
