"""The demo: a history that holds, and visitors who go on coming."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
from commands import belated
from serving import PATIENCE

from belated.service.api.experiments import experiment_view
from belated.service.auth import make_key
from belated.service.core.experiment import restore
from belated.service.core.verify import verify
from belated.service.demo import HOURS, Visitors, demo_scenarios, write_history
from belated.service.storage.events import Kind
from belated.service.storage.journal import open_journal
from belated.service.timestamps import now


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    db = str(tmp_path_factory.mktemp("demo") / "demo.db")
    write_history(db, seed=0)
    return db


def test_the_history_holds(history: str) -> None:
    """All of it can be lived again, and is as old as it says."""
    journal = open_journal(history)
    found = verify(journal)
    assert [(each.name, each.error) for each in found] == [(scenario.name, None) for scenario in demo_scenarios()]
    for stored in journal.experiments():
        events = list(journal.events(stored.id))
        assert all(before.at <= after.at for before, after in pairwise(events))
        assert stored.created_at <= events[0].at
        assert now() - stored.created_at == pytest.approx(HOURS * 3600e6, rel=0.05)
        assert 0 <= now() - events[-1].at < 600e6
    journal.close()


def test_each_experiment_tells_its_story(history: str) -> None:
    journal = open_journal(history)
    views = [experiment_view(restore(journal, stored)) for stored in journal.experiments()]
    journal.close()
    checkout, newsletter, pictures = views
    assert [view.decisions > 6000 for view in views] == [True] * 3
    assert checkout.policy["name"] == "Imputed-UCB"
    assert checkout.policy["confidence"] == "anytime"  # the default
    express = checkout.arms[2]  # the best one, whose answers are the latest
    assert express.pulls > 0.5 * checkout.decisions
    assert express.dependence is not None
    assert express.dependence > 0.999
    assert express.mean is not None
    assert express.corrected_mean is not None
    assert express.mean < 0.6 < express.corrected_mean
    assert express.corrected_mean == pytest.approx(0.61, abs=0.02)
    assert checkout.pending > 100
    assert newsletter.policy["name"] == "Prefix-UCB"  # the default with silence
    assert all(arm.upper_from is not None for arm in newsletter.arms)
    assert newsletter.silence is not None
    assert min(newsletter.imputed, newsletter.late, newsletter.cancelled) > 20
    assert len(pictures.arms) == 24
    means = dict(zip(demo_scenarios()[2].arms, demo_scenarios()[2].means, strict=True))
    gone = [arm.arm for arm in pictures.arms if not arm.active]
    assert len(gone) >= 8
    assert max(means, key=lambda arm: means[arm]) not in gone


def test_successes_come_late_and_failures_fast() -> None:
    visitors = Visitors(demo_scenarios()[0], seed=0)
    delays: dict[float, list[float]] = {0.0: [], 1.0: []}
    for number in range(2000):
        reward, delay = visitors.outcome(f"checkout-{number}", 2)
        assert delay is not None
        delays[reward].append(delay)
    medians = [sorted(found)[len(found) // 2] for found in delays.values()]
    assert medians[0] < 30.0
    assert medians[1] > 1200.0
    assert len(delays[1.0]) / 2000 == pytest.approx(0.61, abs=0.04)


def test_silence_is_kept_to_the_microsecond(history: str) -> None:
    journal = open_journal(history)
    stored = journal.experiment("newsletter")
    assert stored is not None
    deadlines: dict[str, int] = {}
    imputed = set()
    for event in journal.events(stored.id):
        id = str(event.id)
        if event.kind == Kind.DECIDED:
            assert event.deadline == event.at + 1_800_000_000
            deadlines[id] = event.deadline
        elif event.kind == Kind.IMPUTED:
            assert event.at == deadlines[id]
            imputed.add(id)
        elif event.kind in (Kind.OBSERVED, Kind.REPLACED):
            assert (event.kind == Kind.REPLACED) == (id in imputed)
            assert (event.at >= deadlines[id]) == (id in imputed)
            assert event.reward == 1.0  # nobody reports a failure
    journal.close()
    assert len(imputed) > 1000


@contextmanager
def running(db: str | None, folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``belated demo`` within this context: its address."""
    where = ["--db", db] if db is not None else []
    command = [sys.executable, "-m", "belated", "demo", "--port", "0", "--no-browser", *where, *options]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder), "BELATED_DB": "/no/such"}
    )
    assert process.stderr is not None
    address, lines = "", []
    for line in process.stderr:
        lines.append(line)
        if match := re.search(r"the demo is at (http://\S+);", line):
            address = match[1]
            break
    try:
        assert address, "".join(lines)
        yield address, process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()


def decisions(http: httpx2.Client) -> list[tuple[int, int]]:
    found = http.get("/v1/experiments").json()["experiments"]
    assert [each["name"] for each in found] == [scenario.name for scenario in demo_scenarios()]
    return [(each["decisions"], each["observed"]) for each in found]


def wait_for_more(http: httpx2.Client) -> None:
    """Every experiment has more decisions, and feedback comes, within a while."""
    begin = decisions(http)
    for _ in range(3000):
        time.sleep(0.2)
        here = decisions(http)
        more = [after[0] > before[0] for before, after in zip(begin, here, strict=True)]
        if all(more) and sum(o for _, o in here) > sum(o for _, o in begin):
            return
    pytest.fail(f"the visitors stay away: {begin}, then {here}")


@pytest.mark.slow
def test_visitors_go_on_until_ctrl_c_and_after_it(tmp_path: Path) -> None:
    db = str(tmp_path / "kept.db")
    with running(db, tmp_path) as (address, process), httpx2.Client(base_url=address, timeout=PATIENCE) as http:
        assert http.get("/", headers={"Accept": "text/html"}).status_code == 200
        wait_for_more(http)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
    journal = open_journal(db)
    assert [each.error for each in verify(journal)] == [None] * 3
    before = sum(each.decisions for each in verify(journal))
    journal.close()
    with running(db, tmp_path) as (address, process), httpx2.Client(base_url=address, timeout=PATIENCE) as http:
        wait_for_more(http)
        assert sum(made for made, _ in decisions(http)) > before
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130


def test_without_a_place_nothing_is_left(tmp_path: Path) -> None:
    with (
        running(None, tmp_path, "--seed", "5") as (address, process),
        httpx2.Client(base_url=address, timeout=PATIENCE) as http,
    ):
        assert len(decisions(http)) == 3
        (folder,) = tmp_path.glob("belated-demo-*")
        assert folder.is_dir()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
    assert not list(tmp_path.glob("belated-demo-*"))
    assert tempfile.gettempdir() != str(tmp_path)


def test_a_database_with_keys_is_left_alone(tmp_path: Path) -> None:
    db = str(tmp_path / "keyed.db")
    journal = open_journal(db)
    make_key(journal, "reader", "me")
    done = belated("demo", "--port", "0", "--no-browser", "--db", db)
    assert done.returncode == 2
    assert "which has keys" in done.stderr
    assert journal.experiments() == []
    journal.close()
