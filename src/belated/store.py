"""Finished results on disk: found again by their manifest, so that nothing is played twice."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from belated.errors import StateError
from belated.manifest import Manifest
from belated.result import Result


class Store:
    """A folder of results. A result is used again only if its manifest says what is asked for: problem, policies,
    horizon, runs, seed, checkpoints, version and engine; ``fresh`` uses none."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh
        self._made: set[Path] = set()

    def find(self, name: str, wanted: Manifest) -> Result | None:
        """The finished result of this name, if it is what is wanted."""
        path = self._path(name)
        if not path.exists() or (self._fresh and path not in self._made):
            return None
        try:
            result = Result.load(path)
        except StateError:  # damaged, or of another version
            return None
        return result if _same(result.manifest) == _same(wanted) else None

    def keep(self, name: str, result: Result) -> None:
        """Write a result, whole or not at all."""
        path = self._path(name)
        result.save(path)
        self._made.add(path)

    def _path(self, name: str) -> Path:
        return self._folder / re.sub(r"[^\w.,+=/-]", "_", f"{name}.npz")


def _same(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in asdict(manifest).items() if key != "seconds"}
