"""The rows of a figure: panels, legends, and the table of what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from belated.errors import ConfigurationError
from belated.studies.experiments import NAMES, load
from belated.studies.figures import ROWS, describe_runs, draw, table
from belated.studies.reproduce import ExperimentOutcome, reproduce
from tiny import HEAD, STUDY, experiment

AXIS = '[[studies.pair.axes]]\nname = "delay"\nkey = "problem.delays.rounds"\nvalues = [1, 10, 100]\n'
PLANE = HEAD + STUDY.replace("most = 25600\ncheckpoints = 2", "checkpoints = 4") + AXIS
"""Three gaps by three delays."""
SETTINGS = """
[studies.settings]
horizon = 100
runs = 8
problem.rewards = {best = 0.9, gap = 0.8, arms = 2}
problem.delays = {law = "Fixed", rounds = 0}
policies = [
  {policy = "SuccessiveElimination", confidence = "theory"},
  {policy = "PhasedElimination", confidence = "theory"},
]
[[studies.settings.axes]]
name = "setting"
values = ["fixed delay", "packet loss"]
set."problem.delays" = [{law = "Fixed", rounds = 3}, {law = "PacketLoss", observed = 0.5}]
"""


def played(folder: Path, rows: str, text: str = PLANE, page: bool = False) -> ExperimentOutcome:
    """The experiment with a figure of these rows, played."""
    figure = f'[[figures]]\nname = "rows"\ncaption = "Rows."\npage = {str(page).lower()}\nrows = [{rows}]\n'
    (outcome,) = reproduce([experiment(folder, text + figure)], out=folder / "made")
    return outcome


def drawn(outcome: ExperimentOutcome) -> Figure:
    return draw(outcome.experiment.figures[0], outcome.evidence)


def frame(outcome: ExperimentOutcome) -> Any:
    return table(outcome.experiment.figures[0], outcome.evidence)


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_kind_is_used_by_the_paper_s_figures() -> None:
    used = {type(row) for name in NAMES for picture in load(name).figures for row in picture.rows}
    assert used == set(ROWS.values())


def test_against_an_axis(tmp_path: Path) -> None:
    reference = 'references = [{label = "gap x delay", factor = 2.0, per = ["gap", "delay"]}]'
    row = f'{{kind = "against", study = "pair", x = "delay", split = "gap", xlabel = "rounds", {reference}}}'
    outcome = played(tmp_path, row)
    figure = drawn(outcome)
    assert [axes.get_title() for axes in figure.axes] == ["gap = 0.6", "gap = 0.2", "gap = 0.5"]
    assert labels(figure) == ["gap x delay", "UCB", "Uniform"]
    assert {axes.get_xlabel() for axes in figure.axes} == {"rounds"}
    assert [axes.get_ylabel() for axes in figure.axes] == ["regret", "", ""]
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "gap x delay"]
    assert np.asarray(line.get_ydata()) == pytest.approx([1.2, 12.0, 120.0])
    found = frame(outcome)
    assert list(found.columns) == ["study", "panel", "policy", "delay", "mean", "stderr", "runs"]
    assert len(found) == 2 * 3 * 3
    evidence = outcome.evidence["pair"]
    (cell,) = evidence.study.where({"gap": 0.2, "delay": 10})
    (row_,) = found[(found["panel"] == "gap = 0.2") & (found["delay"] == 10) & (found["policy"] == "UCB")].to_dict(
        "records"
    )
    final = evidence.results[cell].final[0]
    assert row_["mean"] == pytest.approx(final.mean())
    assert row_["stderr"] == pytest.approx(final.std(ddof=1) / np.sqrt(8))


def test_a_logarithmic_axis(tmp_path: Path) -> None:
    row = '{kind = "against", study = "pair", x = "delay", split = "gap", log = ["x", "y"], policies = ["Uniform"]}'
    figure = drawn(played(tmp_path, row))
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in figure.axes} == {("log", "log")}
    assert labels(figure) == ["Uniform"]
    assert figure.axes[0].get_xticks().tolist() == [1, 10, 100]


def test_curves(tmp_path: Path) -> None:
    row = '{kind = "curves", study = "pair", split = "delay", where = {gap = 0.6}, policies = ["UCB"]}'
    outcome = played(tmp_path, row)
    figure = drawn(outcome)
    assert [axes.get_title() for axes in figure.axes] == ["delay = 1", "delay = 10", "delay = 100"]
    assert np.asarray(figure.axes[0].lines[0].get_xdata()).tolist() == [0, 25, 50, 75, 100]
    assert figure.axes[0].get_xlim() == (0, 100)
    found = frame(outcome)
    assert found["round"].tolist() == [25, 50, 75, 100] * 3
    assert set(found["policy"]) == {"UCB"}


def test_curves_show_one_cell_a_panel(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="shows one cell a panel, and the study 'pair' has 3 there"):
        drawn(played(tmp_path, '{kind = "curves", study = "pair", split = "delay"}'))


def test_dots(tmp_path: Path) -> None:
    reference = 'references = [{label = "limit", factor = 7.5}]'
    row = f'{{kind = "dots", study = "pair", over = "gap", where = {{delay = 10}}, title = "T", {reference}}}'
    outcome = played(tmp_path, row)
    figure = drawn(outcome)
    (axes,) = figure.axes
    assert axes.get_title() == "T"
    assert labels(figure) == ["limit", "gap 0.6", "gap 0.2", "gap 0.5"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Uniform", "UCB"]
    assert axes.get_xlim()[0] == 0.0
    found = frame(outcome)
    assert found[["policy", "gap"]].to_numpy().tolist() == [
        [label, gap] for label in ("UCB", "Uniform") for gap in (0.6, 0.2, 0.5)
    ]


def test_a_surface(tmp_path: Path) -> None:
    row = '{kind = "surface", study = "pair", x = "delay", y = "gap", policy = "UCB", than = "Uniform"}'
    outcome = played(tmp_path, row)
    (axes,) = drawn(outcome).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "10", "100"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["0.6", "0.2", "0.5"]
    evidence = outcome.evidence["pair"]
    (cell,) = evidence.study.where({"gap": 0.2, "delay": 100})
    ucb, uniform = evidence.results[cell].final.mean(axis=1)
    (text,) = [text for text in axes.texts if text.get_position() == (2, 1)]
    assert text.get_text() == f"{ucb / uniform:.2g}"
    assert len(axes.texts) == 9
    assert len(frame(outcome)) == 18


def test_bounds(tmp_path: Path) -> None:
    from belated.theory import bound_of

    outcome = played(tmp_path, '{kind = "bounds", study = "settings", over = "setting"}', HEAD + SETTINGS, page=True)
    (axes,) = drawn(outcome).axes
    assert axes.get_xscale() == "log"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["packet loss", "fixed delay"]
    found = frame(outcome)
    measured = found[found["what"] == "regret"]
    assert measured[["setting", "name"]].to_numpy().tolist() == [
        [setting, label] for setting in ("fixed delay", "packet loss") for label in ("SE", "PSE")
    ]
    assert {"earlier", "paper"} <= set(found["what"])
    for cell in outcome.evidence["settings"].study.cells:
        here = found[(found["what"] == "bound") & (found["setting"] == cell.coordinates["setting"])]
        for label, policy in zip(("SE", "PSE"), cell.policies, strict=True):
            bound = bound_of(policy, cell.problem, cell.horizon)  # type: ignore[arg-type]
            assert bound is not None
            shown = here[here["name"] == label]["value"].tolist()
            assert shown == ([bound.value] if bound.value <= 80.0 else [])  # T times the gap


@pytest.mark.parametrize(("page", "lines"), [(True, 1), (False, 2)])
def test_rows_of_one_panel_stand_side_by_side_on_a_page(tmp_path: Path, page: bool, lines: int) -> None:
    row = '{kind = "against", study = "pair", x = "delay", where = {gap = %s}}'
    figure = drawn(played(tmp_path, f"{row % 0.6}, {row % 0.2}", page=page))
    assert len(figure.axes) == 2
    assert len(figure.subfigs) == lines


def test_what_stands_below(tmp_path: Path) -> None:
    outcome = played(tmp_path, '{kind = "against", study = "pair", x = "delay", where = {gap = 0.6}}')
    picture, evidence = outcome.experiment.figures[0], outcome.evidence
    assert describe_runs(picture, evidence) == "Means of 8 runs; bands and bars are 4 standard errors to each side."
    (more,) = reproduce([experiment(tmp_path, name="two")], out=tmp_path / "made")
    assert describe_runs(more.experiment.figures[0], more.evidence).startswith("Means of 1,600 to 25,600 runs;")
