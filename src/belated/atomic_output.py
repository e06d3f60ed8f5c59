"""Output that appears whole: files are written aside, and moved into their folder together."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from belated.errors import ConfigurationError


class StagedOutput:
    """A folder for output. Nothing in it changes before :meth:`commit`; what is there is then replaced, file by file
    and folder by folder: one that cannot be replaced stays as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = not folder.exists()

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._aside = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=self.folder))
        except FileExistsError:
            raise ConfigurationError(f"out is {str(self.folder)!r}, which is a file; give a folder.") from None
        except OSError as error:
            raise ConfigurationError(
                f"out is {str(self.folder)!r}, which cannot be written: {error.strerror}. Give another folder."
            ) from None
        return self

    def path(self, name: str) -> Path:
        """Where to write the file of this name until it is moved."""
        path = self._aside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def inside(self, name: str) -> Path:
        """The folder of this name, to write files in until it is moved."""
        path = self._aside / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def commit(self) -> list[str]:
        """Move all that was written into the folder; the names."""
        names = sorted(path.name for path in self._aside.iterdir())
        for name in names:
            target = self.folder / name
            if target.is_dir():
                self._replace_folder(name, target)
            else:
                os.replace(self._aside / name, target)
        return names

    def _replace_folder(self, name: str, target: Path) -> None:
        """No folder can take the place of another in one step: the old one is moved aside, and back if that fails."""
        before = self._aside / f"{name}.before"
        os.replace(target, before)
        try:
            os.replace(self._aside / name, target)
        except BaseException:
            os.replace(before, target)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._aside, ignore_errors=True)
        if self._made and not any(self.folder.iterdir()):
            self.folder.rmdir()
