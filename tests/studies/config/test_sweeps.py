"""Files with a section [sweep], read and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated import Problem
from belated.delays import Fixed, Geometric
from belated.errors import ConfigurationError
from belated.policies import UCB, SuccessiveElimination
from belated.studies.config import read_simulation, read_sweep
from belated.studies.study import Axis
from parts import TEXT, TWO

# ---- sweeps ----


def sweep_file(file: Path, section: str, text: str = TEXT) -> Path:
    file.write_text(f"{text}\n[sweep]\n{section}\n")
    return file


def test_a_sweep_has_an_experiment_for_each_value(file: Path) -> None:
    plan = read_sweep(sweep_file(file, 'key = "problem.delays.rounds"\nvalues = [0, 7]\nname = "delay"'))
    assert (plan.keys, plan.study.axes) == (("problem.delays.rounds",), (Axis("delay", (0, 7)),))
    assert [cell.coordinates for cell in plan.study.cells] == [{"delay": 0}, {"delay": 7}]
    assert [cell.problem for cell in plan.study.cells] == [Problem(TWO, Fixed(0)), Problem(TWO, Fixed(7))]
    assert {cell.horizon for cell in plan.study.cells} == {100}
    assert (plan.study.runs, plan.study.max_runs, plan.study.checkpoints, plan.seed) == (3, 3, 100, 0)
    assert plan.out == Path("out/file")


def test_a_parameter_that_the_file_leaves_out_can_be_swept(file: Path) -> None:
    plan = read_sweep(sweep_file(file, 'key = "policies[0].confidence"\nvalues = [0.5, 2]'))
    assert [cell.policies for cell in plan.study.cells] == [(UCB(confidence=0.5),), (UCB(confidence=2.0),)]
    assert plan.study.labels == ("UCB",)


def test_a_horizon_that_the_file_leaves_out_can_be_swept(file: Path) -> None:
    text = TEXT.replace("horizon = 100\n", "")
    plan = read_sweep(sweep_file(file, 'key = "horizon"\nvalues = [50, 60]', text))
    assert [cell.horizon for cell in plan.study.cells] == [50, 60]


def test_names_can_be_swept(file: Path) -> None:
    text = TEXT.replace('"Fixed", rounds = 5', '"Poisson", mean = 5')
    plan = read_sweep(sweep_file(file, 'key = "problem.delays.law"\nvalues = ["Geometric"]', text))
    assert plan.study.cells[0].problem == Problem(TWO, Geometric(5.0))
    plan = read_sweep(sweep_file(file, 'key = "policies[0].policy"\nvalues = ["SuccessiveElimination", "UCB"]'))
    assert [cell.policies for cell in plan.study.cells] == [(SuccessiveElimination(),), (UCB(),)]
    assert plan.study.labels == ("SE / UCB",)


def test_a_simulation_passes_over_the_section_but_reads_it(file: Path) -> None:
    found = read_simulation(sweep_file(file, 'key = "horizon"\nvalues = [5]'))
    assert found.sweep is not None
    assert (found.horizon, [section.key for section in found.sweep]) == (100, ["horizon"])
    with pytest.raises(ConfigurationError, match=r"sweep\.vlues is not known"):
        read_simulation(sweep_file(file, 'key = "horizon"\nvlues = [5]'))


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("values = [1]", "sweep.key is missing"),
        ('key = "horizon"', "sweep.values is missing"),
        ("key = 3\nvalues = [1]", "sweep.key is 3; give text in quotes."),
        ('key = "horizon"\nvalues = [1]\nname = 3', "sweep.name is 3; give text in quotes."),
        ('key = "horizon"\nvalues = []', "sweep.values is []; give a list such as [0, 100, 200], or {from = 0"),
        ('key = "horizon"\nvalues = 3', "sweep.values is 3; give a list"),
        ('key = "horizon"\nvalues = [5, true]', "sweep.values[1] is true; give a number, or text in quotes."),
        ('key = "horizon"\nvalues = [5, 5.0]', "sweep.values has 5.0 twice; give each value once."),
        ('key = "horizon"\nvalues = {from = 1, to = 3}', "sweep.values.steps is missing"),
        (
            'key = "horizon"\nvalues = {form = 1, to = 3, steps = 2}',
            "sweep.values.form is not known. Did you mean 'from'",
        ),
        ('key = "horizon"\nvalues = {from = "a", to = 3, steps = 2}', "sweep.values.from is 'a'; give a number."),
        (
            'key = "horizon"\nvalues = {from = 1, to = 3, steps = 1}',
            "sweep.values.steps is 1; give a whole number from 2",
        ),
        (
            'key = "horizon"\nvalues = {from = 1, to = 3, steps = 9}',
            "there are not 9 different whole numbers with this spacing",
        ),
        ('key = "horizon"\nvalues = {from = 0, to = 3, steps = 2, scale = "log"}', "give numbers > 0."),
        ('key = "horizon"\nvalues = {from = 1, to = 3, steps = 2, scale = "lg"}', "sweep.values.scale is 'lg'"),
        ('key = "horizon"\nvalues = [5, 0]', "with horizon = 0: horizon is 0; give a whole number"),
        ('key = "seed"\nvalues = [5]', "sweep.key is 'seed'. Give horizon, or a key below problem or policies"),
        ('key = "problms.delays"\nvalues = [5]', "Did you mean 'problem'?"),
        ('key = "problem..x"\nvalues = [5]', "sweep.key is 'problem..x'; give keys joined by dots"),
        ('key = "policies[3].confidence"\nvalues = [5]', "policies is a list; give policies[0] to policies[0], or"),
        ('key = "policies.confidence"\nvalues = [5]', "policies is a list; give policies[0] to policies[0], or"),
        ('key = "problem.delays.rounds.x"\nvalues = [5]', "problem.delays.rounds is 5, which has no keys."),
    ],
)
def test_a_mistake_in_a_sweep_is_named(file: Path, section: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_sweep(sweep_file(file, section))
    assert str(caught.value).startswith(f"{file}: ")
    assert said in str(caught.value)
