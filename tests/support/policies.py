"""What the test file of each policy, tests/policies/test_NAME.py, holds for the contract tests.

``VARIANTS`` are instances of the policy that contract tests play, the first one with typical parameters; ``rule`` is a
second, independent text of the policy for the plain simulator (see support.plain_simulator). With ``POLICY=NAME`` in
the environment the contract tests play only this policy."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from belated.policies import POLICIES, Policy
from support.plain_simulator import Rule

TESTS = Path(__file__).parents[1]
SELECTED = [os.environ["POLICY"]] if "POLICY" in os.environ else sorted(POLICIES)
"""The names of the policies under test."""


@cache
def _module(name: str) -> Any:
    """The test module of the policy in ``belated.policies.NAME``."""
    path = TESTS / "policies" / f"test_{name}.py"
    assert path.is_file(), f"every policy has its test file: {path.relative_to(TESTS.parent)} is missing"
    spec = importlib.util.spec_from_file_location(f"test_file_of_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # as dataclasses need it
    spec.loader.exec_module(module)
    return module


def variants_of(policy: type[Policy]) -> list[Any]:
    """Instances of a built-in policy to play."""
    variants: list[Any] = _module(policy.__module__.split(".")[-1]).VARIANTS
    return variants


def example_of(policy: type[Policy]) -> Any:
    """One instance of a built-in policy."""
    return variants_of(policy)[0]


def every_variant(kind: type[Any] = Policy) -> list[Any]:
    """The variants of all policies under test that derive from ``kind``."""
    return [variant for cls in selected() if issubclass(cls, kind) for variant in variants_of(cls)]


def selected() -> list[type[Any]]:
    """The classes of the policies under test."""
    return [POLICIES[name] for name in SELECTED]


def rule_of(policy: Policy) -> Rule:
    """The second text of a policy: ``rule`` of the test file of a built-in one, or of the class itself."""
    cls: Any = type(policy)
    if cls.__module__.startswith("belated."):
        return _module(cls.__module__.split(".")[-1]).rule  # type: ignore[no-any-return]
    return cls.rule  # type: ignore[no-any-return]
