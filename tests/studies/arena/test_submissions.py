"""Submitted policies: what is read, played and recorded, and that a record that is not true is noticed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import simulate
from belated.errors import ConfigurationError, StateError
from belated.studies.arena import Scenario
from belated.studies.arena.still_losing import checkpoints, still_losing
from belated.studies.arena.submissions import (
    RUNS,
    SEED,
    Submission,
    play_record,
    problem_hash,
    read_record,
    read_submissions,
    verify,
    write_record,
)

POLICY = """\
from belated.policies import UCB, policy


@policy
class Mine(UCB):
    label = "Mine"
    # note
"""
ABOUT = """\
class = "Mine"
author = "A. Author"
reference = "new"
licence = "MIT"
date = 2026-01-31
"""
Make = Callable[..., Scenario]


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    return submit(tmp_path / "all" / "my-policy")


def submit(folder: Path, policy: str = POLICY, about: str = ABOUT) -> Submission:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.py").write_text(policy)
    (folder / "submission.toml").write_text(about)
    (found,) = read_submissions(folder)
    return found


# ---- what is read ----


def test_a_folder_is_a_submission_or_has_some(submission: Submission) -> None:
    all_of_them = submission.folder.parent
    submit(all_of_them / "a-policy")
    assert [found.name for found in read_submissions(all_of_them)] == ["a-policy", "my-policy"]
    (found,) = read_submissions(submission.folder)
    assert (found.name, found.about.class_name, found.about.author) == ("my-policy", "Mine", "A. Author")
    assert found.about.date == "2026-01-31"
    assert found.sha256 == hashlib.sha256(POLICY.encode()).hexdigest()
    assert found.policy().label == "Mine"


def test_two_files_of_one_name_are_two_policies(submission: Submission) -> None:
    other = submit(submission.folder.parent / "other", POLICY.replace('"Mine"', '"Other"'))
    assert [one.policy().label for one in (submission, other, submission)] == ["Mine", "Other", "Mine"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("licence", "license"), "submission.toml: license is not known. Did you mean 'licence'?"),
        (('author = "A. Author"\n', ""), "author is missing; give text in quotes."),
        (('class = "Mine"\n', ""), "class is missing; give the name of the policy's class."),
        (("2026-01-31", '"in May"'), "date is 'in May'; give a day, such as 2026-01-31."),
        (('"MIT"', '" "'), "licence is ' '; give text in quotes."),
        (('"MIT"', '"MIT'), "submission.toml: Illegal character"),
    ],
)
def test_mistakes_in_the_file_about_it_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        submit(tmp_path / "one", about=ABOUT.replace(*change))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("class Mine", "class Yours"), "class is 'Mine', which is not a policy of policy.py"),
        (('"Mine"', '"Pending-UCB"'), "label is 'Pending-UCB', which is that of a built-in policy; give another."),
        (("# note", "1 / 0"), "policy.py fails with ZeroDivisionError: division by zero; fix it."),
        (("# note", "arena_variants = ({}, {'confidence': 2.0})"), "has several arena_variants; submit each"),
    ],
)
def test_mistakes_in_the_policy_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        submit(tmp_path / "one", POLICY.replace(*change)).policy()
    assert message in str(caught.value)


def test_folders_without_a_submission_are_refused(tmp_path: Path, submission: Submission) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match=r"empty' has no submission\.toml; give the folder of a submission"):
        read_submissions(tmp_path / "empty")
    (submission.folder / "policy.py").unlink()
    with pytest.raises(ConfigurationError, match=r"my-policy' has no policy\.py; write the policy there"):
        read_submissions(submission.folder.parent)


# ---- what is recorded ----


def test_a_record_has_the_regrets_of_the_arenas_first_runs(submission: Submission, row: Make) -> None:
    one = row("one")
    record = play_record(submission, [one, row("two", horizon=100)])
    assert (record.label, record.policy) == ("Mine", submission.sha256)
    assert list(record.scenarios) == ["one", "two"]
    options = {"horizon": 200, "runs": RUNS, "seed": SEED, "shuffle": True, "checkpoints": checkpoints(200)}
    result = simulate(one.problem, submission.policy(), progress=False, **options)  # type: ignore[arg-type]
    final, entry = result.final[0], record.scenarios["one"]
    assert (entry.runs, entry.regret) == (RUNS, final.mean())
    assert entry.stderr == pytest.approx(final.std(ddof=1) / np.sqrt(RUNS))
    assert entry.losing == still_losing(one.problem, result).mean()
    assert entry.bits == hashlib.sha256(final.astype("<f8").tobytes()).hexdigest()
    assert entry.problem == problem_hash(one) != problem_hash(replace(one, horizon=201))
    assert play_record(submission, [one], workers=1).scenarios["one"] == entry


def test_a_record_is_read_as_it_was_written_and_added_to(submission: Submission, row: Make) -> None:
    one, two = row("one"), row("two", horizon=100)
    first = play_record(submission, [two])
    path = write_record(submission, first)
    assert path == submission.folder / "record.json"
    assert read_record(submission) == first
    second = play_record(submission, [one])
    write_record(submission, second)
    both = read_record(submission)
    assert both.scenarios == {**second.scenarios, **first.scenarios}
    changed = submit(submission.folder, POLICY.replace("# note", "# another"))
    third = play_record(changed, [one])
    write_record(changed, third)
    assert read_record(changed) == third  # of another file nothing is kept
    assert path.read_text().startswith('{\n "format": "belated.submission.1",\n "seed": 0,')


# ---- what is verified ----


def test_what_is_true_is_the_same_to_the_bit(submission: Submission, row: Make) -> None:
    rows = [row("one"), row("two", horizon=100)]
    record = play_record(submission, rows)
    assert verify(submission, record, rows, workers=1) == {}
    assert verify(submission, record, [*rows, row("three")]) == {}  # which is not recorded


def test_what_is_not_true_is_noticed(submission: Submission, row: Make) -> None:
    rows = [row("one"), row("two", horizon=100)]
    record = play_record(submission, rows)
    other = verify(submission, record, [rows[0], row("two", horizon=101)])
    assert other == {"two": "is another problem than the one that was recorded; play it again"}
    changed = submit(submission.folder, POLICY.replace("# note", "# another"))
    assert list(verify(changed, record, rows)) == ["policy.py"]


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("runs", RUNS + 1),
        ("regret", 0.5),
        ("regret", math.nan),
        ("regret", "0.5"),
        ("stderr", 0.5),
        ("losing", 0.25),
        ("bits", "0" * 64),
    ],
)
def test_a_field_that_alone_is_not_true_is_noticed(submission: Submission, row: Make, field: str, lie: Any) -> None:
    rows = [row("one"), row("two", horizon=100)]
    record = play_record(submission, rows)
    true = getattr(record.scenarios["two"], field)
    forged = {**record.scenarios, "two": replace(record.scenarios["two"], **{field: lie})}
    told = verify(submission, replace(record, scenarios=forged), rows)
    assert told == {"two": f"differs: {field} {lie!r} is recorded, {true!r} is played"}


def test_means_are_compared_up_to_rounding(submission: Submission, row: Make) -> None:
    record = play_record(submission, [row("one")])
    regret = record.scenarios["one"].regret
    for factor, same in ((1.0 + 1e-14, True), (1.0 + 1e-10, False)):
        entries = {"one": replace(record.scenarios["one"], regret=regret * factor)}
        assert (verify(submission, replace(record, scenarios=entries), [row("one")]) == {}) == same


def test_a_label_seed_or_scenario_that_is_not_true_is_noticed(submission: Submission, row: Make) -> None:
    rows = [row("one")]
    record = play_record(submission, rows)
    told = verify(submission, replace(record, label="Yours"), rows)
    assert told == {"label": "is 'Yours' in the record, and 'Mine' in what is played"}
    told = verify(submission, replace(record, seed=7), rows)
    assert told == {"seed": "is 7 in the record, and 0 in what is played"}
    unknown = {**record.scenarios, "nowhere": record.scenarios["one"], "fixed-0": record.scenarios["one"]}
    told = verify(submission, replace(record, scenarios=unknown), rows)  # fixed-0 is there, and not among the rows
    assert told == {"nowhere": "is not a scenario of this version; remove it from the record"}


def test_a_record_with_nothing_to_verify_is_wrong(submission: Submission, row: Make) -> None:
    record = play_record(submission, [row("one")])
    nothing = {"record.json": "has none of the scenarios to verify; play them first"}
    assert verify(submission, replace(record, scenarios={}), [row("one")]) == nothing
    assert verify(submission, replace(record, scenarios={"fixed-0": record.scenarios["one"]}), [row("one")]) == nothing


def test_records_that_cannot_be_read_are_refused(submission: Submission, row: Make) -> None:
    with pytest.raises(StateError, match=r"there is no '.*record\.json'; play the submission with belated arena"):
        read_record(submission)
    path = write_record(submission, play_record(submission, [row("one")]))
    good = json.loads(path.read_text())
    for text, message in (
        (json.dumps({**good, "format": "belated.submission.9"}), "has the format 'belated.submission.9'; this version"),
        (json.dumps({**good, "scenarios": {"one": {"x": 1}}}), "is not a record, or is damaged"),
        (json.dumps({**good, "scenarios": 5}), "is not a record, or is damaged"),
        (path.read_text()[:-30], "is not a record, or is damaged"),
        ("{}", "is not a record, or is damaged"),
    ):
        path.write_text(text)
        with pytest.raises(StateError) as caught:
            read_record(submission)
        assert message in str(caught.value)
