"""Power cuts: what was acknowledged is there, whatever the disk had not synced.

    python torture/power.py --cuts 2000 --seed 1

The service's writer works on a file through a layer that keeps apart what is synced and what is only written. At a
random write, sync, truncation or deletion the power goes; of all that was not synced each sector by itself is kept,
lost or torn, and so is every change of a file's size or name. What survives is opened again: nothing acknowledged may
be missing, nothing may be damaged, and the state must be what the events make of it. Then the work goes on, to the next
cut. The controls do the same with less care, and must be seen to lose.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from disk import Disk
from ledger import Found, Ledger, compare
from work import Small, Work, open_small, quiet, started

LIVES = 4
"""Cuts that a database lives through, one after the other."""
STEPS = 400
"""Steps before a cut, at the most."""
NAME = "bandits.db"


class Full(Small):
    """As the service has it."""


class Normal(Small):
    """The control that loses: the log is synced only before it is moved into the database."""

    synchronous = "NORMAL"


class Off(Small):
    """The control that loses and damages: nothing is synced."""

    synchronous = "OFF"


KINDS: dict[str, type[Small]] = {"FULL": Full, "NORMAL": Normal, "OFF": Off}


@dataclass
class Outcome:
    """What came of many cuts."""

    cuts: int = 0
    acknowledged: int = 0
    """Acknowledgements before a cut, of all cuts together."""
    lost: int = 0
    """Cuts after which something acknowledged was missing."""
    damaged: int = 0
    """Cuts after which the database was damaged, or something in it was wrong."""
    examples: list[str] = field(default_factory=list)

    def add(self, found: Found, new: int, where: str) -> None:
        """One more cut."""
        self.cuts += 1
        self.acknowledged += new
        self.lost += bool(found.lost)
        self.damaged += bool(found.wrong)
        if not found.fine and len(self.examples) < 5:
            self.examples.append(f"{where}: {found}")

    def __str__(self) -> str:
        return (
            f"{self.cuts} cuts, {self.acknowledged} acknowledgements before them: {self.lost} cuts lost some, "
            f"{self.damaged} left damage"
        )


def torture(cuts: int, seed: int, kind: type[Small] = Full, only: int | None = None) -> Outcome:
    """Cut the power so many times; with ``only``, just the life of that number."""
    outcome = Outcome()
    folder = Path(tempfile.mkdtemp(prefix="belated-power-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        life = only or 0
        while outcome.cuts < cuts and (only is None or life == only):
            _live(folder / str(life), random.Random(f"{seed} {life}"), min(LIVES, cuts - outcome.cuts), kind, outcome)
            shutil.rmtree(folder / str(life))
            life += 1
    finally:
        shutil.rmtree(folder)
    return outcome


def _live(folder: Path, rng: random.Random, cuts: int, kind: type[Small], outcome: Outcome) -> None:
    """One database, from its beginning through several cuts."""
    kind.checkpoint = rng.choice((5, 20, 100))
    place = folder / "0"
    place.mkdir(parents=True)
    ledger = Ledger()
    work = Work(rng, ledger)
    for cut in range(1, cuts + 1):
        before = len(ledger)
        disk = Disk(place)
        disk.cut_at = rng.randrange(1, STEPS)
        try:
            _until_the_cut(disk, work, rng, kind)
        finally:
            disk.close()
        place = folder / str(cut)
        place.mkdir()
        disk.survivors(rng, place)
        found = examine(place, folder / "copy", ledger)
        outcome.add(found, len(ledger) - before, f"{folder.name}, cut {cut}")
        if not found.fine:
            return  # a control; what was lost once is not counted again


def _until_the_cut(disk: Disk, work: Work, rng: random.Random, kind: type[Small]) -> None:
    """Work, with restarts and readers, until the power is off."""
    while disk.power:
        writer = started(disk.folder / NAME, disk.vfs, kind)
        if writer is None:
            assert not disk.power
            return
        reader = None
        for _ in range(rng.choice((3, 10, 1000))):
            if not work.transaction(writer):
                break
            writer.snapshots()
            if reader is None and rng.random() < 0.1:
                reader = writer.reading()  # it keeps the log from beginning anew
            elif reader is not None and rng.random() < 0.2:
                reader.close()
                reader = None
        if reader is not None:
            reader.close()
        writer.stop()


def examine(place: Path, copy: Path, ledger: Ledger) -> Found:
    """Open what is there, as a server would, and compare; on a copy, so that the next life begins with what the cut
    left."""
    shutil.copytree(place, copy)
    try:
        journal = open_small(copy / NAME)
        try:
            found = compare(journal, ledger)
            checked = journal.database.execute("PRAGMA integrity_check")
            if checked != [("ok",)]:
                found.wrong.append(f"integrity_check: {checked[0][0]}")
        finally:
            journal.close()
    except Exception as error:  # what is damaged can fail in any way
        found = Found(wrong=[repr(error)])
    shutil.rmtree(copy)
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cuts", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="just the life of this number, as a failure names it")
    options = parser.parse_args()
    quiet()
    failed = 0
    for name, kind in KINDS.items():
        begin = time.perf_counter()
        outcome = torture(options.cuts, options.seed, kind, options.only)
        print(f"synchronous = {name}: {outcome} ({time.perf_counter() - begin:.0f} s)", flush=True)
        for example in outcome.examples:
            print(f"    {example}")
        seen = outcome.lost + outcome.damaged > 0
        failed += seen if kind is Full else not seen
    print("FAILED" if failed else "passed: FULL lost nothing, the controls did")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
