"""Files of laws and policies: one class a file, one export line, a docstring with a formula and a doctest."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import belated
from belated.delays import DELAYS
from belated.errors import UnknownName
from belated.policies import POLICIES
from belated.registry import Registry
from belated.rewards import REWARDS

PACKAGE = Path(belated.__file__).parent
REGISTRIES: dict[str, Registry[Any]] = {"rewards": REWARDS, "delays": DELAYS, "policies": POLICIES}


def plugin_modules() -> Iterator[tuple[str, str]]:
    """(package, module) of each file that holds a law or a policy."""
    for package in REGISTRIES:
        for path in sorted((PACKAGE / package).glob("*.py")):
            if not path.stem.startswith("_"):
                yield package, path.stem


def test_a_file_holds_one_class_named_like_it_and_exported() -> None:
    wrong = []
    for package, name in plugin_modules():
        module = importlib.import_module(f"belated.{package}.{name}")
        registry = REGISTRIES[package]
        classes = [cls for cls in vars(module).values() if isinstance(cls, type) and cls.__module__ == module.__name__]
        registered = [cls.__name__ for cls in classes if registry._classes.get(cls.__name__) is cls]
        if len(registered) != 1 or registered[0].lower() != name.replace("_", ""):
            wrong.append(f"{package}/{name}.py registers {registered}; one class, named like its file")
        elif registered[0] not in registry:
            wrong.append(f"{package}/__init__.py lacks 'from {module.__name__} import {registered[0]} as ...'")
    assert not wrong, "\n".join(wrong)
    for package, registry in REGISTRIES.items():
        assert len(registry) == sum(folder == package for folder, _ in plugin_modules())


def test_every_exported_name_can_be_loaded() -> None:
    for package in REGISTRIES:
        module = importlib.import_module(f"belated.{package}")
        assert module.__all__ == dir(module) == sorted(module.__all__)
        assert all(getattr(module, name) is not None for name in module.__all__)
        with pytest.raises(AttributeError, match=f"belated.{package}.*'Nothing'"):
            module.Nothing  # noqa: B018


def test_a_class_explains_itself() -> None:
    wrong = []
    for registry in REGISTRIES.values():
        for name, cls in registry.items():
            text = inspect.getdoc(cls) or ""
            if text.startswith(f"{name}("):  # a dataclass's own
                wrong.append(f"{name} has no docstring")
            if not doctest.DocTestParser().get_examples(text):
                wrong.append(f"{name} has no doctest")
            if not cls.formula:
                wrong.append(f"{name} has no formula")
            if registry is POLICIES and not cls.label:
                wrong.append(f"{name} has no label")
    assert not wrong, "\n".join(wrong)


def test_labels_differ() -> None:
    labels = [cls.label for cls in POLICIES.values()]
    assert len(set(labels)) == len(labels), sorted(labels)


def test_names_are_listed_without_loading_the_compiler() -> None:
    code = "import sys, belated.policies, belated.delays, belated.rewards; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"'UBC'.*Did you mean 'UCB'\?.*package\.module:ClassName"):
        POLICIES["UBC"]
