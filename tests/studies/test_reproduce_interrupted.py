"""Ctrl-C in the middle of a reproduction: what is finished is reported, and used again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.errors import Interrupted, ReproductionInterrupted
from belated.studies.reproduce import reproduce
from terminal import Watched
from tiny import FIGURE, HEAD, STUDY, Played, experiment, written

SHORT = HEAD + STUDY.replace("most = 25600\n", "") + FIGURE
"""Three results of 8 runs."""
OTHER = SHORT.replace("rounds = 5", "rounds = 6")
"""Three others."""
ENDLESS = SHORT.replace("runs = 8", "runs = 100_000").replace("horizon = 100", "horizon = 10_000")


def outcome_names(error: ReproductionInterrupted) -> list[str]:
    return [outcome.experiment.name for outcome in error.outcomes]


@pytest.mark.parametrize(
    ("calls", "finished"), [(0, []), (2, []), (3, ["one"]), (5, ["one"])], ids=["at once", "first", "between", "second"]
)
def test_finished_experiments_come_with_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int, finished: list[str]
) -> None:
    both = [experiment(tmp_path, SHORT, "one"), experiment(tmp_path, OTHER, "two")]
    played = Played(monkeypatch, stop=calls)
    with pytest.raises(ReproductionInterrupted) as caught:
        reproduce(both, out=tmp_path / "made")
    assert isinstance(caught.value, Interrupted)
    assert outcome_names(caught.value) == finished
    assert f"interrupted after {len(finished)} finished experiment" in str(caught.value)
    assert str(tmp_path / "made" / "results") in str(caught.value)
    assert len(list((tmp_path / "made").rglob("*.npz"))) == calls
    played.stop = None
    outcomes = reproduce(both, out=tmp_path / "made")
    assert len(played.calls) == 6
    assert [outcome.cost.cached for outcome in outcomes] == [min(calls, 3), max(calls - 3, 0)]


def test_an_interruption_while_an_outcome_is_shown(tmp_path: Path) -> None:
    def press(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(ReproductionInterrupted) as caught:
        reproduce([experiment(tmp_path, SHORT)], out=tmp_path / "made", done=press)
    assert outcome_names(caught.value) == ["tiny"]


@pytest.mark.parametrize("quiet", [False, True])
def test_the_command_reports_what_is_finished(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    Played(monkeypatch, stop=4)
    files = [written(tmp_path, SHORT, "one"), written(tmp_path, OTHER, "two")]
    result = call(*files, "--out", "made", *(["--quiet"] if quiet else []))
    assert result.exit_code == 130
    assert "interrupted after 1 finished experiment;" in result.stderr
    assert (result.stdout == "") is quiet
    data = json.loads(Path("made/report/claims.json").read_text())
    assert data["stopped"] is True
    assert [found["name"] for found in data["experiments"]] == ["one"]
    assert "The reproduction was interrupted" in Path("made/report/index.html").read_text()
    assert [path.name for path in Path("made/report/figures").glob("*.csv")] == ["one-tiny.csv"]


def test_without_a_finished_experiment_there_is_no_report(
    call: Callable[..., Any], tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Played(monkeypatch, stop=1)
    result = call(tiny, "--out", "made")
    assert result.exit_code == 130
    assert "interrupted after 0 finished experiments; results so far are in made/results" in result.stderr
    assert [path.name for path in Path("made").iterdir()] == ["results"]


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_ctrl_c_on_a_terminal(environment: dict[str, str], tmp_path: Path, times: int) -> None:
    """Also when it is pressed again while the report is written."""
    written(tmp_path, SHORT, "one")
    written(tmp_path, ENDLESS, "two")
    watched = Watched(["reproduce", "one.toml", "two.toml", "--out", "made"], environment)
    watched.wait_for(
        lambda seen: re.search(r"2/2 two, pair, 100,000 runs.*\d%.* rounds/s, \d.* left", seen) is not None
    )
    status, output = watched.interrupt(times)
    assert status == 130, watched.seen
    assert "Traceback" not in watched.seen + output
    assert "interrupted after 1 finished experiment; results so far are in made/results" in watched.seen
    assert "one  Two arms (nowhere)" in output
    assert "wrote made/report/index.html" in output
    data = json.loads(Path("made/report/claims.json").read_text())
    assert (data["stopped"], [found["name"] for found in data["experiments"]]) == (True, ["one"])
    assert sorted(path.name for path in Path("made").iterdir()) == ["report", "results"]
    assert len(list(Path("made/results").iterdir())) == 3
