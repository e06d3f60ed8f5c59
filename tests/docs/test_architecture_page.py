"""The architecture page: its picture is drawn from the code as it is, and what it names exists."""

from __future__ import annotations

import ast
import re
from types import ModuleType

import pytest
from pages import ROOT

PAGE = ROOT / "docs" / "architecture.md"
SOURCE = ROOT / "src" / "belated"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    import package_graph  # type: ignore[import-not-found]

    found: ModuleType = package_graph
    return found


def test_the_picture_is_current(script: ModuleType) -> None:
    assert script.PICTURE.read_text(encoding="utf-8") == script.draw(), "run python docs/scripts/package_graph.py"


def test_every_import_points_down(script: ModuleType) -> None:
    rank = {name: row for row, names in enumerate(script.layers()) for name in names}
    upward = [
        f"{unit} -> {target}"
        for unit, targets in script.imports().items()
        for target in targets
        if rank[target] <= rank[unit]
    ]
    assert not upward


def test_reduction_keeps_what_can_be_reached(script: ModuleType) -> None:
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}
    assert script.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}


def test_what_the_page_names_exists() -> None:
    """``file.py:name`` is a definition in the file; ``file.py`` and ``folder`` with a slash exist."""
    text = PAGE.read_text(encoding="utf-8")
    missing = []
    for path, name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)(?::(\w+))?`", text):
        file = ROOT / path if path.startswith(("docs/", "tests/")) else SOURCE / path
        if not file.exists():
            missing.append(path)
        elif name and name not in _defined(file.read_text(encoding="utf-8")):
            missing.append(f"{path}:{name}")
    missing += [
        folder
        for folder in re.findall(r"`(\w+/\w+)`", text.replace("`src/belated`", ""))
        if not (SOURCE / folder).is_dir()
    ]
    assert not missing


def _defined(source: str) -> set[str]:
    """The functions, classes and names that a module defines."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_the_page_describes_every_package(script: ModuleType) -> None:
    table = PAGE.read_text(encoding="utf-8").split("## Five walks")[0]
    assert [name for name in script.imports() if f"`{name}`" not in table and name != "_version"] == []
