"""Arms that are pulled equally often, or alike; where a curve turns, and peaks that stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from belated import simulate
from belated.studies.claims import Evidence, Status
from belated.studies.claims.runs import Alike, Even
from belated.studies.claims.trends import Falls, PeakMovesRight
from belated.studies.experiments import load
from synthetic import evidence, grid, result
from trials import top


@pytest.mark.parametrize(
    ("pulls", "rounds", "ratio"),
    [
        ((5, 5, 5), (-1, -1, -1), 1.0),
        ((6, 5, 8), (-1, -1, -1), 5 / 8),
        ((5, 5, 1), (-1, -1, 3), 0.2),  # what was eliminated counts as well
        ((5, 5, 0), (-1, -1, 0), 0.0),
        ((0, 0, 0), (-1, -1, -1), 0.0),
    ],
)
def test_arms_that_are_pulled_equally_often(pulls: tuple[int, ...], rounds: tuple[int, ...], ratio: float) -> None:
    """Run by run; another policy and other runs do not count."""
    counts = np.array([[pulls, (1, 4, 5)], [(0, 9, 0), (2, 4, 8)]])
    gone = np.array([[rounds, (-1, -1, -1)], [(-1, -1, -1), (-1, -1, -1)]])
    shown = evidence(lambda: result({"A": np.ones(2), "B": np.ones(2)}, pulls=counts, eliminated_at=gone))
    assert Even("A").judge(shown, 0.1).findings[0].value == pytest.approx((ratio + 0.2) / 2)
    assert Even("B").judge(shown, 0.1).findings[0].value == 0.125


def test_successive_elimination_does_not_pull_equally_often_for_ever() -> None:
    """The claim can fail on what is simulated: with the arms that were eliminated, pulls are uneven."""
    experiment = load("figure3")
    (claim,) = (one for one in experiment.claims if "samples each arm equally" in one.sentence)
    (cell,) = experiment.studies["loss"].cells
    played = simulate(cell.problem, cell.policies, horizon=cell.horizon, runs=200, seed=1, checkpoints=2)
    study = replace(experiment.studies["loss"], runs=200, max_runs=200, name=claim.study)
    assert claim.judge(Evidence(study, (played,))).status is Status.FAILS


def test_each_cell_has_its_own() -> None:
    def of(d: int) -> object:
        pulls = np.tile([5, 5], (1, 8, 1))
        pulls[0, :d, 0] = 10
        return result({"A": np.ones(8)}, pulls=pulls)

    found = Even("A", low=0.99).judge(evidence(of, d=(0, 2, 8)), 0.1)  # type: ignore[arg-type]
    assert [finding.value for finding in found.findings] == [1.0, 0.875, 0.5]
    assert [finding.what.split(":")[0] for finding in found.findings] == ["d = 0", "d = 2", "d = 8"]


def test_shares_that_are_alike_in_all_runs_may_differ_in_others() -> None:
    """A difference of shares is anything from -1 to 1; two policies share the risk."""
    pulls = np.tile([400, 600], (2, 400, 1))
    regrets = {"A": np.ones(400), "B": np.ones(400)}
    shown = evidence(lambda d: result(regrets, pulls=pulls), d=(0, 1))
    most = 2.0 * (1.0 - (0.001 / 2 / 2) ** (1 / 400))
    for finding in Alike("d", 1, 0.1).judge(shown, 0.001).findings:
        assert (finding.value, finding.interval) == (0.0, pytest.approx((-most, most)))
    for times, status in ((0.999, Status.UNDECIDED), (1.001, Status.HOLDS)):
        assert Alike("d", 1, most * times).judge(shown, 0.001).status is status


@pytest.mark.parametrize("top_at", [0.3, 0.1 + 0.2, 0.3 - 1e-16])
def test_a_top_that_is_rounded(top_at: float) -> None:
    """At 0.3, however it was computed."""
    for values in ((0.2, 0.3, 0.4), (0.2, 0.1 + 0.2, 0.4)):
        found = grid(lambda gap: {"A": 5.0 - 10.0 * abs(gap - 0.3)}, gap=values)
        Falls("A", "gap", top_at).check(found.study)
        assert Falls("A", "gap", top_at).judge(found, 0.001).status is Status.HOLDS


@pytest.mark.parametrize(("slack", "status"), [(0.05, Status.FAILS), (0.15, Status.HOLDS), (0.25, Status.HOLDS)])
def test_a_peak_may_move_left_by_less_than_the_slack(slack: float, status: Status) -> None:
    """By 0.1 here; from the first to the last it moves right."""
    found = PeakMovesRight("A", "gap", "tail", slack).judge(top(1, 3, 2), 0.001)
    assert found.status is status
    assert [finding.allowed[0] for finding in found.findings] == [-slack, -slack, 0.0]


def test_a_peak_that_stays_does_not_move_left() -> None:
    assert PeakMovesRight("A", "gap", "tail", 0.001).judge(top(1, 1, 2), 0.001).status is Status.HOLDS


def test_a_peak_that_stays_does_not_move_right() -> None:
    """From the first to the last it must, whatever the slack is."""
    for slack in (0.001, 0.05, 1.0):
        found = PeakMovesRight("A", "gap", "tail", slack).judge(top(2, 3, 2), 0.001)
        assert (found.status, found.findings[-1].status) == (Status.FAILS, Status.FAILS)
