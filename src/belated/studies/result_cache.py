"""Finished results on disk, found again by their manifest: nothing is simulated twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from belated.errors import StateError
from belated.simulation.result import Manifest, Result


class ResultCache:
    """A folder of results, each in a file named by a hash of its manifest: problem, policies, horizon, runs, seed,
    checkpoints, version and sources. ``fresh`` ignores results of earlier calls."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh
        self._saved: set[Path] = set()
        self._locks: dict[Path, Lock] = {}
        self._locking = Lock()

    def get(self, manifest: Manifest, play: Callable[[], Result]) -> tuple[Result, bool]:
        """The result of this manifest, and whether it was cached; else it is played and saved. Concurrent threads
        compute a result once."""
        with self._locking:
            lock = self._locks.setdefault(self._path(manifest), Lock())
        with lock:
            result = self.find(manifest)
            if result is not None:
                return result, True
            result = play()
            self.save(result)
            return result, False

    def find(self, manifest: Manifest) -> Result | None:
        """The cached result of this manifest, if there is one."""
        path = self._path(manifest)
        if not path.exists() or (self._fresh and path not in self._saved) or "unknown" in manifest.problem:
            return None
        try:
            result = Result.load(path)
        except StateError:  # damaged
            return None
        return result if _content(result.manifest) == _content(manifest) else None

    def save(self, result: Result) -> None:
        """Write a result, whole or not at all."""
        self._saved.add(result.save(self._path(result.manifest)))

    def _path(self, manifest: Manifest) -> Path:
        return self._folder / f"{hashlib.sha256(_content(manifest).encode()).hexdigest()[:24]}.npz"


def _content(manifest: Manifest) -> str:
    """All that determines a result, as text; how long it took does not."""
    data = {key: value for key, value in asdict(manifest).items() if key != "seconds"}
    return json.dumps(data, sort_keys=True)
