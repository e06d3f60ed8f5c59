"""Compiling an entry before it is called, quickly; and whether its code is on disk already."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_one_at_a_time = threading.RLock()


@contextmanager
def uncollected() -> Iterator[None]:
    """A context without garbage collection, for compiling: numba makes millions of objects that live on, and looking
    through them again and again took a seventh to a quarter of the time."""
    with _one_at_a_time:  # as the compiler itself
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def compile_for(entry: Callable[..., Any], *arguments: Any) -> None:
    """Compile an entry for arguments of these types, or load it, if that was not done before."""
    if not is_compiled(entry):
        compiler: Any = entry
        with uncollected():
            compiler.compile(tuple(compiler.typeof_pyval(value) for value in arguments))


def is_compiled(entry: Callable[..., Any]) -> bool:
    """Whether an entry has its code in this process; plain Python needs none."""
    return bool(getattr(entry, "overloads", True))


def is_shared(entry: Callable[..., Any]) -> bool:
    """Whether an entry's code is kept on disk, where other processes find it."""
    return _folder(entry) is not None


def is_on_disk(entry: Callable[..., Any]) -> bool:
    """Whether code of an entry is on disk already: the data, which numba writes after the index that lists it."""
    folder = _folder(entry)
    name = getattr(entry, "__name__", "")
    return folder is not None and any(folder.glob(f"*.{name}-*.nbc"))


def _folder(entry: Callable[..., Any]) -> Path | None:
    kept = getattr(getattr(entry, "stats", None), "cache_path", None)
    return None if kept is None else Path(kept)
