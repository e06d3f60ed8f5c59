"""Processes that compile what is missing: the same results, nothing left behind, and no harm where they cannot work."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from belated import kernel
from belated.engine import compilers
from belated.engine.circle import play_rings
from belated.policies import UCB, PhasedElimination, SuccessiveElimination

SOURCE = str(Path(kernel.__file__).parents[1])
STOP = np.zeros(1, np.int64)
PLAY = """
import subprocess
from belated import Problem, simulate
from belated.delays import Fixed
from belated.engine.circle import play_rings
from belated.forms.calls import entry_for
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli

started = []

class Counted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        started.append(self)

subprocess.Popen = Counted
policies = [UCB(), SuccessiveElimination()]
problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))
result = simulate(problem, policies, horizon=500, runs=3, workers=2)
found = [getattr(entry_for(play_rings, type(policy)), "stats", None) for policy in policies]
hits = sum(sum(stats.cache_hits.values()) for stats in found if stats)
print(float(result.final.sum()), len(started), all(p.returncode is not None for p in started), hits)
"""


def play(cache: Path, **more: str) -> list[str]:
    """What the script prints, in a process of its own."""
    environment = {**os.environ, "BELATED_CACHE_DIR": str(cache), "PYTHONPATH": SOURCE, **more}
    done = subprocess.run([sys.executable, "-c", PLAY], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(not kernel.JIT, reason="nothing is compiled")
def test_code_that_is_missing_is_compiled_by_two_processes_and_found_by_the_next(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    cold = play(tmp_path / "cache")
    warm = play(tmp_path / "cache")
    (tmp_path / "file").write_text("no folder can be made here")
    alone = play(tmp_path / "file")
    assert cold[0] == warm[0] == alone[0]
    assert [cold[1], warm[1], alone[1]] == ["1", "0", "0"]  # processes started
    assert [cold[2], warm[2], alone[2]] == ["True"] * 3  # and ended
    assert warm[3] == "2"  # entries found on disk


@pytest.mark.skipif(not kernel.JIT, reason="nothing is compiled")
def test_what_such_a_process_compiles_is_what_is_played(tmp_path: Path) -> None:
    cache, claims = tmp_path / "cache", tmp_path / "claims"
    claims.mkdir()
    task = pickle.dumps((play_rings.__name__, [UCB(horizon=100), SuccessiveElimination(horizon=100)], str(claims)))
    environment = {**os.environ, "BELATED_CACHE_DIR": str(cache), "PYTHONPATH": SOURCE}
    subprocess.run([sys.executable, "-P", "-c", compilers.COMMAND], input=task, env=environment, check=True)
    assert sorted(path.name for path in claims.iterdir()) == ["SuccessiveElimination", "UCB"]
    assert play(cache)[1::2] == ["0", "2"]


def test_where_nothing_is_compiled_no_process_is_started(tmp_path: Path) -> None:
    assert play(tmp_path, NUMBA_DISABLE_JIT="1")[1] == "0"


def test_a_claim_is_for_one(tmp_path: Path) -> None:
    assert compilers.claimed(tmp_path, UCB())
    assert not compilers.claimed(tmp_path, UCB())
    assert compilers.claimed(tmp_path, SuccessiveElimination())
    assert not compilers.claimed(tmp_path / "gone", UCB())


def test_a_process_that_died_is_not_waited_for(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    assert compilers.claimed(tmp_path, PhasedElimination())
    compilers.Crew(tmp_path, [dead]).wait_for(play_rings, PhasedElimination(), STOP)
    compilers.Crew().wait_for(play_rings, PhasedElimination(), STOP)
