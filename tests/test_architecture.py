"""The architecture: import layers, lazy imports, module sizes, names, and the tree of errors.

Each test loops over all files and lists every failure."""

from __future__ import annotations

import ast
import importlib
import re
import statistics
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import belated
from belated import errors
from belated.registry import import_object

PACKAGE = Path(belated.__file__).parent
ROOT = Path(__file__).parents[1]
LONGEST = 400
SAME_CLASS_NAMES = {"FromScipy", "KernelParams", "Uniform"}
"""Nested in each policy; reward laws and delay laws."""


def module_name(path: Path) -> str:
    parts = [PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports_of(module: str) -> Iterator[tuple[str, str | None]]:
    """(imported module, name that it gets if that is another one), also in functions and under TYPE_CHECKING."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                renamed = alias.asname if alias.asname != alias.name.rpartition(".")[2] else None
                yield alias.name, renamed
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, None
            for alias in node.names:
                yield f"{node.module}.{alias.name}", alias.asname if alias.asname != alias.name else None


def settings() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return tools


def layers() -> list[set[str]]:
    contracts = settings()["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [{name.strip().removeprefix("belated.") for name in layer.split("|")} for layer in listed]


# ---- layers ----


def test_imports_follow_the_contracts() -> None:
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, "run lint-imports to see which import points the wrong way"


def test_there_are_few_layers_and_every_package_has_one() -> None:
    assert len(layers()) <= 15
    listed = [name for layer in layers() for name in layer]
    packages = {name.split(".")[1] for name in MODULES if name not in ("belated", "belated.__main__")}
    assert sorted(listed) == sorted(packages), "give each top-level package or module one layer in pyproject.toml"


def test_imports_point_down_also_in_functions_and_for_type_checkers() -> None:
    rank = {name: number for number, layer in enumerate(layers()) for name in layer}
    failures = []
    for module in MODULES:
        if module in ("belated", "belated.__main__"):
            continue
        unit = module.split(".")[1]
        for target, _ in imports_of(module):
            if target in MODULES and target != "belated":
                other = target.split(".")[1]
                if other != unit and rank[other] <= rank[unit]:
                    failures.append(f"{module} imports {target}")
    assert not failures, "\n".join(failures)


BY_NAME = {
    "belated.delays._base": ["engine.law_samples:sample_delays", "simulation.law_figures:plot_delays"],
    "belated.problem": ["engine.law_samples:sample_problem", "simulation.law_figures:plot_problem"],
    "belated.rewards._base": ["engine.law_samples:sample_rewards", "simulation.law_figures:plot_rewards"],
}
"""What laws and problems import by its name when ``sample`` or ``plot`` is called: layers above them. All there is."""


def test_what_is_imported_by_name_exists() -> None:
    found = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Constant) and re.fullmatch(r"belated[.\w]*:[.\w]+", str(node.value)):
                found[module].append(node.value.removeprefix("belated."))
    assert {module: sorted(names) for module, names in found.items()} == BY_NAME
    assert all(callable(import_object(f"belated.{name}")) for names in BY_NAME.values() for name in names)


def test_only_laws_problems_and_files_import_by_name() -> None:
    """Those above, and what reads the names of a user's classes and functions."""
    callers = {module for module in MODULES for target, _ in imports_of(module) if target.endswith(".import_object")}
    assert callers == {*BY_NAME, "belated.specs.problems"}


def test_numba_is_named_only_in_the_kernel() -> None:
    failures = [
        f"{module} imports {target}"
        for module in MODULES
        for target, _ in imports_of(module)
        if target.partition(".")[0] == "numba"
        and not module.startswith("belated.kernel.")
        and module != "belated.engine.gpu.kernel"
    ]
    assert not failures, "\n".join(failures)


CORE_ONLY = """
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

SPECS_ONLY = """
from belated.specs.laws import read_delay, read_policy
print(read_policy({"policy": "UCB"}).label, read_delay({"law": "Fixed", "rounds": 3}, "here"))
"""


def output(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_simulator_and_live_bandit_need_only_numpy_scipy_and_numba() -> None:
    assert output(CORE_ONLY) == "40"


def test_specs_are_read_without_importing_the_plugins_first() -> None:
    assert output(SPECS_ONLY) == "UCB Fixed(rounds=3)"


# ---- lazy imports ----


@pytest.mark.parametrize(
    ("code", "unloaded"),
    [
        ("import belated", {"numba", "scipy", "numpy", "rich", "typer", "httpx2"}),
        ("from belated import Client, AsyncClient, Decision, ArmSummary", {"numba", "scipy"}),
        ("import belated.policies, belated.delays, belated.rewards, belated.errors", {"numba", "scipy"}),
        ("import belated.cli", {"numba", "scipy", "numpy", "pandas", "matplotlib", "starlette"}),
        ("from belated import Bandit, Problem, simulate", {"pandas", "matplotlib", "typer", "rich"}),
    ],
)
def test_imports_are_lazy(code: str, unloaded: set[str]) -> None:
    loaded = output(f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})").split()
    assert not unloaded & set(loaded)


def test_public_names_are_loaded_on_first_use() -> None:
    assert {"Bandit", "Client", "Problem", "Result", "__version__", "simulate", "sweep"} <= set(belated.__all__)
    missing = [name for name in belated.__all__ if not hasattr(belated, name)]
    assert not missing
    assert set(belated.__all__) - {"__version__"} <= set(dir(belated))
    with pytest.raises(AttributeError, match="Cleint"):
        belated.Cleint  # noqa: B018


# ---- sizes and names ----


def test_modules_are_short() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    failures = [f"{name} has {lines} lines" for name, lines in lengths.items() if lines > LONGEST]
    assert not failures, f"split modules of more than {LONGEST} lines:\n" + "\n".join(failures)
    assert statistics.median(lengths.values()) <= 200


def test_public_classes_have_different_names() -> None:
    modules = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(module)
    failures = [
        f"{name}: {', '.join(defined)}"
        for name, defined in modules.items()
        if len(set(defined)) > 1 and name not in SAME_CLASS_NAMES
    ]
    assert not failures, "\n".join(failures)


def test_no_module_is_imported_under_another_name() -> None:
    failures = [
        f"{module}: {target} as {renamed}"
        for module in MODULES
        for target, renamed in imports_of(module)
        if renamed is not None and target in MODULES
    ]
    assert not failures, "\n".join(failures)


# ---- errors ----


def drawn_errors() -> dict[str, tuple[str | None, str | None]]:
    """The tree in the docstring of errors.py: name -> (parent, builtin base)."""
    drawn: dict[str, tuple[str | None, str | None]] = {}
    ancestors: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^( +(?:\|   )*)(?:[|`]-- )?([A-Z]\w+)(?: \(also (\w+)\))?(?: |$)", line)
        if match is None:
            continue
        depth = line.index(match[2])
        ancestors = [(column, name) for column, name in ancestors if column < depth]
        drawn[match[2]] = (ancestors[-1][1] if ancestors else None, match[3])
        ancestors.append((depth, match[2]))
    return drawn


def real_errors() -> dict[str, tuple[str | None, str | None]]:
    real = {}
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.BelatedError):
            parents = [base.__name__ for base in cls.__bases__ if issubclass(base, errors.BelatedError)]
            builtins = [base.__name__ for base in cls.__bases__ if base.__module__ == "builtins"]
            root = cls is errors.BelatedError
            real[name] = (None, None) if root else (parents[0], builtins[0] if builtins else None)
    return real


def test_the_tree_of_errors_is_the_documented_one() -> None:
    assert drawn_errors() == real_errors()


def subclasses(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_all_errors_are_defined_in_one_module() -> None:
    for module in MODULES:
        if module != "belated.__main__":
            importlib.import_module(module)
    modules = {cls.__module__ for cls in subclasses(errors.BelatedError)}
    assert {module for module in modules if module.startswith("belated.")} <= {errors.__name__}


def test_only_errors_of_the_tree_are_raised() -> None:
    developers = {"TypeError", "NotImplementedError", "AssertionError", "AttributeError"}  # mistakes in Python code
    allowed = (
        set(real_errors()) | developers | {"Exit", "Abort", "Retry", "Mistake"}
    )  # caught by the command line, the client, a check
    failures = []
    for module in MODULES:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                name = node.exc.func.id
                if name[0].isupper() and name not in allowed:
                    failures.append(f"{module}:{node.lineno} raises {name}")
    assert not failures, "\n".join(failures)
