"""Batch and ByRound as plain data and in files: both ways, swept, drawn for each run, and with mistakes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Problem, Result, simulate
from belated.delays import Batch, ByReward, ByRound, DelayLaw, Fixed, Geometric, Mixture, Never, Pareto
from belated.errors import ConfigurationError
from belated.policies import UCB
from belated.rewards import Bernoulli, Beta
from belated.specs.laws import delay_spec, read_delay
from belated.specs.problems import problem_spec, read_problem
from belated.studies.config import read_simulation, read_sweep
from same import assert_same_bits

ARMS = [Bernoulli(0.4), Bernoulli(0.6)]
LAWS: list[DelayLaw] = [
    Batch(1000),
    Batch(1000, offset=300),
    ByRound({1: Fixed(10), 5001: Pareto(0.5)}),
    ByRound({1: Geometric(20.0), 5001: Batch(7, 2)}, drift=True),
    Mixture([(0.9, Batch(1000)), (0.1, Never())]),
    ByReward({0: Batch(5), 1: ByRound({1: Fixed(1), 3: Never()})}),
    ByRound({1: Mixture([(1, Batch(3)), (1, ByReward({0: Fixed(1), 1: Never()}))]), 9: ByRound({1: Fixed(2)})}),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_there_and_back(law: DelayLaw) -> None:
    spec = json.loads(json.dumps(delay_spec(law, ARMS[0])))
    assert read_delay(spec, "delays") == law
    problem = Problem(ARMS, law)
    assert read_problem(json.loads(json.dumps(problem_spec(problem)))) == problem


def test_as_files_have_it() -> None:
    data = tomllib.loads("""
        night = {law = "Batch", size = 1000}
        early = {law = "Batch", size = 1000, offset = 300}
        pairs = {law = "ByRound", laws = [[1, {law = "Fixed", rounds = 10}], [5001, {law = "Batch", size = 9}]]}
        [slower]
        law = "ByRound"
        laws = {1 = {law = "Fixed", rounds = 10}, 5_001 = {law = "Pareto", alpha = 0.5}}
        drift = true
    """)
    laws = {name: read_delay(spec, name) for name, spec in data.items()}
    assert laws == {
        "night": Batch(1000),
        "early": Batch(1000, 300),
        "slower": ByRound({1: Fixed(10), 5001: Pareto(0.5)}, drift=True),
        "pairs": ByRound({1: Fixed(10), 5001: Batch(9)}),
    }
    assert delay_spec(laws["slower"], ARMS[0]) == {
        "law": "ByRound",
        "laws": {"1": {"law": "Fixed", "rounds": 10}, "5001": {"law": "Pareto", "alpha": 0.5, "scale": 1.0}},
        "drift": True,
    }


def test_a_result_knows_how_it_was_made(tmp_path: Path) -> None:
    law = ByRound({1: Batch(30), 100: ByReward(lambda reward: Fixed(int(9 * reward)), cells=10)}, drift=True)
    result = simulate(Problem([Beta(2, 2), Beta(2, 1)], law), UCB(confidence=1.0), horizon=200, runs=3, seed=4)
    result.save(tmp_path / "result.npz")
    loaded = Result.load(tmp_path / "result.npz")
    assert_same_bits(loaded.rerun(), result)


FILE = """
horizon = 300
runs = 4

[problem]
rewards = {best = 0.6, gap = 0.2, arms = 3}
delays = DELAYS

[[policies]]
policy = "UCB"
confidence = 1.0
"""


def test_a_sweep_over_the_size_and_over_a_law_of_a_round(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    batches = FILE.replace("DELAYS", '{law = "Batch", size = 10}')
    file.write_text(f'{batches}\n[sweep]\nkey = "problem.delays.size"\nvalues = [1, 10, 100]\n')
    problems = [cell.problem for cell in read_sweep(file).study.cells]
    assert [problem.delays[0] for problem in problems if isinstance(problem, Problem)] == [
        Batch(1),
        Batch(10),
        Batch(100),
    ]
    changing = '{law = "ByRound", laws = {1 = {law = "Fixed", rounds = 3}, 101 = {law = "Fixed", rounds = 9}}}'
    file.write_text(
        f'{FILE.replace("DELAYS", changing)}\n[sweep]\nkey = "problem.delays.laws.101.rounds"\nvalues = [0, 50]\n'
    )
    problems = [cell.problem for cell in read_sweep(file).study.cells]
    laws = [problem.delays[0] for problem in problems if isinstance(problem, Problem)]
    assert laws == [ByRound({1: Fixed(3), 101: Fixed(rounds)}) for rounds in (0, 50)]


def test_families_draw_their_parameters() -> None:
    rewards = {"law": "Bernoulli", "mean": 0.5, "repeat": 3}
    batches: Any = read_problem(
        {"rewards": rewards, "delays": {"law": "Batch", "size": {"uniform": [50, 2000]}, "repeat": 3}}
    )
    slower: Any = read_problem(
        {
            "rewards": rewards,
            "delays": {
                "law": "ByRound",
                "laws": {"1": {"law": "Fixed", "rounds": 3}, "90": {"law": "Fixed", "rounds": {"uniform": [10, 20]}}},
                "drift": True,
            },
        }
    )
    drawn = [batches(np.random.default_rng(number)) for number in range(20)]
    sizes = [law.size for problem in drawn for law in problem.delays]
    assert len(set(sizes)) > 50
    assert 50 <= min(sizes) <= max(sizes) <= 2000
    ends = {slower(np.random.default_rng(number)).delays[0].laws[90].rounds for number in range(200)}
    assert ends == set(range(10, 21))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ('{law = "Batch"}', "problem.delays.size is missing; give a whole number"),
        ('{law = "Batch", size = 0}', "problem.delays.size is 0; give a whole number"),
        ('{law = "Batch", size = 5, offset = 5}', "offset is 5 and size is 5; give whole numbers 0 <= offset < size"),
        ('{law = "Batch", sise = 5}', "problem.delays.sise is not known. Did you mean 'size'?"),
        ('{law = "ByRound"}', "problem.delays.laws is missing; ByRound needs it, such as laws = {1 = {law"),
        ('{law = "ByRound", laws = {}}', "give {first round: law, ...}"),
        ('{law = "ByRound", laws = 3}', "problem.delays.laws is 3; give a list of [first round, law]"),
        ('{law = "ByRound", laws = {2 = {law = "Never"}}}', "the laws begin with round 2; give one for round 1 too"),
        ('{law = "ByRound", laws = {one = {law = "Never"}}}', "the key 'one' is not a round; give a whole number"),
        ('{law = "ByRound", laws = {0 = {law = "Never"}}}', "the key '0' is not a round; give a whole number from 1"),
        (
            '{law = "ByRound", laws = {1 = {law = "Never"}, 01 = {law = "Never"}}}',
            "problem.delays.laws has round 1 twice; give each round once",
        ),
        (
            '{law = "ByRound", laws = {1 = {law = "Fixed"}}}',
            "problem.delays.laws.1.rounds is missing; give a whole number",
        ),
        (
            '{law = "ByRound", laws = {1 = {law = "Never"}}, drift = "slow"}',
            "ByRound: drift is 'slow'; give True or False",
        ),
    ],
)
def test_mistakes(tmp_path: Path, law: str, message: str) -> None:
    file = tmp_path / "file.toml"
    file.write_text(FILE.replace("DELAYS", law))
    with pytest.raises(ConfigurationError) as caught:
        read_simulation(file)
    assert message in str(caught.value)
