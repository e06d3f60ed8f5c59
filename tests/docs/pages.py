"""Run the examples of the documentation: the fenced blocks of a page.

- ``python`` blocks are executed; those with ``>>>`` are doctests, and their output is compared;
- ``python title="name.py"`` and ``toml title="name.toml"`` are files for later blocks;
- ``console`` blocks have commands after ``$``: ``belated ...`` and ``python FILE.py`` must succeed, the rest is for
  readers.

The blocks of a page run in order, in one namespace and one temporary folder with a copy of ``examples``.

    python tests/docs/pages.py [PAGE ...]       update the outputs in the pages
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)\n\1```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    title: str | None
    text: str


def pages() -> list[Path]:
    """Return all pages with examples."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text()
    blocks = []
    for match in FENCE.finditer(text):
        indent, language, rest, body = match.groups()
        title = re.search(r'title="([^"]+)"', rest)
        body = "\n".join(line.removeprefix(indent) for line in body.split("\n"))
        line = text.count("\n", 0, match.start()) + 1
        blocks.append(Block(name_of(page), line, language, title[1] if title else None, body))
    return blocks


def run(block: Block, namespace: types.ModuleType, folder: Path) -> None:
    """Run one block, or write its file."""
    if block.title is not None:
        target = folder / block.title
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text + "\n")
    elif block.language == "python" and ">>>" in block.text:
        compare(block, namespace)
    elif block.language == "python":
        source = "\n" * block.line + block.text  # tracebacks show the line of the page
        exec(compile(source, block.page, "exec"), namespace.__dict__)
    elif block.language == "console":
        for variables, command in commands_of(block):
            run_command(block, variables, command, folder)


def as_doctest(block: Block, namespace: types.ModuleType) -> doctest.DocTest:
    """Return a block with prompts as a doctest in the page's namespace."""
    test = doctest.DocTestParser().get_doctest(block.text + "\n", {}, block.page, block.page, block.line)
    test.globs = namespace.__dict__
    return test


def compare(block: Block, namespace: types.ModuleType) -> None:
    """Run a block with prompts and compare its output."""
    test = as_doctest(block, namespace)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=failures.append, clear_globs=False)
    assert not failures, "".join(failures)


def commands_of(block: Block) -> list[tuple[dict[str, str], list[str]]]:
    """Return the commands of a console block to run, each with its environment variables."""
    commands = []
    for line in re.findall(r"^\$ (.*(?:\\\n.*)*)", block.text, re.MULTILINE):
        words = shlex.split(line, comments=True)
        variables = {}
        while words and "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if words[:1] == ["belated"]:
            commands.append((variables, [sys.executable, "-m", *words]))
        elif words[:1] == ["python"] and words[1].endswith(".py"):
            commands.append((variables, [sys.executable, *words[1:]]))
    return commands


def run_command(block: Block, variables: dict[str, str], command: list[str], folder: Path) -> None:
    """Run one command as a user would: a script in its own process, ``belated`` in this one, which is faster."""
    env = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **variables}
    if command[1] == "-m":
        with chdir(folder):
            status, output = run_belated(command[3:], env)
    else:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        status, output = done.returncode, done.stdout + done.stderr
    assert status == 0, f"{block.page}:{block.line}: {shlex.join(command)} failed:\n{output}"


def run_belated(arguments: list[str], env: dict[str, str]) -> tuple[int, str]:
    """Run a command of the package in this process; return its exit status and what it wrote."""
    import structlog
    from typer.testing import CliRunner

    from belated.cli import app

    try:
        done = CliRunner().invoke(app, arguments, env=env)
    finally:
        structlog.reset_defaults()
    error = done.exception
    return done.exit_code, done.output + ("" if error is None or isinstance(error, SystemExit) else repr(error))


def copy_examples(folder: Path) -> None:
    """Copy the project's examples to a page's folder."""
    examples = ROOT / "examples"
    if examples.exists():
        shutil.copytree(examples, folder / "examples")


@contextmanager
def page_namespace(page: Path, folder: Path) -> Iterator[types.ModuleType]:
    """Yield the namespace of a page's blocks, with ``folder`` on the import path; clean up afterwards."""
    copy_examples(folder)
    namespace = types.ModuleType(f"examples_of_{page.stem.replace('-', '_')}")
    before, path = set(sys.modules), list(sys.path)
    sys.modules[namespace.__name__] = namespace
    sys.path.insert(0, str(folder))
    try:
        yield namespace
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            origin = Path(getattr(sys.modules[name], "__file__", None) or "/")
            if name == namespace.__name__ or folder in origin.parents:
                del sys.modules[name]


class Recorder(doctest.DocTestRunner):
    """Records the output of each example instead of failing."""

    def __init__(self) -> None:
        super().__init__(optionflags=OPTIONS)
        self.changes: list[tuple[str, str]] = []

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Record an output that differs from the page."""
        first, *more = example.source.splitlines()
        prompt = "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in more)])
        self.changes.append((f"{prompt}\n{example.want}".rstrip("\n"), f"{prompt}\n{got}".rstrip("\n")))


def update(page: Path) -> int:
    """Update the outputs in a page; return how many changed."""
    text, count = page.read_text(), 0
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name, page_namespace(page, Path(name)) as namespace:
        os.chdir(name)
        try:
            for block in blocks_of(page):
                if block.language == "python" and block.title is None and ">>>" in block.text:
                    recorder = Recorder()
                    recorder.run(as_doctest(block, namespace), clear_globs=False)
                    for old, new in recorder.changes:
                        assert old in text, f"{block.page}:{block.line}: cannot find\n{old}"
                        text, count = text.replace(old, new), count + 1
                else:
                    run(block, namespace, Path(name))
        finally:
            os.chdir(here)
    page.write_text(text)
    return count


if __name__ == "__main__":
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        if chosen.name != "CONTRIBUTING.md":
            print(f"{name_of(chosen)}: {update(chosen)} outputs changed")
