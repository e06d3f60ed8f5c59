"""What the arena leaves: it can be read again to the bit, and is there whole or not at all."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from belated.atomic_output import StagedOutput
from belated.errors import StateError
from belated.studies.arena import Scenario, Scores, contestants, play, scenarios
from belated.studies.arena.page import markdown
from belated.studies.arena.scores import FORMATS, _csv, read, to_dict, write

FILES = ["arena-small.png", "arena-small.svg", "arena.md", "arena.png", "arena.svg", "ratios.csv", "scores.json"]


COLUMNS = ("regret", "stderr", "ratio", "ratio_stderr", "losing")


def written(folder: Path, scores: Scores) -> Path:
    with StagedOutput(folder) as stage:
        write(stage, scores)
        assert stage.commit() == FILES
    return folder


def test_scores_are_read_again_to_the_bit(tmp_path: Path) -> None:
    scores = play(scenarios(["fixed-0", "one-never", "bias-1000"]), contestants(["UCB", "SE"]), runs=2)
    again = read(written(tmp_path / "out", scores) / "scores.json")
    assert [asdict(row) for row in again.scenarios] == [asdict(row) for row in scores.scenarios]
    assert [row.kind for row in again.scenarios] == ["independent", "reward-dependent", "lost"]
    assert again.labels == scores.labels
    for name in ("regret", "stderr", "error", "losing", "runs", "ratio"):
        one, other = getattr(again, name), getattr(scores, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert [row.problem for row in again.scenarios[1:2]] != []
    assert to_dict(again) == to_dict(scores)


def test_the_table_of_ratios_agrees(tmp_path: Path, scores: Scores) -> None:
    odd = replace(scores, labels=("A", 'B "best", c=1', "C, too"))
    frame = pandas.read_csv(written(tmp_path, odd) / "ratios.csv")
    assert len(frame) == 15
    assert frame["row"].tolist() == [row.name for row in odd.scenarios for _ in range(3)]
    assert frame["policy"].tolist() == [*odd.labels] * 5
    assert frame["kind"].tolist() == [row.kind for row in odd.scenarios for _ in range(3)]
    assert frame["held"].dtype == bool
    assert frame["held"].tolist() == [row.held_out for row in odd.scenarios for _ in range(3)]
    assert set(frame["horizon"]) == {200}
    assert frame["runs"].tolist() == odd.runs.ravel().tolist()
    for column, name in (
        ("regret", "regret"),
        ("stderr", "stderr"),
        ("ratio", "ratio"),
        ("ratio_stderr", "error"),
        ("losing", "losing"),
    ):
        assert frame[column].to_numpy() == pytest.approx(getattr(odd, name).ravel(), rel=1e-5)


def sections(text: str) -> dict[str, list[list[str]]]:
    """The tables of a page by the titles above them: cells, without the header."""
    found = {}
    for part in text.split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("|")]
        found[part.splitlines()[0]] = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return found


LOSING = "Runs that still lose at the end, in per cent"


def test_the_page_shows_twins_with_what_no_policy_can_have() -> None:
    twins = tuple(scenarios(["one-never", "one-never-mirror", "pareto-best-heavy", "pareto-rest-heavy"]))
    regret = np.array([[100.0, 400.0], [100.0, 400.0], [800.0, 100.0], [100.0, 3200.0]])
    rows = tuple(sorted(twins, key=lambda row: not row.name.startswith("pareto")))
    found = Scores(rows, ("A", "B"), regret, regret / 9.0, regret / 99.0, 0.0 * regret, np.full(regret.shape, 60))
    # alike for 20,000 rounds, 0.2 from the best in both: N = 500 costs 100 there and 3,900 here
    assert found.limits == pytest.approx([1.0, 1.0, math.sqrt(39.0), math.sqrt(39.0)], rel=1e-12)
    assert found.relative_mean("A") == pytest.approx((8.0 / 39.0) ** 0.25, rel=1e-12)  # no policy has that
    assert found.relative_mean("B") == pytest.approx((4.0 * 4.0 * 32.0 / 39.0) ** 0.25, rel=1e-12)
    tables = sections(markdown(found))
    assert tables["Twins"][0] == ["twins", "alike for", "regret", "limit", "A", "B"]
    assert tables["Twins"][2:] == [["one-never and one-never-mirror", "20,000", "2,000", "6.24", "2.83", "5.66"]]
    assert tables["All scenarios (4)"][0][-4] == "to the limit"
    assert [line[-4] for line in tables["All scenarios (4)"][2:]] == ["0.67", "1.90"]
    assert "Twins" not in sections(markdown(found.select(lambda row: row.name != "one-never")))
    frame = pandas.read_csv(io.StringIO(_csv(found)))
    assert frame["limit"].tolist() == pytest.approx(np.repeat(found.limits, 2).tolist(), rel=1e-5)


def test_the_page_has_standings_with_the_held_rows_apart(scores: Scores) -> None:
    tables = sections(markdown(scores))
    assert list(tables) == [
        "All scenarios (5)",
        "Development scenarios (3)",
        "Held-out scenarios (2)",
        LOSING,
        "Regret divided by the lowest in the scenario",
        "Scenarios above 1.25",
    ]
    head, _, *lines = tables["All scenarios (5)"]
    last = ["worst scenario", "above 1.25", "still losing"]
    assert head == ["policy", "all", "independent", "reward-dependent", "lost", *last]
    assert lines == [
        ["B", "1.32", "1.00", "1.00", "2.00", "five (4.00)", "1 of 5", "15.0 % (five 75 %)"],
        ["C", "2.00", "2.00", "2.00", "2.00", "four (4.00)", "4 of 5", "5.0 % (three 25 %)"],
        ["A", "2.40", "2.00", "8.00", "1.58", "three (8.00)", "3 of 5", "30.0 % (three 100 %)"],
    ]
    head, _, *lines = tables["Held-out scenarios (2)"]
    assert head == ["policy", "all", "independent", "lost", *last]
    assert lines == [
        ["B", "1.00", "1.00", "1.00", "two (1.00)", "0 of 2", "0"],
        ["A", "1.12", "1.00", "1.25", "four (1.25)", "0 of 2", "0"],
        ["C", "2.83", "2.00", "4.00", "four (4.00)", "2 of 2", "0"],
    ]
    assert tables[LOSING][2:] == [["one", "50", "0", "0"], ["three", "100", "0", "25"], ["five", "0", "75", "0"]]
    assert tables["Regret divided by the lowest in the scenario"][2:4] == [
        ["one", "4.00", "**1.00**", "2.00"],
        ["two (held out)", "**1.00**", "**1.00**", "2.00"],
    ]
    assert tables["Scenarios above 1.25"][2:] == [
        ["B", "five (4.00)"],
        ["C", "four (4.00), one (2.00), two (2.00), three (2.00)"],
        ["A", "three (8.00), one (4.00), five (2.00)"],
    ]
    alone = sections(markdown(scores.select(lambda row: row.name == "two")))
    assert ["B", "none"] in alone["Scenarios above 1.25"]


def test_the_page_says_how_well_ratios_are_known(scores: Scores) -> None:
    error = scores.ratio / 100.0
    error[2, 1] = 0.047 * scores.ratio[2, 1]
    known = replace(scores, error=error)
    assert known.max_rel_error == pytest.approx(0.047, rel=1e-12)
    assert "Standard errors are at most 4.7 % of a ratio." in markdown(known)


@pytest.mark.parametrize(("runs", "told"), [(29, False), (30, True)])
def test_few_runs_have_no_standard_errors(scores: Scores, runs: int, told: bool) -> None:
    some = scores.runs.copy()
    some[1] = runs
    assert ("Standard errors" in markdown(replace(scores, runs=some))) is told


def test_signs_of_a_label_do_not_break_a_table(scores: Scores) -> None:
    text = markdown(replace(scores, labels=("A", "B|C \\ D\nE", "F")))
    for table in text.split("\n\n"):
        if table.startswith("|"):
            columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(columns) == 1, table
    assert r"B\|C \\ D E" in text


@pytest.mark.parametrize("held", [True, False])
def test_rows_of_one_sort_have_one_table_of_standings(scores: Scores, held: bool) -> None:
    tables = sections(markdown(scores.select(lambda row: row.held_out is held)))
    assert list(tables) == [
        f"All scenarios ({2 if held else 3})",
        *([] if held else [LOSING]),
        "Regret divided by the lowest in the scenario",
        "Scenarios above 1.25",
    ]


# ---- files of 0.1.0 ----


def test_scores_without_shares_of_losing_runs_are_read(tmp_path: Path, scores: Scores) -> None:
    data = to_dict(scores)
    del data["losing"]
    for row in data["rows"]:
        for key in ("twin", "real", "long", "max_runs"):
            del row[key]
        runs = scores.runs[:, 0].tolist()
    (tmp_path / "scores.json").write_text(json.dumps(data | {"format": FORMATS[0], "runs": runs}))
    old = read(tmp_path / "scores.json")
    assert np.isnan(old.losing).all()
    assert np.array_equal(old.runs, scores.runs)
    assert [asdict(row) for row in old.scenarios] == [asdict(row) for row in scores.scenarios]
    assert np.array_equal(old.regret, scores.regret)
    tables = sections(markdown(old))
    assert LOSING not in tables
    assert [line[-1] for line in tables["All scenarios (5)"][2:]] == [""] * 3
    frame = pandas.read_csv(written(tmp_path / "again", old) / "ratios.csv")
    assert frame["losing"].isna().all()
    again = read(tmp_path / "again" / "scores.json")
    assert np.isnan(again.losing).all()
    assert json.loads((tmp_path / "again" / "scores.json").read_text())["format"] == FORMATS[-1]


# ---- what can not be read ----


def changed(scores: Scores, **change: Any) -> str:
    return json.dumps({**to_dict(scores), **change})


DAMAGES: dict[str, Callable[[Scores], str]] = {
    "no JSON": lambda scores: changed(scores)[:-40],
    "nothing": lambda scores: "",
    "a list": lambda scores: "[1, 2]",
    "no format": lambda scores: "{}",
    "no rows": lambda scores: changed(scores, rows=[]),
    "a row too few": lambda scores: changed(scores, rows=to_dict(scores)["rows"][1:]),
    "a row with an unknown key": lambda scores: changed(scores, rows=[{"x": 1}] * 5),
    "a policy too few": lambda scores: changed(scores, labels=["A", "B"]),
    "regrets that are ragged": lambda scores: changed(scores, regret=[[1.0, 2.0, 3.0]] * 4 + [[1.0]]),
    "regrets that are no numbers": lambda scores: changed(scores, regret=[["x"] * 3] * 5),
    "a regret of 0": lambda scores: changed(scores, regret=[[0.0] * 3] * 5),
    "a regret that is NaN": lambda scores: changed(scores, regret=[[float("nan")] * 3] * 5),
    "an error that is infinite": lambda scores: changed(scores, error=[[float("inf")] * 3] * 5),
    "a share above 1": lambda scores: changed(scores, losing=[[1.5] * 3] * 5),
    "shares too few": lambda scores: changed(scores, losing=[[0.5] * 3]),
    "no shares": lambda scores: json.dumps({key: value for key, value in to_dict(scores).items() if key != "losing"}),
    "runs too few": lambda scores: changed(scores, runs=[1, 2]),
    "one number of runs for all policies": lambda scores: changed(scores, runs=scores.runs[:, 0].tolist()),
    "a number of runs for each policy, in an old format": lambda scores: changed(scores, format=FORMATS[1]),
    "no runs": lambda scores: json.dumps({key: value for key, value in to_dict(scores).items() if key != "runs"}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused(tmp_path: Path, scores: Scores, damage: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(changed(scores))
    assert read(path).labels == scores.labels
    path.write_text(DAMAGES[damage](scores))
    with pytest.raises(StateError, match=r"scores.json' is not a scores.json of the arena, or is damaged: "):
        read(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(StateError, match=r"is not a scores\.json of the arena, or is damaged"):
        read(tmp_path / "scores.json")


def test_a_file_of_another_format_is_refused_by_its_name(tmp_path: Path, scores: Scores) -> None:
    (tmp_path / "scores.json").write_text(changed(scores, format="belated.arena.99"))
    with pytest.raises(StateError) as caught:
        read(tmp_path / "scores.json")
    assert f"has the format 'belated.arena.99'; this version reads {FORMATS[-1]!r}. Play the arena" in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"there is no file '.*scores.json'; give the scores.json that belated arena"):
        read(tmp_path / "scores.json")
    with pytest.raises(StateError, match="cannot be read: Is a directory"):
        read(tmp_path)


# ---- whole or not at all ----


def test_what_fails_leaves_nothing_half_written(
    tmp_path: Path, scores: Scores, row: Callable[..., Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "old", scores)
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("belated.simulation.figures.save_figure", full)
    other = scores.select(lambda one: one.name == "one")
    for name in ("old", "new"):
        with pytest.raises(OSError, match="No space"), StagedOutput(tmp_path / name) as stage:
            write(stage, other)
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_the_same_scores_give_the_same_bytes(tmp_path: Path, scores: Scores) -> None:
    one, other = written(tmp_path / "one", scores), written(tmp_path / "other", scores)
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    svg = (one / "arena.svg").read_text()
    assert "</svg>" in svg
    assert not re.search(r"<dc:date>", svg)
