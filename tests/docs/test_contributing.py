"""The examples of CONTRIBUTING.md, done: everything is put where it says, and all that follows by itself follows."""

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
CONCERNED = "registered or architecture or eager_ucb or one_source or short_games or Triangle or triangle"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which somebody followed the page."""
    copy = tmp_path_factory.mktemp("project")
    for folder in ("src", "tests", "torture"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "docs"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for block in BLOCKS:
        target = copy / str(block.title)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(patched(block, target.read_text()) if block.language == "diff" else block.text + "\n")
    return copy


def patched(block: Block, text: str) -> str:
    """The text with the lines that a block adds; its other lines say where."""
    for part in block.text.split("\n@@\n"):
        lines = part.split("\n")
        before = "\n".join(line[1:] for line in lines if line.startswith(" "))
        assert f"{before}\n" in text, f"{block.page}:{block.line}: {block.title} has no longer\n{before}"
        text = text.replace(f"{before}\n", "\n".join(line[1:] for line in lines) + "\n", 1)
    return text


def run(project: Path, *command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(project / "src"), "NO_COLOR": "1", "COLUMNS": "120"}
    for name in [name for name in env if name.startswith("PYTEST_")]:
        del env[name]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_adds_a_policy_with_its_test_and_a_law() -> None:
    assert [Path(name).parent.name for name in FILES] == ["policies", "policies", "delays"]


def test_the_tests_that_are_concerned_pass(project: Path) -> None:
    assert "passed" in run(project, "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", CONCERNED)


def test_what_was_added_has_style_and_types(project: Path) -> None:
    changed = sorted({str(block.title) for block in BLOCKS})
    run(project, "ruff", "check", "--no-cache", *changed)
    run(project, "ruff", "format", "--no-cache", "--check", *changed)
    sources = [name for name in FILES if name.startswith("src/")]
    run(project, "mypy", *sources, "--cache-dir", str(project / ".mypy_cache"))


def test_the_command_line_lists_it(project: Path) -> None:
    assert "Eager-UCB" in run(project, "belated", "policies")
    assert "Triangle" in run(project, "belated", "laws")
