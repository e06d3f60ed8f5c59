"""Sweeps over two parameters, sweeps in files, and devices."""

from __future__ import annotations

import importlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from matplotlib.figure import Figure

from belated import Problem, simulate
from belated.delays import Batch, ByReward, ByRound, Fixed, FromScipy, Mixture, Never
from belated.errors import Interrupted, InvalidParameter, StateError, SweepInterrupted
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli, Scaled
from belated.studies.reproduce import reproduce
from belated.studies.sweep import Sweep, sweep

POLICIES = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]


def problem(delay: int, gap: float) -> Problem:
    return Problem([Bernoulli(0.7), Bernoulli(0.7 - gap)], Fixed(delay))


@pytest.fixture(scope="module")
def two() -> Sweep:
    axes = {"delay": [0, 10, 20, 40, 80], "gap": np.array([0.1, 0.2, 0.3, 0.4, 0.5])}
    return sweep(problem, axes, POLICIES, horizon=100, runs=4, seed=3)


def test_every_pair_is_the_simulation_of_its_problem(two: Sweep) -> None:
    assert [(axis.name, len(axis.values)) for axis in two.axes] == [("delay", 5), ("gap", 5)]
    assert two.values[:6] == [(0, 0.1), (0, 0.2), (0, 0.3), (0, 0.4), (0, 0.5), (10, 0.1)]
    alone = simulate(problem(10, 0.1), POLICIES, horizon=100, runs=4, seed=3)
    assert np.array_equal(two.results[5].final, alone.final)
    frame = two.to_frame()
    assert list(frame.columns[:4]) == ["policy", "delay", "gap", "mean"]
    row = frame[(frame["policy"] == "SE") & (frame["delay"] == 10) & (frame["gap"] == 0.1)]
    assert row["mean"].item() == pytest.approx(alone.final[1].mean())


def test_policies_and_horizon_are_functions_of_both() -> None:
    found = sweep(
        problem,
        {"delay": [0, 5], "gap": [0.1, 0.2]},
        lambda delay, gap: UCB(confidence=1.0 + gap),
        horizon=lambda delay, gap: 20 + delay,
        runs=2,
    )
    assert [result.horizon for result in found.results] == [20, 20, 25, 25]


def test_heat_maps_share_one_scale_of_colours(two: Sweep) -> None:
    figure = two.plot()
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title(loc="left") for axes in panels] == ["UCB", "SE"]
    for number, axes in enumerate(panels):
        shown = np.asarray(axes.images[0].get_array())
        assert shown == pytest.approx(two.mean[number].reshape(5, 5).T)
        assert axes.images[0].get_clim() == panels[0].images[0].get_clim()
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["0", "10", "20", "40", "80"]
    assert len([axes for axes in two.plot(policies="SE").axes if axes.images]) == 1


def test_facets_for_few_values_or_names(two: Sweep) -> None:
    laws = {"none": 0, "long": 50}
    found = sweep(
        lambda law, gap: problem(laws[law], gap),
        {"law": ["none", "long"], "gap": [0.1, 0.2, 0.3, 0.4, 0.5]},
        POLICIES,
        horizon=60,
        runs=2,
    )
    panels = [axes for axes in found.plot().axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["law none", "law long"]
    assert panels[1].get_lines()[0].get_ydata().tolist() == found.mean[0, 5:].tolist()  # type: ignore[union-attr]
    assert len([axes for axes in two.plot(kind="facets").axes if axes.get_visible()]) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pie"}, "kind is 'pie'"),
        ({"bands": 2.0}, "bands is 2.0, and a heat map has no bands"),
        ({"log": "y"}, "log is 'y', and a heat map has no lines"),
        ({"legend": "direct"}, "panels share a legend"),
        ({"legend": "left", "kind": "facets"}, "legend is 'left'"),
        ({"ax": Figure().subplots()}, "two parameters, which take several panels"),
    ],
)
def test_mistakes_are_explained(two: Sweep, options: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        two.plot(**options)


def test_a_logarithmic_colour_bar_has_several_labels(two: Sweep) -> None:
    size = two.mean.shape
    for high, labels in ((97.5, ["5", "10", "20", "50"]), (60_000.0, ["10", "100", "1k", "10k"])):
        means = np.geomspace(2.3, high, two.mean.size).reshape(size)
        wide = replace(two)
        wide.__dict__["mean"] = means
        figure = wide.plot(kind="heatmap")
        figure.draw_without_rendering()
        bar = figure.axes[-1]
        low, top = bar.get_ylim()
        ticks = zip(bar.get_yticks(), bar.get_yticklabels(), strict=True)
        assert [label.get_text() for tick, label in ticks if low <= tick <= top] == labels


def test_facets_without_a_legend(two: Sweep) -> None:
    assert len(two.plot(kind="facets").legends) == 1
    assert two.plot(kind="facets", legend=False).legends == []
    assert [axes for axes in two.plot(bands=None, legend=False).axes if axes.images]


def test_one_parameter_by_its_name() -> None:
    found = sweep(lambda d: problem(d, 0.2), {"delay": [0, 5]}, POLICIES[:1], horizon=10, runs=1)
    assert (found.name, found.values, found.parameters) == ("delay", [0, 5], ())


def test_three_parameters_are_too_many() -> None:
    with pytest.raises(InvalidParameter, match="give at most two, as"):
        sweep(problem, {"a": [1], "b": [2], "c": [3]}, POLICIES, horizon=10, runs=1)


def test_a_sweep_is_saved_and_loaded(two: Sweep, tmp_path: Path) -> None:
    path = two.save(tmp_path / "deep" / "two")
    assert path.name == "two.sweep"
    assert [file.name for file in path.parent.iterdir()] == ["two.sweep"]
    again = Sweep.load(path)
    assert (again.name, again.values, again.labels, again.axes) == (two.name, two.values, two.labels, two.axes)
    assert np.array_equal(again.mean, two.mean)
    assert np.array_equal(again.stderr, two.stderr)
    assert again.results[7].manifest == two.results[7].manifest
    assert again.results[7].rerun().final.tolist() == two.results[7].final.tolist()
    assert again.to_frame().equals(two.to_frame())


def test_laws_and_policies_are_saved_and_loaded(tmp_path: Path) -> None:
    """All that are plain data come back; a function comes back as its text."""
    by_reward, by_function = ByReward({0: Fixed(0), 1: Never()}), ByReward(lambda reward: Fixed(int(reward)))
    nested = Mixture([(0.5, ByRound({1: Fixed(3), 9: Batch(4)})), (0.5, Never())])
    delays = [Fixed(3), Never(), nested, by_reward, FromScipy(scipy.stats.expon(scale=3)), by_function]
    values = [*delays, Scaled(Bernoulli(0.5), 0, 50), UCB(confidence="theory"), [Fixed(3), (Fixed(4), 1)]]
    found = sweep(lambda value: problem(3, 0.2), values, POLICIES, horizon=20, runs=2, name="what")
    path = found.save(tmp_path / "laws")
    loaded = Sweep.load(path).values
    assert [*map(repr, loaded)] == [*map(repr, values[:5]), repr(repr(by_function)), *map(repr, values[6:])]
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["sweep.json"] = files["sweep.json"].replace(b'"law": "Never"', b'"law": "gone:Never"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    assert Sweep.load(path).values[:2] == [Fixed(3), "Never()"]


def test_values_that_are_tuples(tmp_path: Path) -> None:
    values = [(3, "a"), (9, "b"), (12, (1, 2))]
    found = sweep(lambda value: problem(value[0], 0.2), values, POLICIES, horizon=20, runs=2)
    ticks = found.plot().axes[0].get_xticklabels()
    assert [label.get_text() for label in ticks] == ["(3, 'a')", "(9, 'b')", "(12, (1, 2))"]
    assert "(9, &#x27;b&#x27;)" in found._repr_html_()
    assert Sweep.load(found.save(tmp_path / "tuples")).values == values


@pytest.mark.parametrize("missing", ["axes", "labels", "results", "format", "values"])
def test_a_damaged_head_is_refused(two: Sweep, tmp_path: Path, missing: str) -> None:
    path = two.save(tmp_path / "two")
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(files["sweep.json"])
    if missing == "values":
        head["axes"][0]["values"].pop()
    else:
        del head[missing]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (files | {"sweep.json": json.dumps(head).encode()}).items():
            archive.writestr(name, data)
    with pytest.raises(StateError, match=r"damaged: (it has 25 results|'[a-z]+' is missing)"):
        Sweep.load(path)


def test_damaged_files_are_refused(two: Sweep, tmp_path: Path) -> None:
    path = two.save(tmp_path / "two")
    data = path.read_bytes()
    for bad in (b"", data[: len(data) // 2], data[:40] + b"?" * 40 + data[80:]):
        path.write_bytes(bad)
        with pytest.raises(StateError, match="not a sweep of belated, or is damaged"):
            Sweep.load(path)
    with pytest.raises(StateError, match="there is no file"):
        Sweep.load(tmp_path / "nothing.sweep")


def test_a_write_that_fails_leaves_the_old_file(two: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two.save(tmp_path / "two")
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match="disk full"):
        two.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interruption_keeps_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("belated.studies.runner")
    real, calls = module.simulate, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) > 5:
            raise Interrupted("interrupted", None)
        return real(*arguments, **options)

    monkeypatch.setattr(module, "simulate", interrupted)
    with pytest.raises(SweepInterrupted) as caught:
        sweep(problem, {"delay": [0, 5, 9], "gap": [0.1, 0.2]}, POLICIES, horizon=10, runs=1)
    part: Any = caught.value.sweep
    assert part.values == [(0, 0.1), (0, 0.2), (5, 0.1), (5, 0.2)]
    assert [axis.values for axis in part.axes] == [(0, 5), (0.1, 0.2)]
    assert len(part.results) == 4


def test_devices_are_checked_before_anything_is_played(tmp_path: Path) -> None:
    result = simulate(problem(3, 0.2), POLICIES, horizon=10, runs=1)
    message = "device is 'tpu'; give 'cpu' or 'cuda'"

    def never(*_: object) -> Problem:
        raise AssertionError("played")

    with pytest.raises(InvalidParameter, match=message):
        sweep(never, [1], POLICIES, horizon=10, runs=1, device="tpu")
    with pytest.raises(InvalidParameter, match=message):
        result.rerun(device="tpu")
    with pytest.raises(InvalidParameter, match=message):
        reproduce([], out=tmp_path, device="tpu")
    assert np.array_equal(result.rerun(device="cpu").final, result.final)


def test_two_parameters_are_passed_by_their_names(two: Sweep) -> None:
    swapped = sweep(
        lambda gap, delay: problem(delay, gap),
        {"delay": [0, 10], "gap": [0.1, 0.2]},
        POLICIES,
        horizon=100,
        runs=4,
        seed=3,
    )
    assert swapped.values == [(0, 0.1), (0, 0.2), (10, 0.1), (10, 0.2)]
    same = [two.results[two.values.index(value)].final for value in swapped.values]
    assert all(np.array_equal(result.final, other) for result, other in zip(swapped.results, same, strict=True))
    with pytest.raises(InvalidParameter, match=r"the parameters are delay and gap, and .* takes \(x, y\); call its"):
        sweep(lambda x, y: problem(x, gap=y), {"delay": [0], "gap": [0.1]}, POLICIES, horizon=10, runs=1)
