"""Compiled code on disk, in a folder for each key (:mod:`belated.kernel.code_key`)."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from numba.core import caching

from belated.errors import BelatedWarning
from belated.kernel.code_files import CodeFiles, is_code_file, warn_unwritable
from belated.kernel.code_key import code_key

_caching: Any = caching
_MONTH = 30 * 86400


@cache
def cache_root() -> Path | None:
    """The folder of all compiled code: ``$BELATED_CACHE_DIR`` or the user's cache."""
    base = os.environ.get("BELATED_CACHE_DIR")
    try:
        if base:
            return Path(base).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "belated"
    except RuntimeError:  # no home
        return None


def folder_for(function: Callable[..., Any], owner: type[Any] | None = None, also: Iterable[Any] = ()) -> Path | None:
    """The folder of a function's compiled code; None where it cannot be kept. A folder with code that cannot be written
    is read."""
    root = cache_root()
    key = None if not _is_importable(owner) else code_key(function, *also, owner=owner)
    if key is None:
        return None
    if root is None:
        warn_unwritable(None, "there is no home folder")
        return None
    names = [function.__name__, *([] if owner is None else [owner.__name__]), key]
    folder = root / "-".join(names)
    try:
        if folder.is_dir():
            with suppress(OSError):
                os.utime(folder)  # in use
            if any(folder.glob("*.nbc")):
                return folder
        else:
            _forget_old(root)
            folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # numba would complain later
            return folder
    except OSError as error:
        warn_unwritable(root, error.strerror or str(error))
        return None


def _is_importable(owner: type[Any] | None) -> bool:
    """Whether another process finds a class by its name, as what is on disk names it."""
    if owner is None:
        return True
    found: Any = None if owner.__module__ == "__main__" else sys.modules.get(owner.__module__)
    for name in owner.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is owner


@cache
def _forget_old(root: Path) -> None:
    """Remove folders of compiled code that nobody used for a month; the root may hold other things, too."""
    for folder in root.glob("*"):
        with suppress(OSError):  # another process may be removing it
            is_old = folder.stat().st_mtime < time.time() - _MONTH and re.fullmatch("(.*-)?[0-9a-f]{16}", folder.name)
            if is_old and all(is_code_file(file.name) for file in folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)


def cache_in(folder: Path, function: Callable[..., Any], base: Any = _caching.FunctionCache) -> Any:
    """A cache of numba's class ``base`` that keeps a function's code in the folder. Its own would go by the function's
    file and line, and see an edit anywhere in that file."""
    implementation = type(base._impl_class.__name__, (base._impl_class,), {"_locator_classes": [_locator(folder)]})

    class Cache(base):  # type: ignore[misc]
        """Has files of its own, which notice damage. Code that cannot be kept is compiled again by the next process."""

        _impl_class = implementation

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            numbas: Any = vars(self)["_cache_file"]
            self._cache_file = CodeFiles(folder, self._impl.filename_base, numbas._dump)

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return sig, codegen.magic_tuple()  # numba's has a hash of closures, which differs in every process

        def _load_overload(self, *arguments: Any) -> Any:
            try:
                return super()._load_overload(*arguments)
            except BelatedWarning:  # an error, if the user says so
                raise
            except Exception:
                return None

        def _save_overload(self, *arguments: Any) -> None:
            try:
                super()._save_overload(*arguments)
            except BelatedWarning:
                raise
            except OSError as error:
                warn_unwritable(folder, error.strerror or str(error))
            except Exception:  # what cannot be pickled is not kept
                return

        def flush(self) -> None:
            with suppress(OSError):
                super().flush()

    return Cache(function)


def _locator(folder: Path) -> type[Any]:
    class Locator(_caching._CacheLocator):  # type: ignore[misc]
        """What tells numba where code is, and whether it is still valid."""

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return folder.name

        def get_disambiguator(self) -> str:
            return "1"  # instead of the line; 0.1.0 had 0, and no checksums

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:  # noqa: ARG003
            locator = cls()
            locator._py_file = py_file  # for numba's warnings
            return locator

    return Locator


class DiskCache(_caching._Cache):  # type: ignore[misc]
    """The cache of one dispatcher. The key is computed when code is first asked for: by then all modules are loaded."""

    def __init__(self, function: Callable[..., Any], owner: type[Any] | None = None) -> None:
        self._for = function, owner

    @cached_property
    def _files(self) -> Any:
        function, owner = self._for
        folder = folder_for(function, owner)
        return _caching.NullCache() if folder is None else cache_in(folder, function)

    @property
    def cache_path(self) -> Any:
        return self._files.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self._files.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._files.save_overload(sig, data)

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        self._files.flush()


def is_cached(entry: Callable[..., Any]) -> bool:
    """Whether an entry's code is kept on disk, where other processes find it."""
    return _folder_of(entry) is not None


def is_on_disk(entry: Callable[..., Any]) -> bool:
    """Whether code of an entry is on disk already: the data, which numba writes after the index that lists it."""
    folder = _folder_of(entry)
    return folder is not None and any(folder.glob("*.nbc"))


def _folder_of(entry: Callable[..., Any]) -> Path | None:
    folder = getattr(getattr(entry, "stats", None), "cache_path", None)
    return None if folder is None else Path(folder)
