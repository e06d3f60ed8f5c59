"""The leaderboard is current, its submissions reproduce, and what it says of made-up scores is worked out by hand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pages import ROOT

from belated.errors import StateError
from belated.policies import POLICIES
from belated.studies.arena import Scenario, Scores, scenarios
from belated.studies.arena.scores import read
from belated.studies.arena.submissions import (
    About,
    Entry,
    Record,
    Submission,
    problem_hash,
    read_record,
    read_submissions,
    verify,
)

SUBMITTED = read_submissions(ROOT / "arena" / "submissions")


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "scripts"))
        import leaderboard  # type: ignore[import-not-found]

        yield leaderboard


def test_the_page_is_made_from_the_scores_and_the_records(script: ModuleType) -> None:
    scores = read(script.SCORES)
    page = script.leaderboard_page(scores, script.read_played(script.SUBMISSIONS, scores.labels))
    assert script.PAGE.read_text(encoding="utf-8") == page, "make arena"


def test_the_page_is_in_the_navigation() -> None:
    assert re.search(r"^  - (.*: )?leaderboard\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)


@pytest.mark.parametrize("submission", SUBMITTED, ids=lambda submission: submission.name)
def test_a_recorded_submission_reproduces(submission: Submission) -> None:
    """Two short scenarios; belated arena --verify has all of them."""
    record = read_record(submission)
    assert submission.policy().label == record.label
    assert record.label not in {cls.label for cls in POLICIES.values()}
    rows = scenarios(["fixed-500-two-arms", "theorem-6-first"])
    assert {row.name for row in rows} <= set(record.scenarios)
    assert verify(submission, record, rows, workers=1) == {}


def test_a_record_of_another_file_and_a_label_that_is_taken_are_refused(script: ModuleType, tmp_path: Path) -> None:
    source = SUBMITTED[0].folder
    shutil.copytree(source, tmp_path / "one")
    assert [submission.name for submission, _ in script.read_played(tmp_path, ["UCB"])] == ["one"]
    label = read_record(SUBMITTED[0]).label
    with pytest.raises(StateError, match=f"one: label is '{label}', which is that of a built-in policy; give another"):
        script.read_played(tmp_path, ["UCB", label])
    shutil.copytree(source, tmp_path / "two")
    with pytest.raises(StateError, match=f"two: label is '{label}', which is that of .*one; give another"):
        script.read_played(tmp_path, ["UCB"])
    with (tmp_path / "one" / "policy.py").open("a") as file:
        file.write("# changed")
    with pytest.raises(StateError, match=r"one: the record is of another policy\.py; play it again"):
        script.read_played(tmp_path, ["UCB"])


# ---- made-up scores ----


def entry(scenario: Scenario, regret: float, losing: float = 0.0) -> Entry:
    return Entry(problem_hash(scenario), 120, regret, 1.0, losing, "0" * 64)


@pytest.fixture
def made() -> tuple[Scores, Submission, Record]:
    """Two scenarios; the policies have ratios 1 and 4, 4 and 1, and the submission, half of the lowest, 1/2 and 1/2."""
    rows = tuple(scenarios(["fixed-0", "fixed-50"]))
    regret = np.array([[10.0, 40.0], [80.0, 20.0]])
    scores = Scores(rows, ("A", "B"), regret, regret / 9.0, regret / 99.0, 0.0 * regret, np.array([120, 120]))
    about = About("Mine", "A. Author", "new | old", "MIT", "2026-01-31")
    record = Record(
        "Mine", "ab" * 32, "1.2.3", {rows[0].name: entry(rows[0], 5.0), rows[1].name: entry(rows[1], 10.0, 0.5)}
    )
    return scores, Submission(Path("mine"), about), record


def lines(page: str, title: str) -> list[list[str]]:
    part = page.split(f"# {title}\n")[1]
    found = [
        line for line in part.split("\n# ", maxsplit=1)[0].split("\n## ", maxsplit=1)[0].splitlines() if line[:1] == "|"
    ]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in found]


def test_policies_are_ranked_by_their_means_with_the_submitted_ones(
    script: ModuleType, made: tuple[Scores, Submission, Record]
) -> None:
    scores, submission, record = made
    page = script.leaderboard_page(scores, [(submission, record)])
    head, _, *rows = lines(page, "Leaderboard")
    assert head == [
        "",
        "policy",
        "author",
        "all",
        "to the limit",
        "independent",
        "real delays",
        "held out",
        "worst scenario",
        "still losing",
    ]
    assert rows == [
        ["1", "Mine", "A. Author", "0.50", "0.50", "0.50", "", "0.50", "fixed-0 (0.50)", "25.0 % (fixed-50 50 %)"],
        ["2", "A", "built in", "2.00", "2.00", "2.00", "", "4.00", "fixed-50 (4.00)", "0"],
        ["3", "B", "built in", "2.00", "2.00", "2.00", "", "1.00", "fixed-0 (4.00)", "0"],
    ]  # fmt: skip
    (told,) = lines(page, "Submitted policies")[2:]
    assert told == ["Mine", r"new \| old", "MIT", "2026-01-31", "`mine`, sha256 `abababababababab`", "1.2.3"]
    assert "Not ranked" not in page


def test_a_submission_does_not_change_the_numbers_of_the_others(
    script: ModuleType, made: tuple[Scores, Submission, Record]
) -> None:
    scores, submission, record = made
    with_it, without = (
        lines(script.leaderboard_page(scores, played), "Leaderboard")[2:] for played in ([(submission, record)], [])
    )
    assert [row[1:] for row in with_it[1:]] == [row[1:] for row in without]


def test_a_record_without_some_scenarios_is_not_ranked(
    script: ModuleType, made: tuple[Scores, Submission, Record]
) -> None:
    scores, submission, record = made
    some = {name: found for name, found in record.scenarios.items() if name == "fixed-0"}
    other = {**record.scenarios, "fixed-50": replace(record.scenarios["fixed-50"], problem="another")}
    for entries in (some, other):
        page = script.leaderboard_page(scores, [(submission, replace(record, scenarios=entries))])
        assert [row[1] for row in lines(page, "Leaderboard")[2:]] == ["A", "B"]
        assert [row[3] for row in lines(page, "Leaderboard")[2:]] == ["2.00", "2.00"]
        assert "- Mine (A. Author): 1 of 2 scenarios are missing." in page
        assert "Submitted policies" not in page
