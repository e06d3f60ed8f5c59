"""The files of a function's compiled code: an index and data, each with a checksum, so that damage is noticed."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import numba

from belated.errors import BelatedWarning

_MARK = b"belated code 1\n"
_DIGEST_SIZE = 32
_ADVICE = "set BELATED_CACHE_DIR to a folder that can be written"

_warned: set[str] = set()
_warning = threading.Lock()


def warn_unwritable(folder: Path | None, reason: str) -> None:
    """Warn, once in a process, that compiled code cannot be kept."""
    where = "compiled code cannot be kept" if folder is None else f"compiled code cannot be kept in {folder}"
    _warn_once("unwritable", f"{where} ({reason}), so every process compiles again; {_ADVICE}.")


def warn_damaged(path: Path) -> None:
    """Warn, once in a process, that compiled code was damaged."""
    _warn_once(
        "damaged",
        f"compiled code in {path.parent} was damaged ({path.name}), and is rebuilt. If this happens often, "
        f"see whether the disk is full or failing, or {_ADVICE}.",
    )


def _warn_once(kind: str, message: str) -> None:
    with _warning:
        if kind in _warned:
            return
        _warned.add(kind)
    BelatedWarning.issue(message)


def is_code_file(name: str) -> bool:
    """Whether :class:`CodeFiles` gives files such names; also those that a killed process left unfinished."""
    return re.search(r"\.nb[ic](\.tmp\.[0-9a-f]+)?$", name) is not None


class _DamagedError(Exception):
    """A file is not what was written."""


class CodeFiles:
    """What numba calls an ``IndexDataCacheFile``: an index (.nbi) from keys to data files (.nbc).

    A file is replaced as a whole, so that other processes never see half of it. A data file repeats its key: two
    processes that write at a time may take the same name, and a damaged index is restored from the data files."""

    def __init__(self, folder: Path, name: str, dump: Callable[[Any], bytes]) -> None:
        self._folder = folder
        self._name = name
        self._dump = dump
        self._index_path = folder / f"{name}.nbi"

    def load(self, key: Any) -> Any:
        """The data of a key, or None if they are missing or damaged."""
        name = self._index().get(key)
        found = None if name is None else self._data(self._folder / name)
        return found[1] if found is not None and found[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        """Write the data of a key."""
        index = self._index()
        if key not in index:
            taken = set(index.values())
            names = (f"{self._name}.{number}.nbc" for number in count(1))
            index[key] = next(name for name in names if name not in taken)
            self._write(self._index_path, (numba.__version__, index))
        self._write(self._folder / index[key], (key, data))

    def flush(self) -> None:
        """Forget all."""
        self._write(self._index_path, (numba.__version__, {}))

    def _index(self) -> dict[Any, str]:
        try:
            content = self._read(self._index_path)
        except _DamagedError:
            index = self._restored()
            with suppress(OSError):
                self._write(self._index_path, (numba.__version__, index))
            warn_damaged(self._index_path)
            return index
        return dict(content[1]) if content is not None and content[0] == numba.__version__ else {}

    def _restored(self) -> dict[Any, str]:
        """The index, from the data files."""
        found = ((path.name, self._data(path)) for path in sorted(self._folder.glob(f"{self._name}.*.nbc")))
        return {content[0]: name for name, content in found if content is not None}

    def _data(self, path: Path) -> tuple[Any, Any] | None:
        """(key, data) of a data file; one that is damaged is removed."""
        try:
            content: tuple[Any, Any] | None = self._read(path)
            return content
        except _DamagedError:
            with suppress(OSError):
                path.unlink()
            warn_damaged(path)
            return None

    def _read(self, path: Path) -> Any:
        """The content of a file; None if there is none, or if it names classes that are elsewhere now."""
        try:
            data = path.read_bytes()
        except OSError:
            return None
        start = len(_MARK) + _DIGEST_SIZE
        if data[:start] != _MARK + _digest(data[start:]):
            raise _DamagedError
        try:
            return pickle.loads(data[start:])
        except Exception:  # whatever a class of another version raises
            return None

    def _write(self, path: Path, content: Any) -> None:
        data = self._dump(content)
        unfinished = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            unfinished.write_bytes(_MARK + _digest(data) + data)
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()
