"""The k-th I/O error for every k: no false acknowledgement, and work goes on when the disk does.

    python torture/errors.py --transactions 20 --seed 1

The service's writer works on a file through a layer of which the k-th write, sync, truncation or deletion fails: with
an I/O error that leaves half of a write behind, or because the disk is full; once, or for a while. This is done for
k = 1, 2, ... until the work is done before the k-th step. Whatever fails, callers are refused with 503 or what they
were told is there: in the file as it stands, and also if the power goes then, with all lost that a failed sync did not
bring to the disk. The control acknowledges what was refused, and must be seen to lose.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from disk import Disk
from ledger import Found, Ledger
from power import NAME, examine
from work import Small, StepWriter, Work, open_small, quiet

from belated.errors import StorageError
from belated.service.core.transaction import Operation, Transaction

ATTEMPTS = 300
"""Failures in a row after which the writer does not recover any more."""
WHILE = 25
"""Steps that fail one after the other, if not one alone."""


@dataclass
class Outcome:
    """What came of many failures."""

    failures: int = 0
    """Runs in which a step failed."""
    refused: int = 0
    """Operations that were refused."""
    acknowledged: int = 0
    steps: int = 0
    """Steps of a run without a failure."""
    bad: list[str] = field(default_factory=list)
    """Runs after which something was lost, wrong, or stood still."""

    def __str__(self) -> str:
        return (
            f"{self.failures} runs with a failure (k = 1 to {self.steps}), {self.acknowledged} operations "
            f"acknowledged, {self.refused} refused: {len(self.bad)} runs lost something or stood still"
        )


class Careless(StepWriter):
    """The control: what was decided is acknowledged, whether it could be written or not."""

    def together(self, operations: list[Operation]) -> list[tuple[Any, BaseException | None]]:
        """Have operations done; what their callers are told."""
        thought: dict[int, Any] = {}

        def noted(number: int, operation: Operation) -> Operation:
            def act(tx: Transaction) -> Any:
                thought[number] = operation.act(tx)
                return thought[number]

            return msgspec.structs.replace(operation, act=act)

        told = super().together([noted(number, operation) for number, operation in enumerate(operations)])
        return [(thought[n], None) if n in thought else each for n, each in enumerate(told)]


def torture(
    transactions: int, seed: int, *, full: bool, length: int, kind: type[StepWriter] = StepWriter, every: int = 1
) -> Outcome:
    """Let the k-th step fail, and ``length - 1`` after it, for every k (or every so many)."""
    outcome = Outcome()
    k = 1
    while _run(k, transactions, seed, full, length, kind, outcome):
        k += every
    return outcome


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="belated-errors-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _run(
    k: int, transactions: int, seed: int, full: bool, length: int, kind: type[StepWriter], outcome: Outcome
) -> bool:
    """The work with failures from the k-th step on; whether there was one."""
    rng = random.Random(seed)
    Small.checkpoint = 10
    with _folder() as folder:
        place, cut, copy = folder / "disk", folder / "cut", folder / "copy"
        place.mkdir()
        cut.mkdir()
        disk = Disk(place)
        disk.full, disk.fail = full, range(k, k + length)
        work = Work(rng, Ledger())
        try:
            wrong = _work(disk, work, transactions, kind)
        finally:
            disk.close()
        disk.survivors(rng, cut)
        for where in (place, cut):
            found = Found(wrong=[wrong]) if wrong else examine(where, copy, work.ledger)
            if not found.fine:
                outcome.bad.append(f"k = {k}, {where.name}: {found}")
                break
    outcome.failures += disk.failed > 0
    outcome.refused += work.refused
    outcome.acknowledged += len(work.ledger)
    if not disk.failed:
        outcome.steps = disk.steps
    return disk.failed > 0


def _work(disk: Disk, work: Work, transactions: int, kind: type[StepWriter]) -> str | None:
    """Work to the end, with a restart in the middle; what went wrong with it."""
    done = attempts = 0
    for part in (transactions // 2, transactions):
        writer = kind(lambda: open_small(disk.folder / NAME, disk.vfs))
        while attempts < ATTEMPTS:
            try:
                writer.start()
                break
            except StorageError:
                attempts += 1
        while done < part and attempts < ATTEMPTS:
            if work.transaction(writer):
                done += 1
            else:
                attempts += 1
            writer.snapshots()
        if attempts == ATTEMPTS:
            return "the disk works again, and the writer does not"
        writer.stop()
    return None


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--transactions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    quiet()
    failed = 0
    for kind in (StepWriter, Careless):
        for full in (False, True):
            for length in (1, WHILE):
                begin = time.perf_counter()
                outcome = torture(options.transactions, options.seed, full=full, length=length, kind=kind)
                what = f"{'disk full' if full else 'I/O error'} {'once' if length == 1 else f'{length} times'}"
                who = "" if kind is StepWriter else "control, "
                print(f"{who}{what}: {outcome} ({time.perf_counter() - begin:.0f} s)", flush=True)
                for example in outcome.bad[:3]:
                    print(f"    {example}")
                failed += (len(outcome.bad) > 0) == (kind is StepWriter)
    print("FAILED" if failed else "passed: nothing acknowledged was lost; the control lost")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
