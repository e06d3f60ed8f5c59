"""Power cuts: what was acknowledged survives whatever was not synced. See torture/power.py for the 2,000."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest
from disk import Disk, Stored
from power import Full, Normal, Off, torture
from work import Small

CUTS = 60


def test_power_cuts_lose_nothing_and_damage_nothing() -> None:
    outcome = torture(CUTS, seed=1, kind=Full)
    assert (outcome.lost, outcome.damaged) == (0, 0), outcome.examples
    assert outcome.cuts == CUTS
    assert outcome.acknowledged > 1000


def test_the_service_syncs_every_commit() -> None:
    assert Small.synchronous == Full.synchronous == "FULL"


def test_with_less_care_acknowledged_events_are_lost() -> None:
    outcome = torture(CUTS, seed=1, kind=Normal)
    assert outcome.lost > 0, "the control lost nothing: the test sees nothing"


def test_without_any_care_databases_are_damaged_too() -> None:
    outcome = torture(CUTS, seed=1, kind=Off)
    assert outcome.lost > 0, "the control lost nothing: the test sees nothing"
    assert outcome.damaged > 0, "the control damaged nothing: the test sees nothing"


# ---- the disk that loses power ----


def test_what_is_synced_survives_and_the_rest_may_not() -> None:
    stored = Stored()
    stored.written.append((0, b"a" * 5000))
    stored.sync()
    stored.written.append((4000, b"b" * 2000))
    survivors = {stored.surviving(random.Random(seed)) for seed in range(200)}
    assert all(survivor[:4000] == b"a" * 4000 for survivor in survivors)
    assert b"a" * 5000 in survivors
    assert b"a" * 4000 + b"b" * 2000 in survivors
    torn = [s for s in survivors if s not in (b"a" * 5000, b"a" * 4000 + b"b" * 2000)]
    assert len(torn) > 20


def test_a_cut_stops_everything_and_leaves_what_was_synced(tmp_path: Path) -> None:
    place, after = tmp_path / "disk", tmp_path / "after"
    place.mkdir()
    after.mkdir()
    disk = Disk(place)
    connection = apsw.Connection(str(place / "x.db"), vfs=disk.vfs)
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (v)").fetchall()
    connection.execute("INSERT INTO t VALUES (1)")
    disk.cut_at = disk.steps + 1
    for _ in range(2):
        with pytest.raises(apsw.IOError):
            connection.execute("INSERT INTO t VALUES (2)")
    with pytest.raises(apsw.IOError):
        connection.close()
    disk.close()
    disk.survivors(random.Random(3), after)
    assert apsw.Connection(str(after / "x.db")).execute("SELECT v FROM t").fetchall() == [(1,)]


def test_files_that_no_folder_knows_for_good_may_be_gone(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    disk = Disk(place)
    connection = apsw.Connection(str(place / "x.db"), vfs=disk.vfs)
    connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; CREATE TABLE t (v)").fetchall()
    gone = 0
    for seed in range(20):
        after = tmp_path / str(seed)
        after.mkdir()
        disk.survivors(random.Random(seed), after)
        gone += not (after / "x.db").exists()
    connection.close()
    disk.close()
    assert 0 < gone < 20
