"""Upgrades: what another version of a policy decided is kept, and gone on from; snapshots survive; a newer schema is
noticed while the server runs."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from unittest import mock

import pytest
import structlog
from commands import belated
from refusals import COLOURS, refusal
from serving import hosting
from work import EXPERIMENTS, StepWriter

from belated.errors import ApiError
from belated.live import learner
from belated.policies import ThompsonSampling
from belated.service.core import experiment as experiments
from belated.service.core import operations
from belated.service.core.experiment import Experiment, restore
from belated.service.core.export import import_parquet, write_parquet
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.verify import VerifyResult, verify
from belated.service.core.writer import Writer
from belated.service.storage import schema
from belated.service.storage.events import Event
from belated.service.storage.journal import Journal, open_journal

GOLDEN = Path(__file__).parents[2] / "golden" / "service" / "journal.db"
SEED, OTHER_SEED = 1, 2


@contextmanager
def writing(db: str) -> Iterator[Writer]:
    writer = Writer(lambda: open_journal(db))
    writer.start()
    try:
        yield writer
    finally:
        writer.stop()


def decide(writer: Writer, count: int, first: int = 0) -> None:
    """Decisions of an experiment ``e``, with feedback of every other one."""
    for number in range(first, first + count):
        writer.run(operations.decide("e", (f"d{number}",), 1, {}))
        if number % 2:
            writer.run(operations.feedback(f"d{number}", 1.0, None))


def of_another_version(db: str) -> None:
    """A journal whose decisions this version of the policy would not make: they are those of another seed."""
    with writing(db) as writer:
        writer.run(operations.create("e", checked_spec(["a", "b", "c"], {"name": "Thompson"}, SEED, None)))
        decide(writer, 60)
    with closing(open_journal(db)) as journal, journal.database.transaction():
        (stored,) = journal.experiments()
        spec = stored.spec.replace(f'"seed":{SEED}', f'"seed":{OTHER_SEED}')
        assert spec != stored.spec
        journal.database.execute("UPDATE belated_experiments SET spec = ?", (spec,))
        journal.database.execute("DELETE FROM belated_snapshots")


def events_of(db: str) -> list[Event]:
    with closing(open_journal(db)) as journal:
        return list(journal.events(1))


def verified(db: str) -> VerifyResult:
    with closing(open_journal(db)) as journal:
        (found,) = verify(journal)
        return found


def restored(db: str) -> Experiment:
    with closing(open_journal(db)) as journal:
        return restore(journal, journal.experiments()[0])


# ---- decisions of another version ----


def test_what_this_version_would_not_decide_is_kept_and_gone_on_from(db: str) -> None:
    of_another_version(db)
    before = [event.arm for event in events_of(db) if event.kind == "decided"]
    with structlog.testing.capture_logs() as log, hosting(db) as server, server.client() as http:
        state = http.get("/v1/experiments/e").json()
        assert "arms" in state, state
        assert [arm["pulls"] for arm in state["arms"]] == [before.count(arm) for arm in range(3)]
        assert http.post("/v1/experiments/e/decisions", json={"id": "next"}).status_code == 201
        assert http.post("/v1/decisions/next/feedback", json={"reward": 1}).status_code == 201
    assert [line["experiment"] for line in log if line["event"] == "decides differently"] == ["e"]
    error = verified(db).error
    assert error is not None, "a journal that does not say so is damaged"
    assert "decides differently" in error


def test_a_changed_policy_says_so_and_is_verified_from_there_on(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_another_version(db)
    count = len(events_of(db))
    monkeypatch.setattr(ThompsonSampling, "version", 2)
    found = verified(db)
    assert found.error is None
    assert found.note == (
        "Thompson is version 2 here; decisions of other versions were not made again: 60 by version 1."
    )
    assert len(events_of(db)) == count, "nothing is written before it decides"
    with structlog.testing.capture_logs() as log, writing(db) as writer:
        writer.run(operations.feedback("d0", 0.5, None))
        decide(writer, 40, first=60)
    (line,) = [line for line in log if line["event"] == "policy changed"]
    assert "version 1 of Thompson made the last decisions, and version 2 goes on" in line["detail"]
    later = events_of(db)[count:]
    assert [event.kind for event in later[:3]] == ["observed", "upgraded", "decided"]
    assert later[1].extras() == {"policy": "Thompson", "version": 2}
    assert sum(event.kind == "upgraded" for event in later) == 1
    assert verified(db).error is None
    with closing(open_journal(db)) as journal, journal.database.transaction():  # a decision of this version
        journal.database.execute("DELETE FROM belated_snapshots")
        spec = journal.experiments()[0].spec.replace(f'"seed":{OTHER_SEED}', f'"seed":{SEED}')
        journal.database.execute("UPDATE belated_experiments SET spec = ?", (spec,))
    error = verified(db).error
    assert error is not None
    assert "decides differently" in error


def test_servers_of_two_versions_take_turns(db: str) -> None:
    """The journal says of each decision which version made it, also after the step back."""
    of_another_version(db)
    for place, version in enumerate((2, 1, 2)):
        with mock.patch.object(ThompsonSampling, "version", version), writing(db) as writer:
            decide(writer, 10, first=60 + 10 * place)
    versions = [event.extras()["version"] for event in events_of(db) if event.kind == "upgraded"]
    assert versions == [2, 1, 2]
    with mock.patch.object(ThompsonSampling, "version", 2):
        found = verified(db)
    assert (found.error, found.decisions) == (None, 90)
    assert "70 by version 1" in str(found.note)


def test_a_new_experiment_says_which_version_decides_unless_it_is_the_first(db: str) -> None:
    with mock.patch.object(ThompsonSampling, "version", 3), writing(db) as writer:
        writer.run(operations.create("e", checked_spec(["a", "b"], {"name": "Thompson"}, SEED, None)))
        decide(writer, 3)
        writer.run(operations.create("plain", EXPERIMENTS["plain"]))
        writer.run(operations.decide("plain", ("p",), 1, {}))
    assert [event.kind for event in events_of(db)][:2] == ["upgraded", "decided"]
    with closing(open_journal(db)) as journal:
        assert [event.kind for event in journal.events(2)] == ["decided"]
        with mock.patch.object(ThompsonSampling, "version", 3):
            assert [(each.error, each.note) for each in verify(journal)] == [(None, None)] * 2


def test_verify_tells_of_other_versions_on_the_command_line(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    with mock.patch.object(ThompsonSampling, "version", 2), writing(db) as writer:
        writer.run(operations.create("e", checked_spec(["a", "b"], {"name": "Thompson"}, SEED, None)))
        decide(writer, 12)
    done = belated("verify", "--db", db)
    assert done.returncode == 0, done.stderr
    assert "correct; Thompson is version 1 here" in " ".join(done.stdout.split())


def test_an_export_brings_its_versions_along(db: str, tmp_path: Path) -> None:
    source = str(tmp_path / "source.db")
    of_another_version(source)
    with mock.patch.object(ThompsonSampling, "version", 2), writing(source) as writer:
        decide(writer, 20, first=60)
    path = tmp_path / "e.parquet"
    with mock.patch.object(ThompsonSampling, "version", 2), closing(open_journal(source)) as journal:
        with write_parquet(journal, "e") as file:
            path.write_bytes(file.read())
        with closing(open_journal(db)) as other:
            import_parquet(other, path)
            assert [each.error for each in verify(other)] == [None]
    assert events_of(db) == events_of(source)
    assert restored(db).equals(restored(source))


# ---- replay in compiled code ----


def both_ways(journal: Journal, few: int, block: int) -> list[str]:
    """The experiments whose state after a replay in blocks is another one than after one event at a time."""
    differ = []
    for stored in journal.experiments():
        with mock.patch.object(experiments, "FEW", 10**9):
            single = restore(journal, stored, snapshot=False)
        with mock.patch.object(experiments, "FEW", few), mock.patch.object(experiments, "BLOCK", block):
            packed = restore(journal, stored, snapshot=False)
        if not packed.equals(single) or packed.seq != journal.last(stored.id):
            differ.append(stored.name)
    return differ


@pytest.mark.parametrize(("few", "block"), [(0, 7), (0, 10**6), (3, 50)])
def test_a_replay_in_blocks_is_one_of_single_events(tmp_path: Path, few: int, block: int) -> None:
    """With all policies of 0.1.0: pending, observed, imputed, replaced, cancelled, added arms, stops, imports."""
    db = str(tmp_path / "journal.db")
    shutil.copy(GOLDEN, db)
    with closing(open_journal(db)) as journal:
        assert len(journal.experiments()) > 20
        assert both_ways(journal, few, block) == []


def test_blocks_are_read_from_both_databases(db: str) -> None:
    chance = random.Random(1)
    with writing(db) as writer:
        writer.run(operations.create("e", checked_spec(["a", "b", "c"], {"name": "Prefix-UCB"}, 0, Silence(1e-6, 0.0))))
        for number in range(60):
            writer.run(operations.decide("e", (f"d{number}",), 1, {}))
            if chance.random() < 0.3:
                writer.run(operations.impute("e"))
            id = f"d{chance.randrange(number + 1)}"
            with suppress(ApiError):  # of one that is observed or cancelled
                cancels = chance.random() < 0.2
                writer.run(operations.cancel(id) if cancels else operations.feedback(id, chance.random(), None))
            if number == 30:
                writer.run(operations.add_arm("e", "late"))
    assert {event.kind for event in events_of(db)} == {
        "decided",
        "observed",
        "imputed",
        "replaced",
        "cancelled",
        "arm-added",
    }
    with closing(open_journal(db)) as journal:
        assert both_ways(journal, 0, 13) == []
        assert [each.error for each in verify(journal)] == [None]


# ---- snapshots ----


def test_a_snapshot_survives_code_that_leaves_the_state_alone(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with writing(db) as writer:
        writer.run(operations.create("e", checked_spec(["a", "b", "c"], {"name": "Thompson"}, SEED, None)))
        decide(writer, 10)
    last = len(events_of(db))
    learner.state_key.cache_clear()
    with monkeypatch.context() as patch:  # as if every line had changed
        patch.setattr("belated.policies._base.entry_points.policy_key", lambda *_: "another")
        assert restored(db).saved == last
    learner.state_key.cache_clear()
    for what, value in (("belated.live.learner.STATE_FORMAT", 99), ("belated.policies.ThompsonSampling.version", 99)):
        with monkeypatch.context() as patch:
            patch.setattr(what, value)
            found = restored(db)
            assert (found.saved, found.seq) == (0, last)
        learner.state_key.cache_clear()


# ---- a newer schema ----


def set_schema(db: str, version: int) -> None:
    newer = mock.patch.multiple(schema, VERSION=7, MIGRATIONS=defaultdict(lambda: id))
    with newer, closing(open_journal(db)) as journal:
        journal.database.execute("UPDATE belated_meta SET value = ? WHERE name = 'schema'", (str(version),))


def test_a_server_that_meets_a_newer_schema_reads_and_writes_nothing(db: str) -> None:
    with structlog.testing.capture_logs() as log, hosting(db) as server, server.client() as http:
        assert http.post("/v1/experiments", json=COLOURS).status_code == 201
        assert http.post("/v1/experiments/colours/decisions", json={"id": "before"}).status_code == 201
        assert http.get("/readyz").status_code == 200
        set_schema(db, 7)
        for _ in range(2):
            for answer in (
                http.post("/v1/experiments/colours/decisions", json={"id": "after"}),
                http.post("/v1/decisions/before/feedback", json={"reward": 1}),
                http.post("/v1/decisions/before/cancel"),
                http.post("/v1/experiments", json={**COLOURS, "name": "new"}),
                http.get("/readyz"),
            ):
                detail = refusal(answer, 503, "newer-schema")
                assert "schema 7" in detail
                assert "Install the newer version" in detail
                assert answer.headers["Retry-After"] == "1"
            assert http.get("/v1/decisions/before").json()["status"] == "pending"
            assert http.get("/v1/experiments/colours").json()["decisions"] == 1
            assert http.get("/v1/experiments/colours/events").status_code == 200
            assert http.get("/livez").status_code == 200
            refusal(http.get("/v1/decisions/after"), 404, "unknown-decision")
        assert len([line for line in log if line["event"] == "newer schema"]) == 1
    set_schema(db, schema.VERSION)
    with closing(open_journal(db)) as journal:
        assert (journal.last(1), journal.snapshot(1)) == (1, None), "nothing was written, no snapshot either"


def test_reads_in_the_batch_of_a_refused_write_are_answered(db: str) -> None:
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    writer.together([operations.create("plain", EXPERIMENTS["plain"]), operations.decide("plain", ("one",), 1, {})])
    set_schema(db, 7)
    told = writer.together([operations.decision("one"), operations.decide("plain", ("two",), 1, {})])
    assert [error is None for _, error in told] == [True, False]
    writer.stop()
