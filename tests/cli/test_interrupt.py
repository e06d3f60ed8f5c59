"""Ctrl-C in the middle, in a process of its own with a terminal for the bar."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas
import pytest

from belated import Result
from terminal import Watched

ENDLESS = """\
horizon = 2000
runs = 500_000
out = "made"

[problem]
rewards = {best = 0.6, gap = 0.1, arms = 10}
delays = {law = "Fixed", rounds = 0}

[[policies]]
policy = "UCB"
confidence = 1.0
"""

BAR = r"simulating.* [1-9]\d*%.* [\d.]+[kMG] rounds/s, \d.* left"
"""The bar shows speed and time left; by one per cent, one worker has finished a chunk of runs."""


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_simulation_keeps_the_finished_runs(environment: dict[str, str], tmp_path: Path, times: int) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    watched = Watched(["simulate", "endless.toml", "--workers", "1"], environment)
    watched.wait_for(lambda seen: re.search(BAR, seen) is not None)
    status, output = watched.interrupt(times)
    assert status == 130, watched.seen
    assert "Traceback" not in watched.seen
    found = re.search(r"interrupted after ([\d,]+) of 500,000 runs; the finished runs are in made", watched.seen)
    assert found is not None, watched.seen
    runs = int(found[1].replace(",", ""))
    result = Result.load("made/result.npz")
    assert 0 < result.runs == runs < 500_000
    assert f"{runs:,} runs" in output
    assert set(pandas.read_csv("made/regret.csv")["runs"]) == {runs}
    assert sorted(path.name for path in Path("made").iterdir()) == [
        "regret.csv",
        "regret.png",
        "regret.svg",
        "result.npz",
    ]


@pytest.mark.slow
def test_quiet_shows_no_bar(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(ENDLESS.replace("500_000", "20"))
    watched = Watched(["simulate", "short.toml", "--quiet"], environment)
    output, _ = watched.child.communicate(timeout=2400)
    assert (watched.child.returncode, output, watched.seen) == (0, "", "")


def test_a_sweep_keeps_the_finished_values(environment: dict[str, str], tmp_path: Path) -> None:
    values = '[sweep]\nkey = "problem.delays.rounds"\nvalues = {from = 0, to = 199, steps = 200}\n'
    (tmp_path / "endless.toml").write_text(ENDLESS.replace("500_000", "1000") + values)
    watched = Watched(["sweep", "endless.toml"], environment)
    percents: Any = re.compile(r"(\d+)%")
    watched.wait_for(lambda seen: any(int(one) >= 1 for one in percents.findall(seen)))
    status, _ = watched.interrupt()
    assert status == 130, watched.seen
    found = re.search(r"interrupted after (\d+) of 200 values; the finished values are in made", watched.seen)
    assert found is not None, watched.seen
    count = int(found[1])
    assert 0 < count < 200
    assert len(list(Path("made/results").iterdir())) == count
    assert pandas.read_csv("made/sweep.csv")["value"].tolist() == list(range(count))
