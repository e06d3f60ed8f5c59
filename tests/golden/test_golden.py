"""What 0.1.0 wrote is read, and goes on, with the same bits.

Only the public interface is used: Python, the command line, HTTP to a server in a process of its own. README.md says
what each fixture is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import golden_api
import golden_bandits
import golden_files
import golden_make
import golden_service
import numpy as np
import pyarrow.parquet
import pytest
import record
from golden_postgres import postgres, restore
from golden_serving import Server, belated, serving

from belated import Bandit, Result
from belated.policies import default_policy
from belated.studies.study import Study

HERE = Path(__file__).parent
SERVICE, RESULTS = HERE / "service", HERE / "results"
TRANSCRIPT = Path(os.environ.get("GOLDEN_TRANSCRIPT", HERE.parent / "transcript.py"))
ARRAYS = ("rounds", "mean", "stderr", "curves", "final", "pulls", "observed", "in_flight", "lost", "eliminated_at")


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


FINAL, BANDITS, TOML = read("final.json"), read("bandits.json"), read("toml.json")
SAVED = sorted(path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.npz"))


# ---- simulations and bandits ----


@pytest.mark.parametrize("name", FINAL)
def test_simulations(name: str) -> None:
    assert record.differences(name, FINAL[name], record.played(record.CASES[name])) == []


def test_every_simulation_of_the_script_is_recorded() -> None:
    assert list(FINAL) == list(record.CASES)


@pytest.mark.parametrize("name", BANDITS)
def test_saved_bandits_go_on(name: str) -> None:
    then = BANDITS[name]
    bandit = Bandit.from_dict(then["saved"])
    saved = {key: value for key, value in then["saved"].items() if key != "version"}
    version = {"policy_version": bandit.policy.version} if bandit.policy.version != 1 else {}
    policy = golden_bandits.completed(saved["policy"])
    assert golden_bandits.written(bandit) == {**saved, "policy": policy, **version}
    assert golden_bandits.hashed(golden_bandits.known(bandit)) == then["knows"]
    assert golden_bandits.play(bandit, golden_bandits.MORE, graded=True) == then["next"]
    assert golden_bandits.hashed(golden_bandits.known(bandit)) == then["knows then"]


@pytest.mark.parametrize("name", BANDITS)
def test_new_bandits_live_the_same(name: str) -> None:
    bandit = golden_bandits.new(name)
    golden_bandits.play(bandit, golden_bandits.SAVED, graded=True)
    then = BANDITS[name]
    assert golden_bandits.written(bandit)["decisions"] == then["saved"]["decisions"]
    assert golden_bandits.written(bandit)["answers"] == then["saved"]["answers"]
    longer = {which: golden_bandits.lived(name, *life) for which, life in golden_bandits.LONG.items()}
    assert longer == then["longer"]


def test_transcript() -> None:
    """All policies of 0.1.0, in the engine and live."""
    done = subprocess.run([sys.executable, str(TRANSCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    named = done.stdout.replace("confidence='theory'", "confidence=None")  # as 0.1.0 called it
    then, now = read("transcript.json"), json.loads(named)
    for part in ("told", "untold"):
        now[part] = {game: moves for game, moves in now[part].items() if "ImputedUCB(" not in game}
    found = golden_make.transcribed(now)
    for part in ("told", "untold"):
        assert found[part] == then[part]
    assert found["sha256"] == then["sha256"]


# ---- results ----


@pytest.mark.parametrize("name", SAVED)
def test_saved_results_are_read_and_played_again(name: str) -> None:
    result = Result.load(RESULTS / name)
    assert result.manifest.version == "0.1.0"
    again = result.rerun()
    assert again.labels == result.labels
    for field in ARRAYS:
        old, new = getattr(result, field), getattr(again, field)
        assert old.dtype == new.dtype, field
        assert np.array_equal(old, new, equal_nan=True), field


def test_saved_results_are_written_and_read_back(tmp_path: Path) -> None:
    result = Result.load(RESULTS / "simulated/result.npz")
    again = Result.load(result.save(tmp_path / "again"))
    assert golden_files.numbers(again) == golden_files.numbers(result)
    assert json.loads(again.manifest.to_json()) == json.loads(result.manifest.to_json())
    assert golden_files.numbers(result) == TOML["simulate"]["everything"]


def test_saved_folders_are_drawn(tmp_path: Path) -> None:
    for folder, kind in (("simulated", "png"), ("swept", "svg")):
        out = tmp_path / f"{folder}.{kind}"
        belated("plot", str(RESULTS / folder), "--out", str(out), "--quiet")
        assert out.stat().st_size > 1000


@pytest.mark.slow
def test_a_folder_of_a_reproduction_is_used_again(tmp_path: Path) -> None:
    """What is found in it is not wrong now: the same claims come out, from more runs than 0.1.0 judged them by, and
    with other intervals; old results stay readable, and come out the same."""
    out = shutil.copytree(RESULTS / "reproduced", tmp_path / "reproduced")
    then = golden_files.judged(out)
    (out / "report" / "claims.json").unlink()
    assert then == [claim[:2] for claim in TOML["reproduce"]]
    assert then == golden_files.reproduced(out)
    for path in (RESULTS / "reproduced/results").glob("*.npz"):
        before = Result.load(path)
        assert golden_files.numbers(Result.load(out / "results" / path.name)) == golden_files.numbers(before)
        assert golden_files.numbers(before.rerun()) == golden_files.numbers(before)


# ---- files ----


@pytest.mark.parametrize("name", golden_files.SIMULATED)
def test_simulate(name: str, tmp_path: Path) -> None:
    then = TOML["simulate"][name]
    then = {**then, "labels": [golden_files.LABELS.get(label, label) for label in then["labels"]]}
    found = golden_files.simulated(name, tmp_path / "out")
    if found["labels"][-1] == default_policy().label:  # the file names no policies, and the default was another one
        assert then["labels"][-1] == "Pending-UCB"
        for each in (found, then):
            each["labels"], each["digests"] = each["labels"][:-1], each["digests"][:-1]
    assert found == then
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "result.npz",
        "regret.csv",
        "regret.png",
        "regret.svg",
    }
    if name == "everything":
        old, new = RESULTS / "simulated/regret.csv", tmp_path / "out/regret.csv"
        first, *rows = golden_files.table_of(old)
        named = [[golden_files.LABELS.get(label, label), *numbers] for label, *numbers in rows]
        assert golden_files.close([first, *named], golden_files.table_of(new))


@pytest.mark.parametrize("name", golden_files.SWEPT)
def test_sweep(name: str, tmp_path: Path) -> None:
    assert golden_files.swept(name, tmp_path / "out") == TOML["sweep"][name]
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results", "sweep.csv", "sweep.png", "sweep.svg"}
    if name == "confidences":
        old, new = RESULTS / "swept/sweep.csv", tmp_path / "out/sweep.csv"
        assert golden_files.close(golden_files.table_of(old), golden_files.table_of(new))


@pytest.mark.slow
def test_arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """0.1.0 did not shuffle the arms."""
    monkeypatch.setattr("belated.studies.arena.Study", lambda *fields, shuffle: Study(*fields, shuffle=not shuffle))
    assert golden_files.close(TOML["arena"], golden_files.arena(tmp_path / "out"))


# ---- the service ----


def key(journal: str, role: str) -> str:
    return str(read("service/keys.json")[journal][role])


@contextmanager
def sqlite_journal(folder: Path, name: str = "journal.db") -> Iterator[str]:
    """A copy of the journal: the fixture stays as it is."""
    yield str(shutil.copy(SERVICE / name, folder / name))


@contextmanager
def postgres_journal(folder: Path) -> Iterator[str]:
    """The same in PostgreSQL."""
    with postgres() as url:
        restore(url, SERVICE / "journal.sql")
        yield url


JOURNALS = {"journal.db": sqlite_journal, "journal.sql": postgres_journal}


@pytest.mark.parametrize("name", ["journal.db", pytest.param("journal.sql", marks=pytest.mark.slow)])
def test_a_journal_is_read_and_goes_on(name: str, tmp_path: Path) -> None:
    make: Callable[[Path], AbstractContextManager[str]] = JOURNALS[name]
    seen, then = read("service/seen.json")[name], read("service/continue.json")
    last = max(each["created_at"] for each in seen["experiments"])
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - 20))
    assert last < now, "the clock is behind the fixture's times, or hardly ahead"
    with make(tmp_path) as db:
        if name == "journal.db":
            belated("verify", "--db", db)
        with serving(db, key(name, "admin")) as server:
            found = golden_service.seen(server)
            for part, expected in seen.items():
                assert found[part] == golden_bandits.completed(expected), part
            for told in SERVICE.glob("*.ndjson") if name == "journal.db" else ():
                assert server.ask("GET", f"/v1/experiments/{told.stem}/events?limit=1000")[1] == told.read_bytes()
            going_on = golden_service.gone_on(server)
            then["prefix-se"]["after"]["last_event"] += 1  # its policy has another version since: an event says so
            for part, expected in going_on.items():
                assert expected == golden_bandits.completed(then[part]), part
            after = {each: server.get(f"/v1/experiments/{each}") for each in golden_service.EXPERIMENTS}
        told = belated("verify", "--db", db).stdout
        assert all(each in told for each in then if each not in ("clients", "schema1.db"))
        settings = tmp_path / "settings.toml"
        settings.write_text(f'db = "{db}"\nhost = "127.0.0.1"\nport = 0\nlog = "warning"\n', encoding="utf-8")
        with serving(None, key(name, "reader"), settings) as server:  # from the snapshots of this version
            assert {each: server.get(f"/v1/experiments/{each}") for each in golden_service.EXPERIMENTS} == after


def test_a_journal_with_older_tables(tmp_path: Path) -> None:
    with sqlite_journal(tmp_path, "schema1.db") as db, serving(db) as server:
        assert golden_service.seen_of_an_older_one(server) == golden_bandits.completed(
            read("service/continue.json")["schema1.db"]
        )


@pytest.mark.slow
def test_keys(tmp_path: Path) -> None:
    """Those of before open what they opened."""
    with sqlite_journal(tmp_path) as db:
        listed = belated("keys", "list", "--db", db).stdout
        assert all(role in listed for role in ("reader", "writer", "admin", "revoked"))
        with serving(db) as server:
            asked: list[tuple[str, str, Any]] = [
                ("GET", "/v1/experiments/ucb", None),
                ("POST", "/v1/experiments/ucb/decisions", {"id": "once"}),
                ("POST", "/v1/experiments/ucb/stop", None),
            ]
            wanted = {
                "reader": [200, 403, 403],
                "writer": [200, 201, 403],
                "admin": [200, 200, 200],
                "revoked": [401, 401, 401],
            }
            for role, statuses in wanted.items():
                assert [server.ask(*each, key=key("journal.db", role))[0] for each in asked] == statuses, role
            assert [server.ask(*each, key=None)[0] for each in asked] == [401, 401, 401]


@pytest.mark.slow
def test_exports(tmp_path: Path) -> None:
    """They are taken in, go on as their journal does, and come out the same."""
    db, then = str(tmp_path / "new.db"), read("service/continue.json")
    for name in (*golden_make.EXPORTED, "words"):  # the last one is there already
        belated("import", str(SERVICE / f"{name}.parquet"), "--db", db)
    with serving(db) as server:
        for name in golden_make.EXPORTED:
            again = tmp_path / f"{name}.parquet"
            again.write_bytes(server.ask("GET", f"/v1/experiments/{name}/export.parquet")[1])
            old, new = (pyarrow.parquet.read_table(path) for path in (SERVICE / again.name, again))
            assert old.schema.equals(new.schema, check_metadata=True)
            assert old.equals(new)
        assert golden_service.go_on(server, "words") == golden_bandits.completed(then["words"])


@pytest.fixture(scope="module")
def new_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without a past."""
    with serving(str(tmp_path_factory.mktemp("new") / "new.db")) as server:
        yield server


@pytest.mark.slow
def test_bandits_move_to_a_server(new_server: Server) -> None:
    """Saved bandits become experiments, and go on there as they would have."""
    for place, (name, then) in enumerate(BANDITS.items()):
        experiment = f"bandit-{place}"
        bandit = Bandit.from_dict(then["saved"])
        status, answer = new_server.post(f"/v1/experiments/{experiment}/history", golden_service.history(bandit))
        assert status == 201, (name, answer)
        arms = [decision.arm for decision in bandit.choose(30)]
        made = new_server.post(f"/v1/experiments/{experiment}/decisions", {"id": f"{experiment}-", "count": 30})[1]
        assert [each["arm"] for each in made["decisions"]] == arms, name


# ---- the outside ----


@pytest.fixture(scope="module")
def outside() -> Any:
    return read("api.json")


def test_python_has_what_it_had(outside: Any) -> None:
    assert golden_api.missing(golden_api.renamed(outside["python"]), golden_api.python()) == []


def test_commands_have_the_options_they_had(outside: Any) -> None:
    assert golden_api.missing(outside["commands"], golden_api.commands()) == []


def test_the_server_answers_to_what_it_did(outside: Any, new_server: Server) -> None:
    then, now = outside["routes"], golden_api.routes(new_server)
    assert golden_api.missing(then, now) == []
    assert {route: now[route]["needs"] for route in then} == {route: about["needs"] for route, about in then.items()}
    assert golden_api.missing(outside["metrics"], golden_api.metrics(new_server)) == []
    assert [new_server.ask("GET", path)[0] for path in ("/livez", "/readyz", "/")] == [200, 200, 200]
