"""Servers of a released version: its package, taken from its commit, with the packages of this interpreter."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from serving import Server, serving

ROOT = Path(__file__).parents[2]
COMMITS = {"0.1.0": "d2089a5"}


def package_of(version: str) -> Path:
    """The folder with what the wheel of a version contains, ``build/belated-VERSION``; made once. That is the folder
    ``src/belated`` of the commit: plain Python, to which nothing is added."""
    folder = ROOT / "build" / f"belated-{version}"
    if folder.is_dir():
        return folder
    archive = ["git", "-C", str(ROOT), "archive", COMMITS[version], "src/belated"]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the commit of {version} is not in this checkout: {done.stderr.decode().strip()}")
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
            files.extractall(made, filter="data")
        with suppress(OSError):  # another process was first
            os.rename(Path(made, "src"), folder)
    return folder


@contextmanager
def released(version: str, db: str) -> Iterator[Server]:
    """A server of a version within this context."""
    with serving(db, environment={"PYTHONPATH": str(package_of(version))}) as server:
        yield server


def packages_path(version: str) -> dict[str, str]:
    """The environment in which ``python -m belated`` is a version."""
    return {**os.environ, "PYTHONPATH": str(package_of(version))}
