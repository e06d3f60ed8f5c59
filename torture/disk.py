"""A disk that can lose power, and that can fail: a layer below SQLite that knows what is synced and what is only
written."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

_numbers = itertools.count()
_MAIN = apsw.SQLITE_OPEN_MAIN_DB
_LOGS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
SECTORS = (512, 4096)
KEPT = (0.0, 0.5, 0.9, 1.0)
"""How much of what is not synced a power cut keeps; each cut has one of these."""


@dataclass
class Stored:
    """A file, apart from its name: what is on the disk for good, and changes that may be lost."""

    synced: bytes = b""
    written: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(place, data), or (size, None) where the file was cut to a size."""

    def sync(self) -> None:
        """Everything is on the disk."""
        content = bytearray(self.synced)
        for place, data in self.written:
            if data is None:
                del content[place:]
                content.extend(bytes(place - len(content)))
            else:
                _put(content, place, data, b"\0")
        self.synced, self.written = bytes(content), []

    def surviving(self, rng: random.Random) -> bytes:
        """What a power cut leaves: of what is not synced, each sector by itself is kept, lost or torn."""
        content = bytearray(self.synced)
        sector, kept, filling = rng.choice(SECTORS), rng.choice(KEPT), rng.choice((b"\0", b"\xa5"))
        for place, data in self.written:
            if data is None:
                if rng.random() < kept and place < len(content):
                    del content[place:]
                continue
            for begin, piece in _sectors(place, data, sector):
                if rng.random() < kept:
                    _put(content, begin, piece, filling)
                elif kept and rng.random() < 0.3:
                    torn = rng.randrange(len(piece))
                    _put(content, begin, piece[:torn], filling)
                elif kept and begin + len(piece) > len(content) and rng.random() < 0.3:
                    content.extend(filling * (begin + len(piece) - len(content)))  # longer, but without the data
        return bytes(content)


def _put(content: bytearray, place: int, data: bytes, filling: bytes) -> None:
    content.extend(filling * (place - len(content)))
    content[place : place + len(data)] = data


def _sectors(place: int, data: bytes, sector: int) -> list[tuple[int, bytes]]:
    bounds = [place, *range((place // sector + 1) * sector, place + len(data), sector), place + len(data)]
    return [(a, data[a - place : b - place]) for a, b in itertools.pairwise(bounds) if a < b]


class Cut(apsw.IOError):
    """The power goes while a change is being made."""


class Disk:
    """A folder under watch. Files are made and changed through ``vfs``, a name for SQLite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = 0
        """Changes so far: writes, syncs, truncations, deletions, new files."""
        self.power = True
        self.cut_at: int | None = None
        """The step at which the power goes."""
        self.fail: range = range(0)
        """The steps that fail."""
        self.full = False
        """Whether they fail because the disk is full; else with an I/O error."""
        self.failed = 0
        self.names = {path.name: Stored(path.read_bytes()) for path in folder.iterdir()}
        self.synced_names = dict(self.names)
        self.vfs = f"torture{next(_numbers)}"
        self._vfs = _Layer(self.vfs, self)

    def close(self) -> None:
        """SQLite no longer knows of it."""
        self._vfs.unregister()

    def step(self) -> None:
        """A change is asked for; an error if it is not made."""
        self.read()
        self.steps += 1
        if self.steps == self.cut_at:
            self.power = False
            raise Cut("the power goes")
        if self.steps in self.fail:
            self.failed += 1
            raise apsw.FullError("the disk is full") if self.full else apsw.IOError("the disk fails")

    def read(self) -> None:
        """An error if the power is off."""
        if not self.power:
            raise apsw.IOError("the power is off")

    def sync_names(self) -> None:
        """Files that were made and deleted are so for good."""
        self.synced_names = dict(self.names)

    def survivors(self, rng: random.Random, folder: Path) -> None:
        """Write what the power cut left into another folder."""
        for name in sorted({*self.names, *self.synced_names}):
            now, before = self.names.get(name), self.synced_names.get(name)
            chosen = now if rng.random() < 0.5 else before
            if chosen is not None:
                (folder / name).write_bytes(chosen.surviving(rng))
        for name in [path.name for path in folder.iterdir()]:
            if not name.endswith(("-wal", "-journal")) and rng.random() < 0.5:
                (folder / f"{name}-shm").write_bytes(rng.randbytes(32768))  # shared memory that nobody cleared


class _Layer(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or not flags[0] & (_MAIN | _LOGS):
            return apsw.VFSFile("", name, flags)  # nobody needs it after a power cut
        disk, short = self._disk, Path(path).name
        disk.read()
        if short not in disk.names and flags[0] & apsw.SQLITE_OPEN_CREATE:
            disk.step()
            disk.names[short] = Stored()
        return _File(name, flags, disk, disk.names.get(short, Stored()))

    def xDelete(self, path: str, syncdir: bool) -> None:  # noqa: N802
        try:
            self._disk.step()
        except Cut:
            self._disk.names.pop(Path(path).name, None)
            raise
        super().xDelete(path, syncdir)
        self._disk.names.pop(Path(path).name, None)
        if syncdir:
            self._disk.sync_names()


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], disk: Disk, stored: Stored) -> None:
        self._disk = disk
        self._stored = stored
        # SQLite syncs the folder with the first sync of a log that it opens.
        self._sync_names = bool(flags[0] & _LOGS) and bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.read()
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        kept = bytes(data)
        try:
            self._disk.step()
        except Cut:
            self._stored.written.append((offset, kept))  # on its way to the disk
            raise
        except apsw.IOError:
            if self._disk.power:  # half of it is written
                half = kept[: len(kept) // 2]
                super().xWrite(half, offset)
                self._stored.written.append((offset, half))
            raise
        super().xWrite(kept, offset)
        self._stored.written.append((offset, kept))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        try:
            self._disk.step()
        except Cut:
            self._stored.written.append((newsize, None))
            raise
        super().xTruncate(newsize)
        self._stored.written.append((newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802
        try:
            self._disk.step()
        except apsw.Error:
            if self._disk.power:
                self._stored.written.clear()  # as kernels do: shown to readers, and never tried again
            raise
        self._stored.sync()
        if self._sync_names:
            self._sync_names = False
            self._disk.sync_names()
