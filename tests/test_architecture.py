"""The architecture, checked: layers, sizes, one class a plug-in file, one place for numba, one tree of errors."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import belated
from belated import errors

PACKAGE = Path(belated.__file__).parent
ROOT = Path(__file__).parent.parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 400
LONG = 200


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def settings() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return found


# ---- layers ----


def test_imports_follow_the_layers() -> None:
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, "run lint-imports to see which import points the wrong way"


def test_every_module_has_a_layer() -> None:
    contracts = settings()["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    listed = {name.strip(" ()") for layer in layers for name in layer.split("|")}
    outside = {"belated", "belated.__main__", "belated.engine", "belated.service"}  # but names
    missing = [
        name
        for name in map(module_name, SOURCES)
        if name not in outside and not any(name == layer or name.startswith(f"{layer}.") for layer in listed)
    ]
    assert not missing, f"give these modules a layer in pyproject.toml: {missing}"


def module_name(path: Path) -> str:
    parts = [PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


CORE_ALONE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pandas", "matplotlib", "typer", "rich"}:
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from belated import Bandit, Problem, simulate
from belated.delays import Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli
result = simulate(Problem([Bernoulli(0.2), Bernoulli(0.8)], Fixed(3)), UCB(confidence=1.0), horizon=20, runs=2)
Bandit(["a", "b"], UCB()).choose()
print(result.pulls.sum())
"""


def test_engine_and_live_bandit_need_numpy_scipy_numba_alone() -> None:
    done = subprocess.run([sys.executable, "-c", CORE_ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "40"


SPEC_ALONE = """
from belated.spec import read_delay, read_policy
print(read_policy({"policy": "UCB"}).label, read_delay({"law": "Fixed", "rounds": 3}, "here"))
"""


def test_files_are_read_without_importing_the_plugins_first() -> None:
    done = subprocess.run([sys.executable, "-c", SPEC_ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "UCB Fixed(rounds=3)"


# ---- sizes ----


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_module_is_too_long(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST, f"{relative(path)} has {lines} lines; split it"


def test_long_modules_are_few(record_property: Any) -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in SOURCES}
    long = {name: lines for name, lines in lengths.items() if lines > LONG}
    record_property("long", json.dumps(long))
    assert len(long) <= len(SOURCES) // 10, f"modules should have {LONG} lines at the most; longer are {long}"


# ---- numba ----


def numba_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "numba")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            yield str(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
            yield f"numba.{node.attr}"


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.name not in ("kernel.py", "address.py", "words.py", "cuda.py")],
    ids=relative,
)
def test_only_the_kernel_modules_know_numba(path: Path) -> None:
    found = list(numba_names(ast.parse(path.read_text())))
    assert not found, f"{relative(path)} uses {found}; use belated.kernel.jit or belated.kernel.function_table"


# ---- errors ----


def drawn_errors() -> dict[str, tuple[str | None, str | None]]:
    """The tree in the docstring of errors.py: name -> (parent, builtin that it also is)."""
    found: dict[str, tuple[str | None, str | None]] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^( +(?:\|   )*)(?:[|`]-- )?([A-Z]\w+)(?: \(also (\w+)\))?(?: |$)", line)
        if match is None:
            continue
        depth = line.index(match[2])
        path = [(place, name) for place, name in path if place < depth]
        found[match[2]] = (path[-1][1] if path else None, match[3])
        path.append((depth, match[2]))
    return found


def real_errors() -> dict[str, tuple[str | None, str | None]]:
    found = {}
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.BelatedError):
            ours = [base.__name__ for base in cls.__bases__ if issubclass(base, errors.BelatedError)]
            theirs = [base.__name__ for base in cls.__bases__ if base.__module__ == "builtins"]
            root = cls is errors.BelatedError
            found[name] = (None, None) if root else (ours[0], theirs[0] if theirs else None)
    return found


def test_the_tree_of_errors_is_the_one_drawn() -> None:
    assert drawn_errors() == real_errors()


def below(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from below(child)


def test_no_other_module_has_errors_of_its_own() -> None:
    for path in SOURCES:
        if path.name != "__main__.py":
            importlib.import_module(module_name(path))
    astray = [cls for cls in below(errors.BelatedError) if cls.__module__ != errors.__name__]
    assert not [cls for cls in astray if cls.__module__.startswith("belated.")], "errors belong into errors.py"


def raised_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            yield node.exc.func.id


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_errors_for_users_are_of_the_tree(path: Path) -> None:
    ours = set(real_errors())
    # a policy's or law's author made a mistake, or somebody misspelt a name
    developers = {"TypeError", "NotImplementedError", "AssertionError", "AttributeError"}
    found = {name for name in raised_names(ast.parse(path.read_text())) if name[0].isupper()}
    assert found <= ours | developers | {"Exit", "Abort"}, f"{relative(path)} raises {found - ours}"
