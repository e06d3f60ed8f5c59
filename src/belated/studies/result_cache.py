"""Finished results on disk: found again by their manifest, so that nothing is played twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from belated.errors import StateError
from belated.simulation.manifest import Manifest
from belated.simulation.result import Result


class ResultCache:
    """A folder of results, each in a file that is named by a hash of its manifest: problem, policies, horizon, runs,
    seed, checkpoints, version and sources. ``fresh`` uses none that was there before."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh
        self._kept: set[Path] = set()
        self._locks: dict[Path, Lock] = {}
        self._locking = Lock()

    @contextmanager
    def held(self, wanted: Manifest) -> Iterator[None]:
        """A context in which no other thread is with this result: what one plays, the next finds."""
        path = self._path(wanted)
        with self._locking:
            lock = self._locks.setdefault(path, Lock())
        with lock:
            yield

    def find(self, wanted: Manifest) -> Result | None:
        """The finished result of this manifest, if there is one."""
        path = self._path(wanted)
        if not path.exists() or (self._fresh and path not in self._kept) or "unknown" in wanted.problem:
            return None
        try:
            result = Result.load(path)
        except StateError:  # damaged
            return None
        return result if _content(result.manifest) == _content(wanted) else None

    def keep(self, result: Result) -> None:
        """Write a result, whole or not at all."""
        self._kept.add(result.save(self._path(result.manifest)))

    def _path(self, manifest: Manifest) -> Path:
        return self._folder / f"{hashlib.sha256(_content(manifest).encode()).hexdigest()[:24]}.npz"


def _content(manifest: Manifest) -> str:
    """All that decides a result, as text; how long it took does not."""
    data = {key: value for key, value in asdict(manifest).items() if key != "seconds"}
    return json.dumps(data, sort_keys=True)
