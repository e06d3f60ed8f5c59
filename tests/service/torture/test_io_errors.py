"""The k-th I/O error for every k: no false acknowledgement, and work goes on. See torture/errors.py for more of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from disk import Disk
from errors import WHILE, Careless, torture
from work import EXPERIMENTS, StepWriter, open_small

from belated.errors import ApiError, StorageError
from belated.service.core import operations
from belated.service.core.writer import Writer
from belated.service.storage.sqlite import SQLite

TRANSACTIONS = 4


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True], ids=["io-error", "disk-full"])
def test_whatever_step_fails_nothing_is_acknowledged_that_is_not_there(full: bool) -> None:
    outcome = torture(TRANSACTIONS, seed=1, full=full, length=1)
    assert not outcome.bad
    assert outcome.failures == outcome.steps > 50
    assert outcome.refused > 0
    assert outcome.acknowledged > 0


@pytest.mark.parametrize("full", [False, True], ids=["io-error", "disk-full"])
def test_nor_when_it_fails_for_a_while(full: bool) -> None:
    outcome = torture(TRANSACTIONS, seed=2, full=full, length=WHILE, every=8)
    assert not outcome.bad
    assert outcome.failures > 10
    assert outcome.refused > 0


def test_some_steps_fail_and_nothing_is_acknowledged_that_is_not_there() -> None:
    outcome = torture(2, seed=1, full=False, length=1, every=4)
    assert not outcome.bad
    assert outcome.refused > 0
    assert outcome.acknowledged > 0


def test_a_careless_writer_is_found_out() -> None:
    outcome = torture(TRANSACTIONS, seed=1, full=False, length=1, kind=Careless, every=5)
    assert outcome.bad, "the control lost nothing: the test sees nothing"


def test_the_service_goes_on_when_the_disk_does(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    writer = Writer(lambda: open_small(tmp_path / "bandits.db", disk.vfs))
    writer.start()
    writer.run(operations.create("plain", EXPERIMENTS["plain"]))
    disk.full, disk.fail = True, range(disk.steps + 1, disk.steps + 1_000_000)
    for _ in range(3):
        with pytest.raises(ApiError, match="Send the same request again") as refused:
            writer.run(operations.decide("plain", ("one",), 1, {}))
        assert (refused.value.status, refused.value.kind) == (503, "storage")
    disk.fail = range(0)
    (made,), new = writer.run(operations.decide("plain", ("one",), 1, {}))
    assert new
    assert writer.run(operations.decide("plain", ("one",), 1, {}))[1] is False
    assert made[1].event.seq == 1
    writer.stop()
    disk.close()


def test_a_server_does_not_start_on_a_disk_that_fails(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.fail = range(1, 1_000_000)
    writer = Writer(lambda: open_small(tmp_path / "bandits.db", disk.vfs))
    with pytest.raises(StorageError):
        writer.start()
    with pytest.raises(ApiError, match="stopped"):
        writer.run(operations.create("plain", EXPERIMENTS["plain"]))
    disk.close()


def test_a_transaction_whose_commit_fails_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one can begin."""
    journal = open_small(tmp_path / "bandits.db")

    def fails(self: SQLite) -> None:
        raise StorageError("no commit")

    with monkeypatch.context() as patch:
        patch.setattr(SQLite, "commit", fails)
        with pytest.raises(StorageError, match="no commit"), journal.database.transaction():
            journal.touch(1)
    with journal.database.transaction():
        journal.touch(2)
    journal.close()


def test_an_operation_after_the_end_is_refused_and_does_not_wait(tmp_path: Path) -> None:
    writer = Writer(lambda: open_small(tmp_path / "bandits.db"))
    writer.start()
    writer.stop()
    with pytest.raises(ApiError, match="stopped"):
        writer.run(operations.create("plain", EXPERIMENTS["plain"]))


def test_steps_count_what_a_writer_does(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    writer = StepWriter(lambda: open_small(tmp_path / "bandits.db", disk.vfs))
    writer.start()
    before = disk.steps
    writer.together([operations.create("plain", EXPERIMENTS["plain"])])
    assert disk.steps > before
    writer.stop()
    disk.close()
