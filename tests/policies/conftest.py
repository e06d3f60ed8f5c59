"""Policies that a test writes to a file."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from written_policy import HEAD


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Any]:
    """Write a file with a policy and import it: (function that does, its path)."""
    names = []

    def write(base: str, body: str) -> Any:
        name = f"written_{len(names)}_{tmp_path.name}"
        path = tmp_path / f"{name}.py"
        path.write_text(HEAD.format(base=base) + textwrap.indent(body, "    "))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        names.append(name)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.__dict__["Mine"]

    yield write
    for name in names:
        sys.modules.pop(name, None)
