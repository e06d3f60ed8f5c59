"""Evidence: parts of a study, its cells along axes, and runs that are paired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from belated.errors import ConfigurationError
from belated.studies.claims import Evidence
from belated.studies.claims.evidence import in_words
from belated.studies.claims.order import Below, Ratio
from synthetic import constant, draws, evidence, grid, result, study

ALL = grid(lambda delay, arms: {"A": delay + arms, "B": -delay - arms}, delay=(0, 10, 20), arms=(2, 5))


def means(found: Evidence, label: str = "A") -> list[float]:
    return [round(float(found.regret(label, cell).mean()), 9) for cell in found.cells]


def test_each_cell_has_its_numbers() -> None:
    assert means(ALL) == [2, 5, 12, 15, 22, 25]
    assert means(ALL, "B") == [-2, -5, -12, -15, -22, -25]
    with pytest.raises(ConfigurationError, match="no policy 'C'"):
        ALL.regret("C", 0)


def test_within_keeps_the_axes() -> None:
    part = ALL.within({"delay": [20, 0]})
    assert means(part) == [2, 5, 22, 25]
    assert [(axis.name, axis.values) for axis in part.study.axes] == [("delay", (0, 20)), ("arms", (2, 5))]
    assert [cell.coordinates for cell in part.study.cells] == [{"delay": d, "arms": k} for d in (0, 20) for k in (2, 5)]
    assert means(part.within({"arms": 5})) == [5, 25]
    assert part.within({}) == part


def test_at_takes_the_axes_away() -> None:
    part = ALL.at({"delay": 10})
    assert means(part) == [12, 15]
    assert [axis.name for axis in part.study.axes] == ["arms"]
    assert [cell.coordinates for cell in part.study.cells] == [{"arms": 2}, {"arms": 5}]
    point = part.at({"arms": 5})
    assert (means(point), point.study.axes, point.describe(0)) == ([15], (), "")
    with pytest.raises(ConfigurationError, match=r"no axis 'delay'\. It has arms"):
        part.at({"delay": 10})


def test_along_an_axis() -> None:
    assert ALL.along("delay") == [(0, [0, 1]), (10, [2, 3]), (20, [4, 5])]
    assert ALL.along("arms") == [(2, [0, 2, 4]), (5, [1, 3, 5])]
    assert ALL.within({"delay": [0, 20]}).along("delay") == [(0, [0, 1]), (20, [2, 3])]
    with pytest.raises(ConfigurationError, match="no axis 'gap'"):
        ALL.along("gap")


def test_lines_along_an_axis() -> None:
    assert ALL.lines("delay") == [({"arms": 2}, [0, 2, 4]), ({"arms": 5}, [1, 3, 5])]
    assert ALL.lines("arms") == [({"delay": 0}, [0, 1]), ({"delay": 10}, [2, 3]), ({"delay": 20}, [4, 5])]
    assert ALL.at({"arms": 2}).lines("delay") == [({}, [0, 1, 2])]
    with pytest.raises(ConfigurationError, match="no axis 'gap'"):
        ALL.lines("gap")


def test_pooled_is_the_mean_over_cells_of_each_run() -> None:
    found = ALL.pooled("A", [0, 3, 5])
    assert found == pytest.approx((ALL.regret("A", 0) + ALL.regret("A", 3) + ALL.regret("A", 5)) / 3)
    assert ALL.pooled("A", [4]) == pytest.approx(ALL.regret("A", 4))


def test_curves_and_counts() -> None:
    counts = np.arange(2 * 3 * 2).reshape(2, 3, 2)
    curves = {"A": np.arange(12.0).reshape(3, 4), "B": np.zeros((3, 4))}
    found = evidence(lambda: result(curves, pulls=counts, eliminated_at=-counts))
    assert np.array_equal(found.curve("A", 0), curves["A"])
    assert found.regret("A", 0).tolist() == [3, 7, 11]
    assert found.counts("pulls", "B", 0, 1).tolist() == [7, 9, 11]
    assert found.counts("eliminated_at", "A", 0, 0).tolist() == [0, -2, -4]


def test_curves_of_some_runs_are_not_those_of_all() -> None:
    """A result keeps the first runs' curves where all would take too much memory."""
    whole = result({"A": np.ones((9, 4))})
    found = Evidence(study(("A",)), (replace(whole, curves=whole.curves[:, :5]),))
    assert found.regret("A", 0).size == 9
    with pytest.raises(ConfigurationError, match="keeps the curves of 5 of 9 runs"):
        found.curve("A", 0)
    few = Evidence(study(("A",), d=(0, 1)), (found.results[0], result({"A": np.ones((5, 4))})))
    assert few.curve("A", 0).shape == (5, 4)


# ---- cells with more runs than others ----


COUNTS = {0: 8, 1: 32, 2: 16}


def uneven() -> Evidence:
    """Run r has regret r, but from run 16 on something else."""
    numbers = {0: np.arange(8.0), 1: np.append(np.arange(16.0), np.full(16, 99.0)), 2: np.arange(16.0)}
    results = [
        result(
            {"A": np.stack([run, run + 1], axis=1), "B": np.stack([run, 2 * run], axis=1)},
            pulls=np.broadcast_to(run[None, :, None], (2, run.size, 2)),
        )
        for run in numbers.values()
    ]
    return Evidence(study(delay=tuple(COUNTS)), tuple(results))


def test_the_first_runs_of_each_are_compared() -> None:
    found = uneven()
    assert [result.runs for result in found.results] == list(COUNTS.values())
    assert found.runs == 8
    for cell in found.cells:
        assert found.regret("A", cell).tolist() == list(range(1, 9))
        assert found.curve("B", cell)[:, 0].tolist() == list(range(8))
        assert found.counts("pulls", "A", cell, 1).tolist() == list(range(8))
    assert found.pooled("B", [0, 1, 2]).tolist() == list(range(0, 16, 2))


def test_the_runs_of_a_part_are_its_own() -> None:
    found = uneven()
    assert found.within({"delay": [1, 2]}).runs == 16
    assert found.within({"delay": [1, 2]}).regret("A", 0).tolist() == list(range(1, 17))
    assert found.at({"delay": 1}).runs == 32


def test_runs_are_paired() -> None:
    """What is common to a run in two cells, or of two policies, does not hide a small difference."""
    common = draws(100.0, 50.0)
    shift = {"A": 0.0, "B": 0.1}
    noise = {label: draws(value, 0.01, seed=label.encode()[0]) for label, value in shift.items()}
    paired = evidence(lambda: result({label: common + noise[label] for label in shift}))
    assert Below("A", "B").judge(paired, 0.001).status == "holds"
    assert Below("A", "B").judge(constant(50.0, A=100.0, B=100.1), 0.001).status == "undecided"
    assert Ratio("B", "A", 1.0, 1.01).judge(paired, 0.001).status == "holds"


def test_coordinates_in_words() -> None:
    assert ALL.describe(3) == "delay = 10, arms = 5"
    assert in_words({"T": 200_000, "c": 0.5, "law": "fixed"}) == "T = 200,000, c = 0.5, law = fixed"
    assert in_words({}) == ""
