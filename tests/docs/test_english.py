"""The documentation and the docstrings avoid phrases that nobody in the field would say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pages import ROOT, pages

BANNED = {
    r"\banew\b": "again",
    r"\bthousand million\b": "billion",
    r"\bfor ever\b": "forever",
    r"\bmourns?\b": "ignore",
    r"\bwhoever\b": "the caller, the first process",
    r"\bso many\b": "the number, 'that many'",
    r"\blives? again\b": "replay",
    r"\bnobody's\b": "dummy, unused",
    r"\b(?:policy|law|run|file|folder|page|function|process) of its own\b": "its own ...",
}
"""Phrases, and what to write instead."""


def docstrings(path: Path) -> list[str]:
    """The docstrings of a module, its classes and its functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]


def test_the_prose_is_idiomatic() -> None:
    generated = {"claims.md"}
    texts = {path: [path.read_text(encoding="utf-8")] for path in pages() if path.name not in generated}
    texts |= {path: docstrings(path) for path in sorted((ROOT / "src").rglob("*.py"))}
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r} ({advice})"
        for path, parts in texts.items()
        for phrase, advice in BANNED.items()
        for part in parts
        for match in re.finditer(phrase, part, re.IGNORECASE)
    ]
    assert not found, "\n".join(["say it as an engineer would:", *found])
