"""Exports and imports, and what verify finds in a database that somebody changed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import for_each
from typer.testing import CliRunner

from belated.cli import app
from belated.errors import ConfigurationError, StateError
from belated.service.api.experiments import experiment_view
from belated.service.core import operations
from belated.service.core.experiment import Experiment, restore
from belated.service.core.export import import_parquet, write_parquet
from belated.service.core.spec import Silence, checked_spec, make_policy
from belated.service.core.verify import verify
from belated.service.core.writer import Writer
from belated.service.storage.journal import Journal, open_journal

SILENCE = Silence(1e-6, 0.25)


UCB = {"name": "UCB", "confidence": 0.1}


def lived(db: str, rounds: int = 12, name: str = "e", policy: dict[str, Any] | None = UCB) -> None:
    """An experiment in which everything happens, or goes on."""
    writer = Writer(lambda: open_journal(db))
    writer.start()
    spec = checked_spec(["a", "b"], policy, 3, SILENCE)
    writer.run(operations.create(name, spec))
    found = writer.run(operations.decide(name, (), rounds, {"unit": "ü", "metadata": {"k": [1, None]}}))[0]
    ids = [decision.event.id for _, decision in found]
    for place, id in enumerate(ids[: rounds // 2]):
        writer.run(operations.feedback(id, place % 3 / 2, 1_700_000_000_000_000 if place % 2 else None))
    writer.run(operations.cancel(ids[-1]))
    assert writer.run(operations.impute(name)) > 0
    writer.run(operations.feedback(ids[-2], 1.0, None))
    writer.run(operations.cancel(ids[-3]))
    writer.run(operations.set_stopped(name, True))
    writer.run(operations.set_stopped(name, False))
    if make_policy(spec.policy).supports_new_arms:
        writer.run(operations.add_arm(name, f"arm{writer.run(operations.add_arm(name, 'c'))[0].seq}"))
    writer.run(operations.decide(name, (), 5, {}))
    writer.stop()


def exported(db: str, path: Path, name: str = "e") -> Path:
    with closing(open_journal(db)) as journal, write_parquet(journal, name) as file:
        path.write_bytes(file.read())
    return path


def imported(db: str, path: Path) -> tuple[str, int]:
    with closing(open_journal(db)) as journal:
        return import_parquet(journal, path)


def all_of(db: str) -> list[Any]:
    with closing(open_journal(db)) as journal:
        return [(stored[1:], list(journal.events(stored.id))) for stored in journal.experiments()]


def errors(db: str) -> list[str | None]:
    with closing(open_journal(db)) as journal:
        return [each.error for each in verify(journal)]


@pytest.fixture
def source(tmp_path: Path) -> str:
    db = str(tmp_path / "source.db")
    lived(db)
    return db


# ---- there and back ----


def test_an_export_is_restored_once(source: str, db: str, tmp_path: Path) -> None:
    path = exported(source, tmp_path / "e.parquet")
    [(_, events)] = all_of(source)
    assert imported(db, path) == ("e", len(events))
    assert all_of(db) == all_of(source)
    assert imported(db, path) == ("e", 0)
    assert all_of(db) == all_of(source)
    assert errors(db) == [None]
    with closing(open_journal(db)) as here, closing(open_journal(source)) as there:
        ours, theirs = here.experiment("e"), there.experiment("e")
        assert ours is not None
        assert theirs is not None
        assert restore(here, ours).learner.to_bytes() == restore(there, theirs).learner.to_bytes()


def test_commands_of_the_service_print_json_and_read_standard_input(source: str, tmp_path: Path) -> None:
    """Export, import from standard input, verify, and keys, on a database of their own."""
    db, export = str(tmp_path / "new.db"), exported(source, tmp_path / "e.parquet").read_bytes()

    def printed(*words: str, status: int = 0, given: bytes | None = None) -> Any:
        done = CliRunner().invoke(app, [*words, "--db", db, "--json"], input=given)
        assert done.exit_code == status, done.output
        return json.loads(done.stdout)

    [(_, events)] = all_of(source)
    assert printed("import", "-", given=export) == {"experiment": "e", "imported": len(events), "created": True}
    assert printed("import", "-", given=export) == {"experiment": "e", "imported": 0, "created": False}
    (found,) = printed("verify")["experiments"]
    numbers = {"events": len(events), "decisions": 17}
    assert found == {"name": "e", **numbers, "error": None, "note": None, "correct": True}
    with closing(sqlite3.connect(db)) as changed, changed:
        changed.execute("DELETE FROM belated_events WHERE seq = 5")
    (found,) = printed("verify", status=1)["experiments"]
    assert (found["correct"], bool(found["error"])) == (False, True)
    assert printed("keys", "list") == {"keys": []}
    made = printed("keys", "create", "--role", "writer")
    assert (made["name"], made["role"], made["key"][:4]) == ("writer-1", "writer", "bel_")
    assert printed("keys", "revoke", "writer-1") == {"name": "writer-1", "revoked": True}
    (listed,) = printed("keys", "list")["keys"]
    assert set(listed) == {"name", "role", "created", "revoked"}
    assert listed["revoked"] is not None


WITH_MEMORY: list[dict[str, Any] | None] = [
    None,
    {"name": "Prefix-UCB", "confidence": 0.1},
    {"name": "Prefix-UCB", "spread": True},
    {"name": "Prefix-SE", "confidence": 0.02},
    {"name": "Pending-UCB", "confidence": 0.1},
    {"name": "Pending-UCB", "confidence": 0.1, "patience": 4},
]


def twins(db: str, source: str) -> Iterator[Experiment]:
    """An experiment from a snapshot, from its events, from its export."""
    for place, snapshot in ((source, True), (source, False), (db, True), (db, False)):
        with closing(open_journal(place)) as journal:
            stored = journal.experiment("e")
            assert stored is not None
            yield restore(journal, stored, snapshot=snapshot)


@pytest.mark.parametrize("policy", WITH_MEMORY, ids=str)
def test_policies_with_memory_come_back_to_the_bit(db: str, tmp_path: Path, policy: dict[str, Any] | None) -> None:
    """From a snapshot, from the events, from an export; looked at in between or not. All go on with the same bits."""
    source = str(tmp_path / "source.db")
    for rounds in (12, 40):
        lived(source, rounds, policy=policy)
    imported(db, exported(source, tmp_path / "e.parquet"))
    assert errors(source) == errors(db) == [None]
    views, bytes_, later = [], [], []
    for number, each in enumerate(twins(db, source)):
        if number % 2:
            views.append(experiment_view(each))
        bytes_.append(each.learner.to_bytes())
        later.append([each.learner.decide() for _ in range(40)])
        views.append(experiment_view(each))
    assert len({*bytes_}) == 1
    assert [later[0]] * 4 == later
    assert views[0] == views[2] == views[3] == views[5]
    assert views[1] == views[4]


def test_what_is_new_is_added(source: str, db: str, tmp_path: Path) -> None:
    first = exported(source, tmp_path / "first.parquet")
    before = len(all_of(source)[0][1])
    lived(source)
    second = exported(source, tmp_path / "second.parquet")
    after = len(all_of(source)[0][1])
    assert imported(db, first) == ("e", before)
    assert imported(db, second) == ("e", after - before)
    assert all_of(db) == all_of(source)
    assert imported(db, first) == ("e", 0)  # an older export changes nothing
    assert all_of(db) == all_of(source)
    lived(db)  # and it goes on
    assert errors(db) == [None]


def test_an_experiment_without_events(db: str, tmp_path: Path) -> None:
    source = str(tmp_path / "source.db")
    with closing(open_journal(source)) as journal, journal.database.transaction():
        journal.create("e", checked_spec(["a"], {"name": "UCB"}, 0, None).text(), 5)
    assert imported(db, exported(source, tmp_path / "e.parquet")) == ("e", 0)
    assert all_of(db) == all_of(source)


def test_another_experiment_of_that_name_is_kept(source: str, db: str, tmp_path: Path) -> None:
    path = exported(source, tmp_path / "e.parquet")
    with closing(open_journal(db)) as journal, journal.database.transaction():
        journal.create("e", checked_spec(["a"], {"name": "UCB"}, 0, None).text(), 5)
    refused(db, path, "a different experiment")


def test_another_past_is_kept(source: str, db: str, tmp_path: Path) -> None:
    path = exported(source, tmp_path / "e.parquet")
    lived(db, 9)
    refused(db, path, "is different here; nothing was imported")


def test_another_experiment_may_have_the_same_ids(source: str, db: str, tmp_path: Path) -> None:
    [(_, events)] = all_of(source)
    writer = Writer(lambda: open_journal(db))
    writer.start()
    writer.run(operations.create("other", checked_spec(["a"], {"name": "UCB"}, 0, None)))
    writer.run(operations.decide("other", (events[3].id,), 1, {}))
    writer.stop()
    with closing(open_journal(db)) as journal:
        assert import_parquet(journal, exported(source, tmp_path / "e.parquet")) == ("e", len(events))
        assert [each.error for each in verify(journal)] == [None, None]
    assert all_of(db)[1] == all_of(source)[0]


def refused(db: str, path: Path, said: str) -> None:
    """Nothing at all was taken in."""
    before = all_of(db)
    with pytest.raises(ConfigurationError) as caught:
        imported(db, path)
    assert said in str(caught.value), str(caught.value)
    assert str(path) in str(caught.value)
    assert all_of(db) == before


# ---- files that are not as they should be ----


def changed(path: Path, column: str, row: int, value: Any) -> None:
    """Put another value into a file."""
    table = pq.read_table(path)
    values = table.column(column).to_pylist()
    values[row] = value(values[row]) if callable(value) else value
    place = table.schema.get_field_index(column)
    table = table.set_column(place, table.schema.field(column), pa.array(values, table.schema.field(column).type))
    pq.write_table(table, path)


def row_of(path: Path, kind: str) -> int:
    return int(pq.read_table(path).column("kind").to_pylist().index(kind))


CHANGES: list[tuple[str, str, Any]] = [
    ("decided", "arm", lambda arm: 1 - arm),
    ("decided", "arm", None),
    ("decided", "number", 7),
    ("decided", "rank", 7),
    ("decided", "id", None),
    ("decided", "kind", "invented"),
    ("decided", "at", None),
    ("decided", "seq", None),
    ("decided", "seq", 2),
    ("observed", "arm", 1_000_000),
    ("observed", "arm", -1),
    ("observed", "arm", None),
    ("observed", "id", "nobody"),
    ("observed", "reward", 2.0),
    ("observed", "reward", float("nan")),
    ("observed", "reward", None),
    ("observed", "kind", "imputed"),
    ("observed", "rank", 99),
    ("imputed", "reward", 0.5),
    ("replaced", "kind", "observed"),
    ("cancelled", "reward", 1.0),
    ("stopped", "kind", "decided"),
    ("arm-added", "extra", None),
    ("arm-added", "extra", "{"),
    ("arm-added", "extra", "[]"),
    ("resumed", "at", lambda at: at.replace(year=2001)),
]


def test_changed_files_are_refused(source: str, tmp_path: Path) -> None:
    def check(kind: str, column: str, value: Any) -> None:
        path = exported(source, tmp_path / "e.parquet")
        changed(path, column, row_of(path, kind), value)
        refused(str(tmp_path / "new.db"), path, "")

    for_each(CHANGES, check)


def test_damaged_files_are_refused(source: str, tmp_path: Path) -> None:
    path = exported(source, tmp_path / "e.parquet")
    whole = path.read_bytes()
    db = str(tmp_path / "new.db")
    for wrong in (b"", b"nonsense", whole[:-10], whole[10:], whole[: len(whole) // 2]):
        path.write_bytes(wrong)
        refused(db, path, "is not an export of belated, or is damaged")
    with pytest.raises(ConfigurationError, match="there is no file"):
        imported(db, tmp_path / "nothing.parquet")


def test_files_of_others_are_refused(source: str, tmp_path: Path) -> None:
    path = exported(source, tmp_path / "e.parquet")
    table = pq.read_table(path)
    db = str(tmp_path / "new.db")
    pq.write_table(table.drop_columns(["rank"]), path)
    refused(db, path, "does not have the columns")
    renamed = table.rename_columns([*table.column_names[:-1], "more"])
    pq.write_table(renamed.replace_schema_metadata(table.schema.metadata), path)
    refused(db, path, "does not have the columns")
    pq.write_table(table.replace_schema_metadata(None), path)
    refused(db, path, "is not an export of belated")
    metadata = dict(table.schema.metadata)
    for key, value in ((b"format", b"2"), (b"name", b"a/b"), (b"created_at", b"x"), (b"spec", b"{}"), (b"spec", b"[")):
        pq.write_table(table.replace_schema_metadata({**metadata, b"belated." + key: value}), path)
        refused(db, path, "")
    spec = metadata[b"belated.spec"].replace(b"UCB", b"os:system")
    pq.write_table(table.replace_schema_metadata({**metadata, b"belated.spec": spec}), path)
    refused(db, path, "os:system")


def test_the_command(source: str, tmp_path: Path) -> None:
    path, db = exported(source, tmp_path / "e.parquet"), str(tmp_path / "new.db")
    count = len(all_of(source)[0][1])
    first = CliRunner().invoke(app, ["import", str(path), "--db", db])
    assert (first.exit_code, first.stdout) == (0, f"e: {count} events imported.\n")
    again = CliRunner().invoke(app, ["import", str(path), "--db", db])
    assert (again.exit_code, again.stdout) == (0, "e: everything was already there.\n")
    path.write_bytes(b"x")
    wrong = CliRunner().invoke(app, ["import", str(path), "--db", db])
    assert (wrong.exit_code, "damaged" in wrong.stderr) == (2, True)


# ---- verify ----


@pytest.fixture
def journal(db: str) -> Iterator[Journal]:
    lived(db)
    assert errors(db) == [None]
    with closing(open_journal(db)) as found:
        yield found


def run(sql: str) -> Callable[[Journal], None]:
    def change(journal: Journal) -> None:
        journal.database.execute(sql)

    return change


def doubled(journal: Journal) -> None:
    last = journal.last(1)
    journal.database.execute(
        "INSERT INTO belated_events (experiment, seq, kind, at, number, arm, rank, reward) SELECT experiment, ?, kind, "
        "at, number, arm, rank, reward FROM belated_events WHERE seq = 13",
        (last + 1,),
    )


def another_snapshot(journal: Journal) -> None:
    found = journal.snapshot(1)
    assert found is not None
    journal.database.execute("UPDATE belated_snapshots SET data = ?", (found[1][:-1] + bytes([found[1][-1] ^ 1]),))


DAMAGES = {
    "a reward": run("UPDATE belated_events SET reward = 1 - reward WHERE kind = 'observed' AND seq = 13"),
    "a reward out of range": run("UPDATE belated_events SET reward = 7 WHERE kind = 'observed' AND seq = 13"),
    "an imputed reward": run("UPDATE belated_events SET reward = 1 WHERE kind = 'imputed'"),
    "an arm": run("UPDATE belated_events SET arm = 1 - arm WHERE seq = 5"),
    "an arm that is not there": run("UPDATE belated_events SET arm = 1000000 WHERE seq = 13"),
    "an event gone": run("DELETE FROM belated_events WHERE seq = 7"),
    "the last event gone": run("DELETE FROM belated_events WHERE seq = (SELECT MAX(seq) FROM belated_events)"),
    "all events gone": run("DELETE FROM belated_events"),
    "an event doubled": doubled,
    "another order": run("UPDATE belated_events SET at = 5 WHERE seq = 9"),
    "another kind": run("UPDATE belated_events SET kind = 'odd' WHERE seq = 9"),
    "another id": run("UPDATE belated_events SET id = 'nobody' WHERE seq = 13"),
    "an arm's name": run("UPDATE belated_events SET extra = '{' WHERE kind = 'arm-added'"),
    "what is beside a decision": run("UPDATE belated_events SET extra = '{not json' WHERE seq = 5"),
    "a list beside a decision": run("UPDATE belated_events SET extra = '[1]' WHERE seq = 5"),
    "an odd time of an answer": run('UPDATE belated_events SET extra = \'{"observed_at":"x"}\' WHERE seq = 13'),
    "a time after all times": run("UPDATE belated_events SET extra = '{\"observed_at\":9e18}' WHERE seq = 13"),
    "a decision's id": run(
        "UPDATE belated_events SET id = id || '/' WHERE seq = (SELECT MAX(seq) FROM belated_events)"
    ),
    "a deadline": run("UPDATE belated_events SET deadline = deadline + 1000000000000 WHERE seq = 5"),
    "no deadline": run("UPDATE belated_events SET deadline = NULL WHERE seq = 5"),
    "an answer's deadline": run("UPDATE belated_events SET deadline = at WHERE seq = 13"),
    "a seed": run("UPDATE belated_experiments SET spec = REPLACE(spec, '\"seed\":3', '\"seed\":4')"),
    "a spec": run("UPDATE belated_experiments SET spec = '{'"),
    "a policy": run("UPDATE belated_experiments SET spec = REPLACE(spec, 'UCB', 'Nothing')"),
    "a snapshot": another_snapshot,
    "a snapshot's place": run("UPDATE belated_snapshots SET seq = seq - 1"),
    "a snapshot from the future": run("UPDATE belated_snapshots SET seq = seq + 1"),
    "an empty snapshot": run("UPDATE belated_snapshots SET data = ''"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(journal: Journal, db: str, damage: str) -> None:
    with journal.database.transaction():
        DAMAGES[damage](journal)
    [found] = verify(journal)
    assert found.error, damage
    assert found.name == "e"
    ended = CliRunner().invoke(app, ["verify", "--db", db])
    assert ended.exit_code == 1
    assert ended.stderr.startswith("damaged: e: ")


def test_an_arm_that_is_not_there_is_not_written_to(journal: Journal) -> None:
    """What a server makes of it: an error, not a crash."""
    with journal.database.transaction():
        journal.database.execute("DELETE FROM belated_snapshots")
        DAMAGES["an arm that is not there"](journal)
    stored = journal.experiment("e")
    assert stored is not None
    with pytest.raises(StateError, match="which does not exist"):
        restore(journal, stored)


def test_a_sound_experiment_beside_a_damaged_one(journal: Journal, db: str) -> None:
    lived(db, name="sound")
    with journal.database.transaction():
        journal.database.execute("DELETE FROM belated_events WHERE experiment = 1 AND seq = 7")
    assert [(each.name, each.error is None) for each in verify(journal)] == [("e", False), ("sound", True)]
    ended = CliRunner().invoke(app, ["verify", "--db", db])
    assert ended.exit_code == 1
    assert "sound: " in ended.stdout
