from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from belated import Problem, Result, simulate
from belated.delays import Fixed
from belated.errors import Interrupted, InvalidParameter, SweepInterrupted
from belated.policies import UCB, SuccessiveElimination, UniformChoice
from belated.rewards import Bernoulli
from belated.simulation.progress import Progress
from belated.studies.sweep import Sweep, sweep

POLICIES = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]


def delayed(delay: int) -> Problem:
    return Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(delay))


def test_each_value_is_the_simulation_of_its_problem() -> None:
    found = sweep(delayed, [0, 50], POLICIES, horizon=300, runs=20, seed=3, name="delay")
    assert (found.name, found.values, found.labels, found.runs) == ("delay", [0, 50], ["UCB", "SE"], 20)
    for place, delay in enumerate([0, 50]):
        alone = simulate(delayed(delay), POLICIES, horizon=300, runs=20, seed=3)
        assert np.array_equal(found.results[place].final, alone.final)
        assert found.mean[:, place] == pytest.approx(alone.mean[:, -1], rel=1e-12)
        assert found.stderr[:, place] == pytest.approx(alone.stderr[:, -1], rel=1e-9)


def test_values_are_paired_run_by_run() -> None:
    control = [UniformChoice()]
    found = sweep(
        lambda gap: Problem([Bernoulli(0.5), Bernoulli(0.5 - gap)], Fixed(0)), [0.1, 0.2], control, horizon=100, runs=30
    )
    first, second = (result.final[0] for result in found.results)
    assert second == pytest.approx(2 * first)  # the same choices, so the same pulls


def test_policies_and_horizon_may_depend_on_the_value() -> None:
    found = sweep(
        lambda _: delayed(5),
        [0.5, 2.0],
        lambda c: [UCB(confidence=c), SuccessiveElimination()],
        horizon=lambda c: int(100 * c),
        runs=5,
    )
    assert [result.horizon for result in found.results] == [50, 200]
    assert [result.manifest.policies[0]["confidence"] for result in found.results] == [0.5, 2.0]
    assert found.to_frame()["horizon"].tolist() == [50, 200] * 2


def test_a_family_may_be_swept() -> None:
    def family_of(arms: int) -> Any:
        return lambda rng: Problem([Bernoulli(mean) for mean in rng.uniform(0.2, 0.8, arms)], Fixed(3))

    found = sweep(family_of, [2, 4], POLICIES, horizon=100, runs=5)
    assert [result.pulls.shape[2] for result in found.results] == [2, 4]


@pytest.mark.parametrize(
    ("policies", "labels"),
    [
        (UCB(), ["UCB"]),
        ([UCB(), SuccessiveElimination()], ["UCB", "SE"]),
        ([UCB(confidence=1.0), UCB(confidence=2.0)], ["UCB", "UCB(confidence=2)"]),
        ([UCB(), UCB()], ["UCB #1", "UCB #2"]),
        (lambda v: [UCB(confidence=v), SuccessiveElimination()], ["UCB", "SE"]),
        (lambda v: [UCB(confidence=v), UCB(confidence=1.0)], ["UCB", "UCB(confidence=1)"]),
        (lambda v: [UCB(confidence=v), UCB(confidence=2 * v)], ["UCB #1", "UCB #2"]),
        (lambda v: [UCB() if v > 1 else SuccessiveElimination()], ["SE / UCB"]),
    ],
)
def test_labels(policies: Any, labels: list[str]) -> None:
    assert sweep(lambda _: delayed(0), [0.5, 2.0], policies, horizon=20, runs=2).labels == labels


def test_the_table_is_tidy() -> None:
    found = sweep(delayed, [0, 50, 100], POLICIES, horizon=300, runs=20, name="delay")
    frame = found.to_frame()
    assert list(frame.columns) == [
        "policy",
        "parameter",
        "value",
        "mean",
        "stderr",
        "q05",
        "median",
        "q95",
        "runs",
        "horizon",
    ]
    assert frame["policy"].tolist() == ["UCB"] * 3 + ["SE"] * 3
    assert frame["value"].tolist() == [0, 50, 100] * 2
    assert set(frame["parameter"]) == {"delay"}
    row = frame.iloc[4]
    final = found.results[1].final[1]
    assert row["mean"] == pytest.approx(final.mean())
    assert row["stderr"] == pytest.approx(final.std(ddof=1) / np.sqrt(20))
    assert [row["q05"], row["median"], row["q95"]] == pytest.approx(np.quantile(final, [0.05, 0.5, 0.95]).tolist())


def lines_of(figure: Figure) -> list[Any]:
    return list(figure.axes[0].get_lines())


def test_the_plot_shows_means_against_values() -> None:
    found = sweep(delayed, [0, 50, 100], POLICIES, horizon=300, runs=20, name="delay in rounds")
    axes = found.plot().axes[0]
    assert axes.get_xlabel() == "delay in rounds"
    assert axes.get_xscale() == "linear"
    for place, line in enumerate(lines_of(found.plot())):
        assert line.get_xdata().tolist() == [0, 50, 100]
        assert line.get_ydata().tolist() == found.mean[place].tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["UCB", "SE"]


def test_values_by_ratios_have_an_axis_by_ratios() -> None:
    found = sweep(lambda _: delayed(5), [0.01, 0.1, 1.0, 10.0], lambda c: UCB(confidence=c), horizon=50, runs=2)
    assert found.plot().axes[0].get_xscale() == "log"


def test_an_axis_by_ratios_has_a_place_for_0() -> None:
    found = sweep(delayed, [0, 10, 100, 1000], UCB(), horizon=20, runs=2)
    axes = found.plot().axes[0]
    places = axes.transAxes.inverted().transform(axes.transData.transform([(delay, 0.0) for delay in found.values]))
    gaps = np.diff(places[:, 0])
    assert gaps[0] > 0.1
    assert gaps[1] == pytest.approx(gaps[2])


def test_values_that_are_no_numbers_stand_side_by_side() -> None:
    laws = {"none": 0, "long": 100}
    found = sweep(lambda law: delayed(laws[law]), laws, POLICIES, horizon=200, runs=5)
    axes = found.plot().axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["none", "long"]


def test_one_run_has_no_standard_error() -> None:
    found = sweep(delayed, [0, 5], POLICIES, horizon=50, runs=1)
    assert np.isnan(found.stderr).all()
    assert found.plot().axes[0].get_title(loc="left") == "one run"


def test_arrays_may_be_given() -> None:
    found = sweep(delayed, np.arange(3), POLICIES, horizon=50, runs=2)
    assert found.values == [0, 1, 2]
    assert all(type(value) is int for value in found.values)


def test_progress_counts_the_rounds_of_all_values() -> None:
    seen: list[Progress] = []
    sweep(delayed, [0, 5, 9], POLICIES, horizon=lambda v: 100 + v, runs=4, progress=seen.append)
    assert {one.total for one in seen} == {4 * 2 * (100 + 105 + 109)}
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert seen[-1].done == seen[-1].total


def test_the_number_of_workers_does_not_matter() -> None:
    one, two = (sweep(delayed, [0, 30], POLICIES, horizon=300, runs=10, workers=workers) for workers in (1, 2))
    assert np.array_equal(one.mean, two.mean)


@pytest.mark.parametrize("finished", [0, 1, 2])
def test_an_interruption_carries_what_is_finished(monkeypatch: pytest.MonkeyPatch, finished: int) -> None:
    def some(problem: Problem, *arguments: Any, **options: Any) -> Result:
        result = simulate(problem, *arguments, **options)
        if problem == delayed(10 * finished):
            raise Interrupted("interrupted after 3 of 5 runs", result)
        return result

    monkeypatch.setattr(importlib.import_module("belated.studies.runner"), "simulate", some)
    with pytest.raises(SweepInterrupted, match=f"interrupted after {finished} of 3 values") as caught:
        sweep(delayed, [0, 10, 20], POLICIES, horizon=50, runs=5)
    assert caught.value.result is not None
    if finished:
        assert isinstance(caught.value.sweep, Sweep)
        assert caught.value.sweep.values == [0, 10][:finished]
        assert caught.value.sweep.mean.shape == (2, finished)
    else:
        assert caught.value.sweep is None
    assert isinstance(caught.value, KeyboardInterrupt)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": []}, "values is empty"),
        ({"values": 3}, "values is 3; give a list"),
        ({"values": [1, 2, 1]}, "values has 1 more than once; give each value once"),
        ({"values": {"delay": [5, 5], "gap": [0.1]}}, "values has 5 more than once"),
        ({"values": "abc"}, "values is 'abc'; give a list"),
        ({"policies": []}, "policies for 0 is \\[\\]; give at least one policy"),
        ({"policies": [3]}, "give at least one policy"),
        ({"policies": lambda v: [UCB()] * (v + 1)}, "policies for 5 is"),
        ({"horizon": 0}, "horizon is 0; give a whole number"),
        ({"horizon": lambda v: "x"}, "horizon is 'x'; give a whole number"),
        ({"runs": 0}, "runs is 0; give a whole number"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_mistakes(change: dict[str, Any], said: str) -> None:
    arguments: dict[str, Any] = {"values": [0, 5], "policies": POLICIES, "horizon": 50, "runs": 2, **change}
    with pytest.raises(InvalidParameter, match=said):
        sweep(delayed, **arguments)


def test_policies_of_ones_own_are_checked_unless_that_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[bool] = []
    monkeypatch.setattr("belated.simulation.simulate.check_once", lambda *_, plays: checked.append(plays))
    sweep(delayed, [0, 50], POLICIES[:1], horizon=20, runs=1, check=False)
    sweep(delayed, [0, 50], POLICIES[:1], horizon=20, runs=1)
    assert checked == [False, False, True, True]
    with pytest.raises(InvalidParameter, match="check is 'no'"):
        sweep(delayed, [0, 50], POLICIES[:1], horizon=20, runs=1, check="no")  # type: ignore[arg-type]
