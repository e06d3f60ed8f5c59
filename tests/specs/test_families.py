"""Families of problems in a file."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from belated import Problem
from belated.errors import ConfigurationError
from belated.kernel.rng import family_generator
from belated.specs.problems import DeclaredFamily, problem_spec, read_problem
from belated.studies.config import read_simulation
from parts import TEXT, D, R


def test_a_family_draws_each_number_and_each_copy(file: Path) -> None:
    file.write_text(
        TEXT.replace(R, 'rewards = {law = "Bernoulli", mean = {uniform = [0.25, 0.75]}, repeat = 20}').replace(
            D, 'delays = [{law = "Fixed", rounds = {uniform = [3, 5]}, repeat = 19}, {law = "Fixed", rounds = 7}]'
        )
    )
    family = read_simulation(file).problem
    assert isinstance(family, DeclaredFamily)
    drawn = [family(family_generator(0, run)) for run in range(200)]
    means = np.array([problem.means for problem in drawn])
    assert len(np.unique(means)) == means.size
    assert means.min() >= 0.25
    assert means.max() <= 0.75
    assert abs(means.mean() - 0.5) < 4 * 0.5 / np.sqrt(12 * means.size)
    delays = np.array([[law.rounds for law in problem.delays] for problem in drawn])  # type: ignore[attr-defined]
    assert set(delays[:, :19].ravel()) == {3, 4, 5}
    assert set(delays[:, 19]) == {7}
    again = read_problem(problem_spec(family))
    assert not isinstance(again, Problem)
    assert [again(family_generator(0, run)) for run in range(5)] == drawn[:5]


def test_a_family_of_gaps_has_its_best_arm_first(file: Path) -> None:
    file.write_text(TEXT.replace(R, "rewards = {best = 0.75, gap = {uniform = [0.15, 0.25]}, arms = 10}"))
    family = read_simulation(file).problem
    assert not isinstance(family, Problem)
    gaps = np.array([family(family_generator(1, run)).gaps for run in range(50)])
    assert np.all(gaps[:, 0] == 0.0)
    assert gaps[:, 1:].min() >= 0.15 - 1e-12
    assert gaps[:, 1:].max() <= 0.25 + 1e-12
    assert len(np.unique(gaps[:, 1:])) == 450


def test_random_numbers_inside_nested_laws(file: Path) -> None:
    file.write_text(
        TEXT.replace(
            D,
            'delays = {law = "Mixture", parts = [[{uniform = [0.1, 0.9]}, {law = "Never"}], [1.0, {law = "Poisson", '
            "mean = 1}]]}",
        )
    )
    family = read_simulation(file).problem
    assert not isinstance(family, Problem)
    assert len({family(family_generator(0, run)).delays[0].never for run in range(20)}) == 20


OWN = """
import numpy as np
from belated import Problem
from belated.delays import Fixed
from belated.rewards import Bernoulli

def draw(rng: np.random.Generator) -> Problem:
    return Problem([Bernoulli(rng.uniform()), Bernoulli(0.5)], Fixed(3))

def wrong(rng):
    return 3

def broken(rng):
    return 1 / 0

number = 3
"""


@pytest.mark.parametrize("copies", ["", ", repeat = 2"])
def test_a_distribution_of_scipy_with_drawn_parameters(file: Path, copies: str) -> None:
    law = '{law = "FromScipy", distribution = "expon", scale = {uniform = [10.0, 20.0]}' + copies + "}"
    file.write_text(TEXT.replace(R, "rewards = {best = 0.75, gap = 0.1, arms = 2}").replace(D, f"delays = {law}"))
    family = read_simulation(file).problem
    assert not isinstance(family, Problem)
    scales = {law.frozen.kwds["scale"] for run in range(9) for law in family(family_generator(0, run)).delays}  # type: ignore[attr-defined]
    assert len(scales) == (18 if copies else 9)
    assert all(10.0 <= scale <= 20.0 for scale in scales)


def test_a_family_in_a_module_beside_the_file(file: Path) -> None:
    (file.parent / "beside_the_file.py").write_text(OWN)
    file.write_text(TEXT.replace(f"{R}\n{D}", 'family = "beside_the_file:draw"'))
    family = read_simulation(file).problem
    assert not isinstance(family, Problem)
    assert family(family_generator(0, 0)).arms == 2
    assert problem_spec(family) == {"family": "beside_the_file:draw"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:draw", "cannot be imported: No module named 'nowhere'. Give 'package.module:function'."),
        ("own_family:drow", "cannot be imported: module 'own_family' has no attribute 'drow'"),
        ("own_family:number", "which is not a function"),
        ("own_family:wrong", "which returned 3; it must return a Problem"),
        ("own_family:broken", "which failed when it was called: ZeroDivisionError"),
        ("own_broken:draw", "cannot be imported: SyntaxError"),
    ],
)
def test_mistakes_in_a_family_of_ones_own(file: Path, name: str, said: str) -> None:
    (file.parent / "own_family.py").write_text(OWN)
    (file.parent / "own_broken.py").write_text("def (")
    file.write_text(TEXT.replace(f"{R}\n{D}", f'family = "{name}"'))
    with mock.patch.dict("sys.modules"), pytest.raises(ConfigurationError) as caught:
        read_simulation(file)
    assert f"problem.family is '{name}'" in str(caught.value)
    assert said in str(caught.value)
