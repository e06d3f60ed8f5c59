"""The examples of CONTRIBUTING.md, done: the files are put where it says, and all that follows by itself follows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, blocks_of

PAGE = ROOT / "CONTRIBUTING.md"
FILES = {block.title: block.text for block in blocks_of(PAGE) if block.title is not None}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which somebody followed the page."""
    copy = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_architecture.py", copy / "tests")
    for title, text in FILES.items():
        target = copy / title
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
        if title.startswith("src/"):
            announce(target)
    return copy


def announce(target: Path) -> None:
    """The line for editors and type checkers."""
    name = re.search(r"^class (\w+)", target.read_text(), re.MULTILINE)
    assert name is not None
    package = target.parent / "__init__.py"
    line = f"    from belated.{target.parent.name}.{target.stem} import {name[1]} as {name[1]}\n"
    package.write_text(package.read_text().replace("if TYPE_CHECKING:\n", f"if TYPE_CHECKING:\n{line}"))


def run(project: Path, *command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(project / "src"), "NO_COLOR": "1", "COLUMNS": "120"}
    for name in [name for name in env if name.startswith("PYTEST_")]:
        del env[name]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_has_a_policy_its_test_and_a_law() -> None:
    assert [title.split("/")[0] for title in FILES] == ["src", "tests", "src"]


def test_the_tests_of_what_was_added_pass(project: Path) -> None:
    added = [title for title in FILES if not title.startswith("src/belated/__")]
    out = run(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests", *added)
    assert "passed" in out


def test_the_rules_for_types_hold_for_it(project: Path) -> None:
    added = [title for title in FILES if title.startswith("src/")]
    run(project, "ruff", "check", "--no-cache", *FILES)
    run(project, "ruff", "format", "--no-cache", "--check", *FILES)
    run(project, "mypy", *added, "--cache-dir", str(project / ".mypy_cache"))


def test_the_command_line_lists_it(project: Path) -> None:
    assert "Eager-UCB" in run(project, "belated", "policies")
    assert "Triangle" in run(project, "belated", "laws")
