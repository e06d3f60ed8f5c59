"""Which code is the user's own."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import belated
from belated.own_code import is_own, is_own_file

PACKAGE, NUMPY = Path(belated.__file__).parent, Path(np.__file__).parent
STDLIB = Path(sysconfig.get_path("stdlib"))


@pytest.mark.parametrize(
    "file",
    [
        __file__,
        PACKAGE.parent / "belated_plugin" / "policy.py",
        PACKAGE.parent / "belated_policies.py",
        NUMPY.parent / "numpyro" / "infer.py",
        STDLIB / "site-packages" / "mine" / "policy.py",
        STDLIB / "dist-packages" / "mine.py",
        STDLIB.with_name(f"{STDLIB.name}_mine") / "policy.py",
        "<ipython-input-1>",
    ],
)
def test_what_is_the_users(file: Any) -> None:
    assert is_own_file(str(file))


@pytest.mark.parametrize(
    "file", [PACKAGE / "policies" / "ucb.py", NUMPY / "ma" / "core.py", json.__file__, "<frozen os>"]
)
def test_what_is_not(file: Any) -> None:
    assert not is_own_file(str(file))


@pytest.mark.parametrize(
    ("file", "module", "expected"),
    [
        (str(PACKAGE.parent / "belated_plugin" / "policy.py"), "belated_plugin.policy", True),
        (str(PACKAGE / "policies" / "ucb.py"), "belated.policies.ucb", False),
        ("<stdin>", "__main__", True),
        ("<string>", "belated.policies.ucb", False),
        ("<string>", "numpy.ma", False),
    ],
)
def test_a_function_is_its_files_or_its_modules(file: str, module: str, expected: bool) -> None:
    code = compile("def function(): pass", file, "exec").co_consts[0]
    assert is_own(FunctionType(code, {"__name__": module})) is expected
