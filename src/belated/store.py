"""Finished results on disk: found again by their manifest, so that nothing is played twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
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

    def find(self, name: Sequence[str], wanted: Manifest) -> Result | None:
        """The finished result of this name (folders, and last the file), if it is what is wanted."""
        path = self._path(name)
        if not path.exists() or (self._fresh and path not in self._made):
            return None
        try:
            result = Result.load(path)
        except StateError:  # damaged, or of another version
            return None
        return result if _same(result.manifest) == _same(wanted) else None

    def keep(self, name: Sequence[str], result: Result) -> None:
        """Write a result, whole or not at all."""
        path = self._path(name)
        result.save(path)
        self._made.add(path)

    def _path(self, name: Sequence[str]) -> Path:
        *folders, last = map(_file_name, name)
        return self._folder.joinpath(*folders, f"{last}.npz")


def _file_name(part: str) -> str:
    """A part of a path: as it is if that can be, else with a mark that tells it from others."""
    plain = re.sub(r"[^\w,+=-]|(?<!\d)\.|\.(?!\d)", "_", part)
    return plain if plain == part else f"{plain}-{hashlib.sha256(part.encode()).hexdigest()[:8]}"


def _same(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in asdict(manifest).items() if key != "seconds"}
