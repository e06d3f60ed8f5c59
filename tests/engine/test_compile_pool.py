"""Processes that compile what is missing: the same results, nothing left behind, no harm where they cannot work."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed
from belated.engine import compile_pool
from belated.engine.compile_pool import Task, compile_missing
from belated.engine.run import play_ring, play_wheel
from belated.engine.runner import LOOPS
from belated.errors import BelatedWarning
from belated.kernel import jit
from belated.kernel.cache import is_cached, is_on_disk
from belated.kernel.code_key import code_key
from belated.policies import (
    UCB,
    OptimisticUCB,
    PhasedElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
)
from belated.policies._base.policy import Policy
from belated.rewards import Bernoulli

SOURCE = str(Path(jit.__file__).parents[2])
POLICIES: list[Policy] = [UCB(), SuccessiveElimination(), PhasedElimination(), OptimisticUCB()]
PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))
TIMEOUT = 300
"""Seconds after which something hangs."""
NEEDS_JIT = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")
START = """
import os, subprocess, sys, time
from pathlib import Path
import belated.simulation.simulate
from belated import Problem, simulate
from belated.delays import Fixed
from belated.engine import compile_pool, runner
from belated.engine.run import play_ring
from belated.policies import UCB, OptimisticUCB, PhasedElimination, SuccessiveElimination
from belated.policies._base.entry_points import entry_for
from belated.rewards import Bernoulli

sys.modules["belated.simulation.simulate"].available_cores = lambda: 2
sys.path.append(Path("."))  # Python ignores what is not a string
started = []

class Counted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "stderr": None})
        started.append(self)

subprocess.Popen = Counted
"""
MEDDLE = """
compile_loop = runner.compile_loop

def meddling(*arguments):
    meddle()
    compile_loop(*arguments)

runner.compile_loop = meddling
"""
KILL = "meddle = lambda: started[0].kill()\n"
HANG = """
def meddle():
    os.write(1, b"now\\n")
    time.sleep(1000)
"""
PLAY = """
policies = [UCB(), SuccessiveElimination(), PhasedElimination(), OptimisticUCB()]
problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))
result = simulate(problem, policies, horizon=500, runs=3, workers=2)
stats = [getattr(entry_for(play_ring, type(policy)), "stats", None) for policy in policies]
hits = sum(sum(each.cache_hits.values()) for each in stats if each)
print(float(result.final.sum()), len(started), all(p.returncode is not None for p in started), hits)
"""


def surroundings(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process with its own cache, in which others may compile."""
    return {**os.environ, "BELATED_CACHE_DIR": str(folder), "BELATED_COMPILERS": "1", "PYTHONPATH": SOURCE, **more}


def play(folder: Path, script: str = START + PLAY, **more: str) -> list[str]:
    """What a script prints, in its own process."""
    command, environment = [sys.executable, "-c", script], surroundings(folder, **more)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


def expected() -> str:
    return str(float(simulate(PROBLEM, POLICIES, horizon=500, runs=3).final.sum()))


@NEEDS_JIT
@pytest.mark.slow
def test_missing_code_is_compiled_by_two_processes_and_found_by_the_next(tmp_path: Path) -> None:
    cold = play(tmp_path / "cache")
    warm = play(tmp_path / "cache")
    (tmp_path / "file").write_text("no folder can be made here")
    alone = play(tmp_path / "file", PYTHONWARNINGS="ignore")  # it warns
    assert cold[0] == warm[0] == alone[0] == expected()
    assert [cold[1], warm[1], alone[1]] == ["1", "0", "0"]  # processes started
    assert [cold[2], warm[2], alone[2]] == ["True"] * 3  # and ended
    assert [warm[3], alone[3]] == ["4", "0"]  # entries found on disk


@NEEDS_JIT
@pytest.mark.slow
def test_a_process_that_is_killed_at_work_changes_nothing(tmp_path: Path) -> None:
    found = play(tmp_path / "cache", START + MEDDLE + KILL + PLAY)
    assert found == [expected(), "1", "True", "0"]  # all was compiled in the one that is left


@NEEDS_JIT
@pytest.mark.slow
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    command, pipe = [sys.executable, "-c", START + MEDDLE + HANG + PLAY], subprocess.PIPE
    with subprocess.Popen(command, env=surroundings(tmp_path), stdout=pipe, stderr=pipe) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline().strip() == b"now"  # the other is compiling
            parent.terminate()
            parent.communicate(timeout=TIMEOUT)  # until the other, too, has closed the pipe for errors
        finally:
            parent.kill()


@NEEDS_JIT
@pytest.mark.slow
def test_what_such_a_process_compiles_is_what_is_played(tmp_path: Path) -> None:
    queue = compile_pool._queue(len(POLICIES))
    tasks = pickle.dumps(([(play_ring.__name__, policy) for policy in POLICIES], queue))
    command = [sys.executable, "-P", "-c", compile_pool.COMMAND]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[queue], env=surroundings(tmp_path)) as process:
        assert process.stdin is not None
        process.stdin.write(tasks)
        process.stdin.flush()
        assert process.wait(TIMEOUT) == 0
    os.close(queue)
    assert play(tmp_path)[1::2] == ["0", "4"]


def test_where_nothing_is_compiled_no_process_is_started(tmp_path: Path) -> None:
    assert play(tmp_path, NUMBA_DISABLE_JIT="1")[1] == "0"


# ---- without compiling ----


class Compiler:
    """Entries that have no code yet; processes that are counted instead of started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.here: list[Task] = []
        self.started: list[list[Task]] = []
        self.takes: list[int] = []
        """How many tasks each process takes before this one goes on."""
        self.ended = 0
        self.alive = False
        self.stop = np.zeros(1, np.int64)
        monkeypatch.setattr(compile_pool, "entry_for", self.entry)
        monkeypatch.setattr(compile_pool, "_start", self.start)
        monkeypatch.setattr(compile_pool, "_end", self.end)
        monkeypatch.delenv("BELATED_COMPILERS", raising=False)

    def entry(self, loop: Callable[..., Any], policy: type[Policy]) -> Any:
        return SimpleNamespace(overloads={}, stats=SimpleNamespace(cache_path=str(self.folder / policy.__name__)))

    def start(self, tasks: list[Task], queue: int) -> Any:
        number = self.takes[len(self.started)] if self.takes else 0
        self.started.append(list(islice(compile_pool.take(tasks, queue), number)))
        return SimpleNamespace(poll=lambda: None if self.alive else 0)

    def end(self, process: Any) -> None:
        self.ended += 1

    def compile(self, policies: list[Policy], workers: int = 8, loop: Any = play_ring) -> int:
        """How many processes are started."""
        self.here, self.started, self.ended = [], [], 0
        compile_missing([(loop, policy) for policy in policies], self.here.append, workers, self.stop)
        assert self.ended == len(self.started)
        return len(self.started)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compiler:
    return Compiler(monkeypatch, tmp_path)


def test_every_task_is_taken_once(compiler: Compiler) -> None:
    six: list[Policy] = [*POLICIES, ThompsonSampling(), PrefixUCB()]
    compiler.takes = [1, 2]
    assert compiler.compile([*six, UCB(confidence=2.0)], 3) == 2  # a policy is compiled once
    taken = [*compiler.started, compiler.here]
    assert [len(tasks) for tasks in taken] == [1, 2, 3]
    assert [policy for tasks in taken for _, policy in tasks] == six
    compiler.takes = []
    assert [compiler.compile(six, workers) for workers in (1, 2, 3, 8)] == [0, 1, 2, 2]
    assert [compiler.compile(six[:number]) for number in (1, 3, 4)] == [0, 0, 1]  # few are not worth a process


def test_at_most_so_many_processes_are_started(compiler: Compiler) -> None:
    tasks = [(loop, policy) for loop in (play_ring, play_wheel) for policy in [*POLICIES, ThompsonSampling()]]
    compile_missing([*tasks, *tasks], compiler.here.append, 100, compiler.stop)
    assert len(compiler.started) == compile_pool.MAX_PROCESSES == 4


def test_code_that_is_there_or_cannot_be_kept_is_not_compiled_elsewhere(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for policy in POLICIES[:2]:
        (compiler.folder / type(policy).__name__).mkdir()
        (compiler.folder / type(policy).__name__ / "run.play_ring-0.py311.1.nbc").touch()
    assert compiler.compile(POLICIES) == 0
    monkeypatch.setattr(compile_pool, "is_on_disk", lambda entry: False)
    assert compiler.compile(POLICIES) == 1
    monkeypatch.setattr(compile_pool, "is_cached", lambda entry: False)
    assert compiler.compile(POLICIES) == 0


def test_code_is_on_disk_when_its_data_are(compiler: Compiler, tmp_path: Path) -> None:
    entry = compiler.entry(play_ring, UCB)
    folder = tmp_path / "UCB"
    folder.mkdir()
    (folder / "run.play_ring-0.py311.nbi").touch()
    (folder / "run.play_ring-0.py311.1.nbc.tmp.0123").touch()
    assert is_cached(entry)
    assert not is_on_disk(entry)
    (folder / "run.play_ring-0.py311.1.nbc").touch()
    assert is_on_disk(entry)
    assert not is_cached(lambda: None)


def test_processes_are_waited_for_while_they_live(compiler: Compiler) -> None:
    compiler.alive = True
    thread = threading.Thread(target=compiler.compile, args=(POLICIES, 2))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    compiler.alive = False
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    assert compiler.ended == 1


def test_a_stopped_simulation_neither_compiles_nor_waits(compiler: Compiler) -> None:
    compiler.alive = True
    compiler.stop[0] = 1
    assert compiler.compile(POLICIES, 2) == 1
    assert compiler.here == []


def test_what_goes_wrong_at_the_start_leaves_one_without_help(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tasks: list[Task], queue: int) -> Any:
        raise TypeError("of whatever kind")

    monkeypatch.setattr(compile_pool, "_start", fail)
    assert compiler.compile(POLICIES, 2) == 0
    assert len(compiler.here) == 4


def test_a_process_that_cannot_read_its_tasks_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Deaf:
        """Its input was closed at once."""

        def write(self, data: bytes) -> None:
            raise BrokenPipeError

        def close(self) -> None:
            calls.append("close")
            raise BrokenPipeError

        def kill(self) -> None:
            calls.append("kill")

        def wait(self) -> None:
            calls.append("wait")

        @property
        def stdin(self) -> Deaf:
            return self

    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: Deaf())
    with pytest.raises(BrokenPipeError):
        compile_pool._start([(play_ring, UCB())], 0)
    assert calls == ["kill", "wait", "close"]


def test_processes_can_be_turned_off(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiler.compile(POLICIES) == 1
    monkeypatch.setenv("BELATED_COMPILERS", "0")
    assert compiler.compile(POLICIES) == 0
    monkeypatch.delenv("BELATED_COMPILERS")
    monkeypatch.setattr(sys, "executable", "/usr/bin/some-program")  # which embeds Python
    assert compiler.compile(POLICIES) == 0


@pytest.mark.parametrize("setting", ["abc", "-1", "2"])
def test_a_setting_without_a_meaning_is_a_warning(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    compile_pool._is_on.cache_clear()
    monkeypatch.setenv("BELATED_COMPILERS", setting)
    with pytest.warns(BelatedWarning, match=rf"BELATED_COMPILERS is '{setting}'.*set it to 0 .*or set it to 1"):
        compile_pool._can_start()
    compile_pool._can_start()  # once: a second warning would be an error


def test_the_code_of_every_loop_can_be_kept_on_disk() -> None:
    """Nothing that a loop reaches is without a key, such as a lock."""
    for loop in LOOPS:
        for cls in (UCB, SuccessiveElimination):
            assert code_key(loop, owner=cls) is not None, loop.__name__
