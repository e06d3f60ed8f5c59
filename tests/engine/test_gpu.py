"""The GPU's kernel in numba's simulator gives the bits of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Problem
from belated.delays import Fixed
from belated.engine.encode import encode_problems
from belated.engine.gpu.layout import THREADS, plan_launch
from belated.engine.runner import Chunk, Plan
from belated.policies import UCB
from belated.rewards import Bernoulli
from belated.simulation import result_builder
from support.simulated_gpu import CASES, FIELDS, SLOW, play

TESTS = Path(__file__).resolve().parents[1]
SIMULATED = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(TESTS), *(entry for entry in sys.path if entry)])
    environment = {**os.environ, "PYTHONPATH": path, **more}
    return subprocess.run(
        [sys.executable, "-W", "ignore:overflow:RuntimeWarning", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The results of the cases that this run asks for."""
    asked = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    file = tmp_path_factory.mktemp("simulated") / "results.npz"
    done = run(str(TESTS / "support" / "simulated_gpu.py"), str(file), *filter(asked.__contains__, CASES), **SIMULATED)
    assert done.returncode == 0, done.stderr
    with np.load(file) as results:
        return dict(results)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in CASES])
def test_the_kernel_gives_the_bits_of_the_cpu(
    name: str, simulated: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in CASES[name][2].items():
        if hasattr(result_builder, key):  # what the CPU has too
            monkeypatch.setattr(result_builder, key, value)
    expected = play(name, "cpu")
    for field in FIELDS:
        for number, label in enumerate(expected.labels):
            assert np.array_equal(getattr(expected, field)[number], simulated[f"{name}/{field}"][number]), (
                label,
                field,
            )


def test_the_sums_of_pulls_take_little_memory() -> None:
    """As many tables as there is room for, one in any case."""

    def tables(points: int, arms: int) -> tuple[int, int]:
        problem = encode_problems([Problem([Bernoulli(0.5)] * arms, Fixed(3))], 2**22)
        plan = Plan(2**22, np.arange(1, points + 1), 0, np.zeros(1, np.int64))
        launch = plan_launch(UCB(), Chunk(0, 1, problem), plan)
        sums = launch.inputs["pull_sums"]
        assert sums.shape == (launch.layout.pull_tables, points, arms)
        return launch.layout.pull_tables, sums.nbytes

    assert tables(100, 20) == (THREADS, 64 * 8 * 100 * 20)
    assert tables(1000, 100) == (20, 20 * 8 * 1000 * 100)
    assert tables(2**20, 4) == (1, 8 * 2**22)


def test_a_policy_that_chooses_no_arm_is_refused() -> None:
    code = """
import numpy as np
from belated import Problem, simulate
from belated.delays import Fixed, Geometric
from belated.errors import InvalidParameter
from belated.policies._base.policy import policy
from belated.rewards import Bernoulli
from belated.policies import UCB

@policy
class Astray(UCB):
    label = "Astray"
    @staticmethod
    def choose(policy, state, now):
        return np.int64(7)

for delay in (Fixed(1), Geometric(2.0)):
    try:
        simulate(Problem([Bernoulli(0.5)] * 2, delay), Astray(), horizon=5, runs=3, device="cuda", check=False)
    except InvalidParameter as error:
        print(error)
"""
    done = run("-c", code, **SIMULATED)
    assert done.stdout.count("an arm that does not exist") == 2, done.stderr


def test_without_a_device_it_says_what_to_install() -> None:
    code = "from belated.simulation.simulate import check_device; check_device('cuda')"
    done = run("-c", code, CUDA_VISIBLE_DEVICES="", NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode != 0
    assert "pip install 'belated[cuda]'" in done.stderr
