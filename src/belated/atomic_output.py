"""Atomic output: a file that appears when it is whole; files that are staged in a temporary folder and moved into place
together."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from belated.errors import ConfigurationError


def make_folder(folder: Path) -> None:
    """Create a folder for output, if it is not there."""
    with _naming_out(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def _naming_out(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into one that says what to give as ``out``."""
    try:
        yield
    except FileExistsError:
        raise ConfigurationError(f"out is {str(folder)!r}, which is a file; give a folder.") from None
    except OSError as error:
        raise ConfigurationError(
            f"out is {str(folder)!r}, which cannot be written: {error.strerror}. Give another folder."
        ) from None


@contextmanager
def new_file(target: Path) -> Iterator[IO[bytes]]:
    """A file to write into, which takes the place of ``target`` when it is whole and on disk; after an error all is as
    it was. Missing folders are made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class StagedOutput:
    """An output folder that does not change before :meth:`commit`, which replaces its files and subfolders one by one;
    one that cannot be replaced stays as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._created = not folder.exists()

    def __enter__(self) -> Self:
        with _naming_out(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=self.folder))
        return self

    def path(self, name: str) -> Path:
        """The staging path of a file."""
        path = self._staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def commit(self) -> list[str]:
        """Move everything that was staged into the folder; return the names."""
        names = sorted(path.name for path in self._staging.iterdir())
        for name in names:
            target = self.folder / name
            if target.is_dir():
                self._replace_folder(name, target)
            else:
                os.replace(self._staging / name, target)
        return names

    def _replace_folder(self, name: str, target: Path) -> None:
        """Replace a folder, which cannot be done in one step: move the old one away, and back if the move fails."""
        before = self._staging / f"{name}.before"
        os.replace(target, before)
        try:
            os.replace(self._staging / name, target)
        except BaseException:
            os.replace(before, target)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        if self._created and not any(self.folder.iterdir()):
            self.folder.rmdir()
