"""Processes that compile what is missing: the same results, nothing left behind, and no harm where they cannot work."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed
from belated.engine import compile_pool
from belated.engine.run import play_ring
from belated.kernel import jit
from belated.kernel.cache import is_on_disk
from belated.policies import (
    UCB,
    OptimisticUCB,
    PhasedElimination,
    Policy,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
)
from belated.rewards import Bernoulli

SOURCE = str(Path(jit.__file__).parents[1])
STOP = np.zeros(1, np.int64)
SOME: list[Policy] = [UCB(), SuccessiveElimination(), PhasedElimination()]
LONG = 300
"""Seconds after which something hangs."""
NEEDS_JIT = pytest.mark.skipif(not jit.JIT, reason="nothing is compiled")
START = """
import os, subprocess, sys, time
from pathlib import Path
import belated.simulation.simulate
from belated import Problem, simulate
from belated.delays import Fixed
from belated.engine import compile_pool
from belated.engine.run import play_ring
from belated.policies._base.entry_points import entry_for
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli

sys.modules["belated.simulation.simulate"].available_cores = lambda: 2
sys.path.append(Path("."))  # Python passes over what is no string
started, before = [], compile_pool.claimed

class Counted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "stderr": None})
        started.append(self)

def after_the_other(claims, policy):
    until = time.monotonic() + 100
    while not (claims / "SuccessiveElimination").exists() and time.monotonic() < until:
        time.sleep(0.01)
    meddle()
    return before(claims, policy)

subprocess.Popen = Counted
"""
KILL = """
def meddle():
    started[0].kill()

compile_pool.claimed = after_the_other
"""
HANG = """
def meddle():
    os.write(1, b"now\\n")  # at once: two threads come here
    time.sleep(1000)

compile_pool.claimed = after_the_other
"""
PLAY = """
policies = [UCB(), SuccessiveElimination()]
problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))
result = simulate(problem, policies, horizon=500, runs=3, workers=2)
found = [getattr(entry_for(play_ring, type(policy)), "stats", None) for policy in policies]
hits = sum(sum(stats.cache_hits.values()) for stats in found if stats)
print(float(result.final.sum()), len(started), all(p.returncode is not None for p in started), hits)
"""


def surroundings(cache: Path, **more: str) -> dict[str, str]:
    """The environment of a process with a cache of its own, in which others may compile."""
    return {**os.environ, "BELATED_CACHE_DIR": str(cache), "BELATED_COMPILERS": "1", "PYTHONPATH": SOURCE, **more}


def play(cache: Path, script: str = START + PLAY, **more: str) -> list[str]:
    """What a script prints, in a process of its own."""
    command, environment = [sys.executable, "-c", script], surroundings(cache, **more)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=LONG)
    assert done.stderr == ""
    return done.stdout.split()


def left_in(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*.lock")]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, for long."""
    with subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG})"]) as process:
        yield process
        process.kill()


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """An entry that has no code yet, neither here nor on disk, for all policies; the cache is ``tmp_path``."""
    missing = SimpleNamespace(overloads={}, stats=SimpleNamespace(cache_path=str(tmp_path)), __name__="play_ring")
    monkeypatch.setattr(compile_pool, "entry_for", lambda function, policy: missing)
    monkeypatch.setattr(compile_pool, "cache_root", lambda: tmp_path)
    monkeypatch.delenv("BELATED_COMPILERS", raising=False)
    return missing


@NEEDS_JIT
def test_code_that_is_missing_is_compiled_by_two_processes_and_found_by_the_next(tmp_path: Path) -> None:
    cold = play(tmp_path / "cache")
    warm = play(tmp_path / "cache")
    (tmp_path / "file").write_text("no folder can be made here")
    alone = play(tmp_path / "file")
    assert cold[0] == warm[0] == alone[0]
    assert [cold[1], warm[1], alone[1]] == ["1", "0", "0"]  # processes started
    assert [cold[2], warm[2], alone[2]] == ["True"] * 3  # and ended
    assert warm[3] == "2"  # entries found on disk
    assert left_in(tmp_path) == []


@NEEDS_JIT
def test_a_process_that_is_killed_at_work_changes_nothing(tmp_path: Path) -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))
    expected = simulate(problem, [UCB(), SuccessiveElimination()], horizon=500, runs=3)
    found = play(tmp_path / "cache", START + KILL + PLAY)
    assert found == [str(float(expected.final.sum())), "1", "True", "0"]  # all was compiled in the one that is left


@NEEDS_JIT
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    environment = surroundings(cache, TMPDIR=str(temporary))
    command, pipe = [sys.executable, "-c", START + HANG + PLAY], subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline().strip() == b"now"  # the other is compiling
            assert len(left_in(cache)) == len(list(temporary.glob("belated-*"))) == 1
            parent.terminate()
            parent.communicate(timeout=LONG)  # until the other, too, has closed the pipe for errors
        finally:
            parent.kill()
    assert not list(cache.rglob("*play_ring*.nbc"))  # it was not done
    assert not list(temporary.glob("belated-*"))


@NEEDS_JIT
def test_what_such_a_process_compiles_is_what_is_played(tmp_path: Path) -> None:
    cache, claims = tmp_path / "cache", tmp_path / "claims"
    claims.mkdir()
    task = pickle.dumps((play_ring.__name__, [UCB(horizon=100), SuccessiveElimination(horizon=100)], str(claims)))
    command, environment = [sys.executable, "-P", "-c", compile_pool.COMMAND], surroundings(cache)
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        process.stdin.write(len(task).to_bytes(compile_pool.LENGTH, "big") + task)
        process.stdin.flush()
        assert process.wait(LONG) == 0
    assert sorted(path.name for path in claims.iterdir()) == ["SuccessiveElimination", "UCB"]
    assert play(cache)[1::2] == ["0", "2"]


def test_where_nothing_is_compiled_no_process_is_started(tmp_path: Path) -> None:
    assert play(tmp_path, NUMBA_DISABLE_JIT="1")[1] == "0"


def test_a_claim_is_for_one(tmp_path: Path) -> None:
    assert compile_pool.claimed(tmp_path, UCB())
    assert not compile_pool.claimed(tmp_path, UCB())
    assert compile_pool.claimed(tmp_path, SuccessiveElimination())
    assert not compile_pool.claimed(tmp_path / "gone", UCB())


def test_a_process_is_waited_for_while_it_lives(entry: Any, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert compile_pool.claimed(tmp_path, PhasedElimination())
    crew = compile_pool.Crew(tmp_path, [sleeper])
    thread = threading.Thread(target=crew.wait_for, args=(play_ring, PhasedElimination(), STOP))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    sleeper.kill()
    thread.join(LONG)
    assert not thread.is_alive()
    compile_pool.Crew().wait_for(play_ring, PhasedElimination(), STOP)  # and where there is none, not at all


def test_who_is_stopped_does_not_wait(entry: Any, tmp_path: Path) -> None:
    at_work: Any = SimpleNamespace(poll=lambda: pytest.fail("it is waited for"))
    assert compile_pool.claimed(tmp_path, UCB())
    compile_pool.Crew(tmp_path, [at_work]).wait_for(play_ring, UCB(), np.ones(1, np.int64))


def test_code_is_on_disk_when_its_data_are(entry: Any, tmp_path: Path) -> None:
    (tmp_path / "run.play_ring-85.py311.nbi").touch()
    (tmp_path / "run.play_ring-85.py311.1.nbc.tmp.0123").touch()
    assert not is_on_disk(entry)
    (tmp_path / "run.play_ring-85.py311.1.nbc").touch()
    assert is_on_disk(entry)


@pytest.mark.parametrize("broken", [(subprocess, "Popen"), (tempfile, "TemporaryDirectory"), (pickle, "dumps")])
def test_what_goes_wrong_at_the_start_leaves_one_without_help(
    entry: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: tuple[Any, str]
) -> None:
    calls = []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        raise TypeError("of whatever kind")

    monkeypatch.setattr(*broken, failing)
    with compile_pool.crew_for(play_ring, [UCB(), SuccessiveElimination()], 2) as crew:
        crew.wait_for(play_ring, UCB(), STOP)
    assert len(calls) == 1
    assert not compile_pool._busy.locked()
    assert not compile_pool._at_work
    assert left_in(tmp_path) == []


def test_a_process_that_cannot_be_told_its_task_is_not_waited_for(entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = []

    class Deaf:
        """Its input was closed at once; until it is killed it lives."""

        def write(self, data: bytes) -> None:
            raise BrokenPipeError

        def close(self) -> None:
            raise BrokenPipeError

        def kill(self) -> None:
            killed.append(self)

        def poll(self) -> int | None:
            return -9 if killed else None

        def wait(self) -> None:
            pass

        @property
        def stdin(self) -> Deaf:
            return self

    monkeypatch.setattr(compile_pool, "_started", Deaf)
    with compile_pool.crew_for(play_ring, SOME, 8) as crew:
        assert len(killed) == 1
        assert compile_pool.claimed(crew._claims, UCB())  # type: ignore[arg-type]
        crew.wait_for(play_ring, UCB(), STOP)


def hired(
    monkeypatch: pytest.MonkeyPatch, workers: int = 8, policies: Sequence[Policy] = SOME, *, busy: bool = False
) -> int:
    """How many processes would be started; other threads know of them from the first on."""
    known = []
    monkeypatch.setattr(
        compile_pool.Crew, "hire", lambda crew, task: known.append(compile_pool._at_work[play_ring] is crew)
    )
    with compile_pool.crew_for(play_ring, policies, workers, busy=busy):
        assert all(known)
    return len(known)


def test_as_many_processes_are_started_as_have_work_and_are_allowed(
    entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This process is one of the workers; and four others are the most."""
    assert [hired(monkeypatch, workers) for workers in (1, 2, 3, 8)] == [0, 1, 2, 2]
    many = [*SOME, ThompsonSampling(), OptimisticUCB(), PrefixUCB()]
    assert [hired(monkeypatch, workers, many) for workers in (1, 4, 8)] == [0, 3, 4]
    assert [hired(monkeypatch, 2, SOME[:1], busy=busy) for busy in (False, True)] == [0, 1]


def test_who_compiles_the_same_at_the_same_time_waits_for_the_same_processes(
    entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_pool.Crew, "hire", lambda crew, task: None)
    with compile_pool.crew_for(play_ring, SOME, 8) as first:
        with compile_pool.crew_for(play_ring, SOME, 8) as second:
            assert second is first
        with compile_pool.crew_for(simulate, SOME, 8) as other:
            assert other is not first
        assert compile_pool._at_work == {play_ring: first}
    assert not compile_pool._at_work


def test_processes_can_be_turned_off(entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hired(monkeypatch) == 2
    monkeypatch.setenv("BELATED_COMPILERS", "0")
    assert hired(monkeypatch) == 0


def test_one_program_at_a_time_has_processes(
    entry: Any, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lock = tmp_path / "compilers.lock"
    with compile_pool.only_one(tmp_path) as first:
        assert first
        assert lock.read_text() == str(os.getpid())
    assert not lock.exists()
    with compile_pool.only_one(tmp_path) as first:
        lock.write_text(str(sleeper.pid))  # by one that took ours for a lock of a process that was killed
    assert lock.exists()
    assert hired(monkeypatch) == 0
    assert lock.exists()
    os.utime(lock, (0, 0))  # long ago: another process has its number by now
    assert hired(monkeypatch) == 2
    assert not lock.exists()
    lock.write_text(str(os.getpid()))  # left by an earlier process of this number
    assert hired(monkeypatch) == 2
    assert not lock.exists()
    lock.write_text("")  # just being written
    assert hired(monkeypatch) == 0
    assert lock.exists()


@pytest.mark.skipif(os.name != "posix", reason="whether a process lives cannot be asked")
def test_the_lock_of_a_program_that_was_killed_is_not_heeded(
    entry: Any, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "compilers.lock").write_text(str(sleeper.pid))
    sleeper.kill()
    sleeper.wait()
    assert hired(monkeypatch) == 2
