"""Servers of a released version: its wheel, built from its commit, with the packages of this interpreter."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from serving import Server, serving

ROOT = Path(__file__).parents[2]
COMMITS = {"0.1.0": "d2089a5"}


def package_of(version: str) -> Path:
    """The folder with what the wheel of a version contains, ``build/belated-VERSION``; the wheel is built once, from
    the commit of the version."""
    folder = ROOT / "build" / f"belated-{version}"
    if folder.is_dir():
        return folder
    archive = ["git", "-C", str(ROOT), "archive", COMMITS[version]]
    done = subprocess.run(archive, capture_output=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.decode().strip()
        pytest.fail(f"the commit of {version} is not in this checkout; get it with git fetch --unshallow: {reason}")
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        source, wheels, content = (Path(made, name) for name in ("source", "wheels", "content"))
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archived:
            archived.extractall(source, filter="data")
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(source)]
        subprocess.run(build, check=True)
        (wheel,) = wheels.glob(f"belated-{version}-*.whl")
        with zipfile.ZipFile(wheel) as files:
            files.extractall(content)
        with suppress(OSError):  # another process was first
            os.rename(content, folder)
    return folder


@contextmanager
def released(version: str, db: str) -> Iterator[Server]:
    """A server of a version within this context."""
    with serving(db, environment={"PYTHONPATH": str(package_of(version))}) as server:
        yield server


def packages_path(version: str) -> dict[str, str]:
    """The environment in which ``python -m belated`` is a version."""
    return {**os.environ, "PYTHONPATH": str(package_of(version))}
