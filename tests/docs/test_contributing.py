"""The walk-throughs of CONTRIBUTING.md, executed: a policy and a delay law are added in three places each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, Block, blocks_of

BLOCKS = [block for block in blocks_of(ROOT / "CONTRIBUTING.md") if block.title is not None]
FILES = [str(block.title) for block in BLOCKS if block.language == "python"]
LEFT_OUT = ("__pycache__", "docs", "golden", "service", "client", "reproduce", "claims", "cli", "arena", "config")
"""Folders that the walk-throughs do not need."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which somebody followed the page."""
    copy = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns(*LEFT_OUT))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for block in BLOCKS:
        target = copy / str(block.title)
        target.write_text(patched(block, target.read_text()) if block.language == "diff" else block.text + "\n")
    return copy


def patched(block: Block, text: str) -> str:
    """The text with the lines that a block adds; its other lines say where."""
    lines = block.text.split("\n")
    before = "\n".join(line[1:] for line in lines if line.startswith(" "))
    assert f"{before}\n" in text, f"{block.page}:{block.line}: {block.title} has no longer\n{before}"
    return text.replace(f"{before}\n", "\n".join(line[1:] for line in lines) + "\n", 1)


def run(project: Path, *command: str, **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(project / "src"), "NO_COLOR": "1", "COLUMNS": "120", **environment}
    for name in [name for name in env if name.startswith("PYTEST_")]:
        del env[name]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(project: Path, *arguments: str, **environment: str) -> str:
    return run(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments, **environment)


@pytest.mark.parametrize(("package", "name"), [("policies", "eager_ucb"), ("delays", "triangle")])
def test_a_plugin_is_a_file_a_test_and_one_export_line(package: str, name: str) -> None:
    exports = f"src/belated/{package}/__init__.py"
    touched = [block for block in BLOCKS if str(block.title).split("/")[-2] == package]
    assert {str(block.title) for block in touched} == {
        f"src/belated/{package}/{name}.py",
        f"tests/{package}/test_{name}.py",
        exports,
    }
    added = [line for block in touched if block.title == exports for line in block.text.split("\n") if line[0] == "+"]
    assert len(added) == 1
    assert len(BLOCKS) == 6


def test_the_policy_is_the_one_of_the_howto() -> None:
    howto = blocks_of(ROOT / "docs/howto/add-a-policy.md")
    assert [block.text for block in howto if block.title == "eager_ucb.py"] == [
        block.text for block in BLOCKS if block.title == "src/belated/policies/eager_ucb.py"
    ]


@pytest.mark.slow
def test_the_policy_keeps_the_contract(project: Path) -> None:
    """Only this policy is compiled."""
    contract = ["tests/contract/test_policies.py", "tests/contract/test_compiled_code.py"]
    shown = run_tests(project, "tests/policies/test_eager_ucb.py", *contract, POLICY="EagerUCB")
    assert "passed" in shown
    games = ["tests/contract/test_plain_simulator.py", "-k", "short_games or equal_arms or live_bandit_on_many_arms"]
    assert "passed" in run_tests(project, *games, POLICY="EagerUCB")
    assert "passed" in run_tests(project, "src/belated/policies/eager_ucb.py")


def test_the_law_keeps_the_contract(project: Path) -> None:
    tests = ["tests/delays/test_triangle.py", "tests/contract/test_delay_laws.py", "src/belated/delays/triangle.py"]
    assert "passed" in run_tests(project, *tests, "-k", "Triangle or triangle")


def test_their_files_are_as_asked(project: Path) -> None:
    assert "passed" in run_tests(project, "tests/contract/test_plugins.py")


def test_what_was_added_has_style(project: Path) -> None:
    touched = sorted({str(block.title) for block in BLOCKS})
    run(project, "ruff", "check", "--no-cache", *touched)
    run(project, "ruff", "format", "--no-cache", "--check", *touched)


@pytest.mark.slow
def test_what_was_added_has_types(project: Path) -> None:
    sources = [name for name in FILES if name.startswith("src/")]
    run(project, "mypy", *sources, "--cache-dir", str(project / ".mypy_cache"))


def test_the_command_line_lists_it(project: Path) -> None:
    assert "Eager-UCB" in run(project, "belated", "policies")
    assert "Triangle" in run(project, "belated", "laws")
