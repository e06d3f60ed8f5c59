"""Several servers on one PostgreSQL database, a server whose PostgreSQL goes away, and snapshots."""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from clients import EXPERIMENT, Client, ask
from ledger import Ledger, compare
from postgres import fresh
from serving import PATIENCE, Server, hosting, serving
from work import EXPERIMENTS, StepWriter

from belated.errors import ApiError
from belated.service.core import operations
from belated.service.core.experiment import restore
from belated.service.core.verify import verify
from belated.service.storage.journal import Journal, open_journal

NAME = str(EXPERIMENT["name"])


def load(servers: list[Server], ledger: Ledger, seconds: float) -> list[Client]:
    """Keep servers busy for a while."""
    clients = [
        Client(number, random.Random(number), ledger).copy(servers[number % len(servers)].url)
        for number in range(3 * len(servers))
    ]
    for client in clients:
        client.start()
    time.sleep(seconds)
    while not all(client.acknowledged or not client.is_alive() for client in clients):
        time.sleep(0.1)
    for client in clients:
        client.ended.set()
    for client in clients:
        client.join()
    return clients


@pytest.mark.slow
def test_several_servers_lose_no_update_and_count_nothing_twice(postgres: str) -> None:
    db = fresh(postgres)
    ledger = Ledger()
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(db)) for _ in range(3)]
        assert ask(servers[0].url, "POST", "/v1/experiments", EXPERIMENT)[0] == 201
        clients = load(servers, ledger, 1.5)
        assert all(client.acknowledged for client in clients)
        assert not any(client.refused for client in clients)
        seen = [ask(server.url, "GET", f"/v1/experiments/{NAME}")[1] for server in servers]
    journal = open_journal(db, create=False)
    found = compare(journal, ledger)
    journal.close()
    assert found.fine, str(found)
    assert seen[0] == seen[1] == seen[2]
    assert (seen[0]["pulls"], seen[0]["observed"]) == (len(ledger.arms), len(ledger.rewards))


def test_feedback_for_another_server_s_decision_is_taken_at_once(postgres: str) -> None:
    db = fresh(postgres)
    with hosting(db) as one, hosting(db) as other:
        assert ask(one.url, "POST", "/v1/experiments", EXPERIMENT)[0] == 201
        for number in range(20):
            first, second = (one, other) if number % 2 else (other, one)
            asked = {"id": str(number)}
            status, made = ask(first.url, "POST", f"/v1/experiments/{NAME}/decisions", asked)
            assert status == 201
            assert ask(second.url, "POST", f"/v1/experiments/{NAME}/decisions", asked) == (200, made)
            assert ask(second.url, "POST", f"/v1/decisions/{number}/feedback", {"reward": 1})[0] == 201
            assert ask(first.url, "POST", f"/v1/decisions/{number}/feedback", {"reward": 1})[0] == 200


def test_a_transaction_locks_the_experiments_it_is_about(postgres: str) -> None:
    """Those that its operations name, and those of the decisions that they look up; no others."""
    db = fresh(postgres)
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    for name in ("one", "another", "third"):
        writer.together(
            [operations.create(name, EXPERIMENTS["plain"]), operations.decide(name, (f"of-{name}",), 1, {})]
        )

    def locks(tx: Any) -> int:
        with psycopg.connect(db) as connection:
            here = "(SELECT oid FROM pg_database WHERE datname = current_database())"
            sql = f"SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = {here}"
            return int(connection.execute(sql).fetchall()[0][0])  # type: ignore[arg-type]

    by_id = [((), (), 0), (("one",), (), 1), ((), ((None, "of-one"),), 1), (("one",), ((None, "of-third"),), 2)]
    for names, ids, held in [*by_id, (("one",), (("one", "of-third"),), 1)]:
        assert writer.together([operations.Operation(locks, names, ids)]) == [(held, None)]
    writer.stop()


def test_an_operation_that_is_overtaken_is_done_again(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks, processes run into each other; the database refuses the second, which tries again."""
    db = fresh(postgres)
    one, other = (StepWriter(lambda: open_journal(db)) for _ in range(2))
    for writer in (one, other):
        writer.start()
    one.together([operations.create("plain", EXPERIMENTS["plain"])])
    monkeypatch.setattr("belated.service.storage.postgres.PostgreSQL.lock_experiments", lambda self, names: None)
    overtaking = iter(["a", "b"])

    def slow(tx: Any) -> Any:
        found = tx.experiment("plain")
        for id in overtaking:
            ((_, error),) = other.together([operations.decide("plain", (id,), 1, {})])
            assert error is None
            break
        return operations.decide("plain", ("mine",), 1, {}).act(tx), found.seq

    ((result, error),) = one.together([operations.Operation(slow, ("plain",))])
    assert error is None
    assert result[1] == 3
    for writer in (one, other):
        writer.stop()
    journal = open_journal(db, create=False)
    assert [(each.events, each.error) for each in verify(journal)] == [(3, None)]
    journal.close()


def test_commits_are_durable_even_where_the_server_s_are_not(postgres: str) -> None:
    db = fresh(postgres)
    with psycopg.connect(db, autocommit=True) as connection:
        name = connection.execute("SELECT current_database()").fetchall()[0][0]
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")  # type: ignore[arg-type]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")  # type: ignore[arg-type]
    journal = open_journal(db)
    assert journal.database.execute("SHOW synchronous_commit") == [("on",)]
    with journal.database.transaction():
        assert journal.database.execute("SHOW transaction_isolation") == [("read committed",)]
    journal.close()


# ---- PostgreSQL goes away ----


def test_a_server_waits_for_postgresql_to_come_back() -> None:
    from postgres import as_server, program, server

    with server() as url:
        db = fresh(url)
        with psycopg.connect(db) as connection:
            folder = connection.execute("SHOW data_directory").fetchall()[0][0]
        control = [program("pg_ctl"), "-D", folder, "-w", "-s", "-m", "fast"]
        with hosting(db) as served:
            assert ask(served.url, "POST", "/v1/experiments", EXPERIMENT)[0] == 201
            path = f"/v1/experiments/{NAME}/decisions"
            status, first = ask(served.url, "POST", path, {"id": "before"})
            assert status == 201
            ended = subprocess.run(as_server([*control, "stop"]), capture_output=True, check=False, cwd="/")
            assert ended.returncode == 0, ended.stderr
            for method, where, body in (
                ("POST", path, {"id": "while"}),
                ("POST", "/v1/decisions/before/feedback", {"reward": 1}),
                ("GET", f"/v1/experiments/{NAME}", None),
                ("GET", f"/v1/experiments/{NAME}/events", None),
                ("GET", "/readyz", None),
            ):
                status, told = ask(served.url, method, where, body)
                assert (status, told["type"]) == (503, "urn:belated:problem:storage"), (where, told)
            time.sleep(0.5)  # longer than keys are remembered
            assert ask(served.url, "GET", f"/v1/experiments/{NAME}")[0] == 503
            assert ask(served.url, "GET", "/livez")[0] == 200
            port, above = url.rsplit(":", 1)[1], Path(folder).parent
            options = f"-p {port} -k {above} -c listen_addresses=127.0.0.1"
            again = [*control, "-l", str(above / "log"), "-o", options, "start"]
            subprocess.run(as_server(again), capture_output=True, check=True, cwd="/")
            deadline = time.monotonic() + PATIENCE
            while ask(served.url, "GET", "/readyz")[0] != 200:
                assert time.monotonic() < deadline, "the server did not recover"
                time.sleep(0.1)
            assert ask(served.url, "POST", path, {"id": "while"})[0] == 201
            assert ask(served.url, "POST", path, {"id": "before"}) == (200, first)
            assert ask(served.url, "POST", "/v1/decisions/before/feedback", {"reward": 1})[0] == 201
            assert ask(served.url, "GET", f"/v1/experiments/{NAME}/delays")[0] == 200


# ---- snapshots ----


def worked(db: str) -> None:
    """Something has happened, and a snapshot was kept; more happened since."""
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    for name, spec in EXPERIMENTS.items():
        writer.together([operations.create(name, spec)])
        for number in range(30):
            id = f"{name}{number}"
            writer.together([operations.decide(name, (id,), 1, {})])
            if name == "silent":
                writer.together([operations.impute(name)])
            writer.together(
                [operations.feedback(id, float(number % 2), None)] if number % 3 else [operations.cancel(id)]
            )
    writer.snapshots(1)
    for name in EXPERIMENTS:
        writer.together([operations.decide(name, (f"{name} at last",), 1, {})])
    writer.end_without_snapshots()


def both(journal: Journal) -> list[bool]:
    """Of each experiment, whether a restart with its snapshot makes of it what a restart without makes."""
    return [
        restore(journal, stored).equals(restore(journal, stored, snapshot=False)) for stored in journal.experiments()
    ]


def test_a_restart_with_snapshots_is_one_without(db: str) -> None:
    worked(db)
    journal = open_journal(db)
    for stored in journal.experiments():
        kept = journal.snapshot(stored.id)
        assert kept is not None
        assert 0 < kept[0] < journal.last(stored.id)
        assert restore(journal, stored).saved == kept[0], "the snapshot was not used"
    assert both(journal) == [True, True]
    journal.close()


def damages(data: bytes) -> dict[str, bytes]:
    places = {f"byte {place}": place for place in range(0, len(data), max(len(data) // 40, 1))}
    flipped = {name: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for name, at in places.items()}
    return {**flipped, "empty": b"", "short": data[:-1], "long": data + b"\0", "text": b"nothing of ours" * 10}


def test_a_damaged_snapshot_is_ignored(db: str) -> None:
    worked(db)
    journal = open_journal(db)
    for stored in journal.experiments():
        kept = journal.snapshot(stored.id)
        assert kept is not None
        for name, data in damages(kept[1]).items():
            journal.database.execute("UPDATE belated_snapshots SET data = ? WHERE experiment = ?", (data, stored.id))
            found = restore(journal, stored)
            assert found.saved == 0, f"a snapshot with {name} changed was used"
            assert found.equals(restore(journal, stored, snapshot=False))
    assert all(each.error is not None for each in verify(journal)), "verify tells of damaged snapshots"
    journal.close()


def test_another_experiment_s_snapshot_is_ignored(db: str) -> None:
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    for name, ids in (("one", ("a", "b")), ("other", ("c", "d"))):
        writer.together([operations.create(name, EXPERIMENTS["plain"]), operations.decide(name, ids, 1, {})])
    writer.together([operations.feedback("c", 1.0, None)])
    writer.stop()
    journal = open_journal(db)
    one, other = journal.experiments()
    foreign = journal.snapshot(other.id)
    assert foreign is not None
    journal.database.execute(
        "UPDATE belated_snapshots SET data = ?, seq = ? WHERE experiment = ?", (foreign[1], foreign[0], one.id)
    )
    found = restore(journal, one)
    assert (found.saved, found.seq) == (0, 2)
    journal.close()


def test_a_snapshot_of_other_code_is_ignored_and_replaced(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("belated.live.learner.state_key", lambda policy: "another")
        worked(db)
        writer = StepWriter(lambda: open_journal(db))
        writer.start()
        assert writer.together([operations.decision("plain1")])[0][1] is None
        writer.stop()  # its snapshot is of all events
    journal = open_journal(db)
    assert [restore(journal, stored).saved for stored in journal.experiments()] == [0, 0]
    assert both(journal) == [True, True]
    assert [each.error for each in verify(journal)] == [None, None]
    journal.close()
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    ((_, error),) = writer.together([operations.decision("plain1")])
    assert error is None
    writer.stop()
    journal = open_journal(db)
    stored = journal.experiment("plain")
    assert stored is not None
    assert restore(journal, stored).saved == journal.last(stored.id)
    journal.close()


def test_operations_refused_leave_no_trace(db: str) -> None:
    worked(db)
    writer = StepWriter(lambda: open_journal(db))
    writer.start()
    told = writer.together(
        [operations.decide("plain", ("plain1",), 1, {"unit": "other"}), operations.feedback("nobody", 1.0, None)]
    )
    assert [error.status for _, error in told if isinstance(error, ApiError)] == [409, 404]
    writer.stop()
    journal = open_journal(db)
    assert both(journal) == [True, True]
    journal.close()
