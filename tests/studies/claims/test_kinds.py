"""Every kind of test can hold, can fail, and is undecided where the evidence is thin."""

from __future__ import annotations

import pytest

from belated import Result
from belated.studies.claims import TESTS, ClaimTest, Evidence, Status
from more_trials import COUNTS, COURSE, THEOREMS
from synthetic import claim
from trials import ORDER, SHAPE, Trial

TRIALS = [*ORDER, *SHAPE, *COURSE, *COUNTS, *THEOREMS]
RISK = 0.001
STATUSES = {"holds": Status.HOLDS, "fails": Status.FAILS, "undecided": Status.UNDECIDED}
CERTAIN = {"tabled"}
"""Kinds that compare numbers without chance: these are never undecided."""

each_trial = pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: f"{trial.kind}-{TRIALS.index(trial)}")


def shown(trial: Trial) -> list[tuple[Status, Evidence]]:
    found = [(status, getattr(trial, name)) for name, status in STATUSES.items()]
    return [(status, evidence) for status, evidence in found if evidence is not None]


def test_every_kind_is_tried() -> None:
    """A new kind needs evidence on which it holds, fails and is undecided, in ``trials`` or
    ``more_trials``."""
    assert {trial.kind for trial in TRIALS} == set(TESTS)
    for trial in TRIALS:
        assert type(trial.test) is TESTS[trial.kind]
        assert trial.test.arithmetic is (trial.kind in CERTAIN)
        assert (trial.undecided is None) == (trial.kind in CERTAIN)


@each_trial
def test_the_evidence_decides(trial: Trial) -> None:
    """The same test, other evidence, another verdict."""
    assert {status: trial.test.judge(evidence, RISK).status for status, evidence in shown(trial)} == {
        status: status for status, _ in shown(trial)
    }


@each_trial
def test_the_numbers_are_those_that_the_claim_is_about(trial: Trial) -> None:
    findings = trial.test.judge(trial.holds, RISK).findings
    assert [finding.value for finding in findings] == pytest.approx(trial.numbers, abs=1e-9)
    for finding in findings:
        assert finding.interval[0] <= finding.value <= finding.interval[1]
        assert finding.what


@each_trial
def test_the_finding_that_decides_is_of_the_verdict(trial: Trial) -> None:
    for status, evidence in shown(trial):
        judged = trial.test.judge(evidence, RISK)
        assert judged.deciding in judged.findings
        assert judged.deciding.status is status


@each_trial
def test_less_risk_takes_a_verdict_back_and_never_turns_it(trial: Trial) -> None:
    for status, evidence in shown(trial):
        found = [trial.test.judge(evidence, risk).status for risk in (RISK, RISK / 10, 1e-9, 1e-300)]
        assert set(found) <= {status, Status.UNDECIDED}
        assert found == sorted(found, key=lambda one: one is Status.UNDECIDED)


@each_trial
def test_what_is_undecided_needs_more_runs(trial: Trial) -> None:
    for status, evidence in shown(trial):
        judged = trial.test.judge(evidence, RISK)
        if status is Status.UNDECIDED:
            assert judged.needed > 1.0
        elif status is Status.HOLDS:
            assert judged.needed == 1.0


@each_trial
def test_a_study_that_can_be_judged_passes_the_check(trial: Trial) -> None:
    for _, evidence in shown(trial):
        trial.test.check(evidence.study)


@each_trial
def test_a_claim_says_the_same(trial: Trial) -> None:
    for status, evidence in shown(trial):
        expected = Status.ARITHMETIC if trial.kind in CERTAIN and status is Status.HOLDS else status
        assert claim(trial.test).judge(evidence).status is expected


@each_trial
def test_the_first_runs_alone_leave_it_open(trial: Trial) -> None:
    """One run of each cell decides nothing, unless there is no chance."""
    if trial.kind not in CERTAIN:
        for _, evidence in shown(trial):
            one = Evidence(evidence.study, tuple(map(first_run, evidence.results)))
            assert trial.test.judge(one, RISK).status is Status.UNDECIDED


def first_run(result: Result) -> Result:
    names = ("curves", "final", "pulls", "eliminated_at")
    return Result(**{**vars(result), **{name: getattr(result, name)[:, :1] for name in names}})


def test_a_kind_is_a_frozen_dataclass() -> None:
    """Its fields are the keys of a claim in a file."""
    for cls in TESTS.values():
        assert issubclass(cls, ClaimTest)
        assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert cls.__doc__
