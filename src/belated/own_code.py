"""Which code is the user's own: neither of this package, nor of Python, nor of the libraries below."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIBRARIES = ("numba", "numpy", "llvmlite", "scipy")
_PACKAGE = __name__.partition(".")[0]
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of what is installed, which may be inside that of Python's own library."""


@cache
def is_library(module: str) -> bool:
    """Whether a module belongs to Python itself, or to one of the libraries."""
    top = module.partition(".")[0]
    if top in LIBRARIES:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return top in sys.stdlib_module_names and (file is None or _is_of_python(Path(file)))


@cache
def is_own_file(file: str) -> bool:
    """Whether a file is the user's; so is a cell of a notebook."""
    path = Path(file)
    if file.startswith("<frozen") or any(path.is_relative_to(folder) for folder in _folders()):
        return False
    return not _is_of_python(path)


def is_own(function: Any) -> bool:
    """Whether a user wrote a function."""
    code = getattr(function, "__code__", None)
    if code is not None and not code.co_filename.startswith("<"):
        return is_own_file(code.co_filename)
    module = str(function.__module__)  # it has no file
    return module.partition(".")[0] != _PACKAGE and not is_library(module)


def _is_of_python(path: Path) -> bool:
    for name in ("stdlib", "platstdlib"):
        folder = sysconfig.get_path(name)
        if path.is_relative_to(folder) and _INSTALLED.isdisjoint(path.relative_to(folder).parts):
            return True
    return False


@cache
def _folders() -> tuple[Path, ...]:
    """The folders of this package and of the libraries."""
    found = [find_spec(name) for name in LIBRARIES]
    origins = [spec.origin for spec in found if spec is not None and spec.origin is not None]
    return tuple(Path(origin).parent for origin in (__file__, *origins))
