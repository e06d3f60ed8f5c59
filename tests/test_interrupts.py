"""Ctrl-C while threads are at work comes when they are done, and not in the middle of a lock."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from types import FrameType
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed
from belated.errors import Interrupted
from belated.interrupts import DelayedInterrupt
from belated.policies import UCB
from belated.rewards import Bernoulli

SIMULATE: Any = sys.modules["belated.simulation.simulate"]
PROBLEM = Problem([Bernoulli(0.6), Bernoulli(0.5)], Fixed(3))


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def install() -> Iterator[Callable[[Any], None]]:
    """Sets a handler of SIGINT for the length of a test."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_the_block_is_finished_first() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), DelayedInterrupt(lambda: done.append("told")) as interrupt:  # noqa: PT012
        assert not interrupt.pending
        ctrl_c()
        assert interrupt.pending
        done.append("finished")
    assert done == ["told", "finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()


def test_without_an_interrupt_nothing_is_raised() -> None:
    with DelayedInterrupt() as interrupt:
        pass
    assert not interrupt.pending
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_wins_over_the_error_it_caused() -> None:
    with pytest.raises(KeyboardInterrupt), DelayedInterrupt():  # noqa: PT012
        ctrl_c()
        raise ValueError("because it was asked to stop")


def test_a_handler_that_raises_nothing_changes_nothing(install: Callable[[Any], None]) -> None:
    calls: list[int] = []

    def count(number: int, frame: FrameType | None) -> None:
        calls.append(number)

    install(count)
    result = simulate(PROBLEM, [UCB()], horizon=100, runs=4, progress=lambda _: ctrl_c())
    assert result.runs == 4
    assert set(calls) == {signal.SIGINT}
    assert signal.getsignal(signal.SIGINT) is count


def test_an_error_of_the_users_handler_is_raised(install: Callable[[Any], None]) -> None:
    def fail(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("enough")

    install(fail)
    with pytest.raises(TimeoutError, match="enough"):
        simulate(PROBLEM, [UCB()], horizon=100, runs=4, progress=lambda _: ctrl_c())


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_process_that_ignores_ctrl_c_goes_on_ignoring_it(install: Callable[[Any], None], handler: Any) -> None:
    install(handler)
    with DelayedInterrupt():
        assert signal.getsignal(signal.SIGINT) == handler
    assert signal.getsignal(signal.SIGINT) == handler


def test_what_the_handler_installs_stays(install: Callable[[Any], None]) -> None:
    def once(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    install(once)
    with pytest.raises(KeyboardInterrupt), DelayedInterrupt():  # noqa: PT012
        ctrl_c()
        ctrl_c()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_the_third_one_leaves_a_block_that_does_not_end() -> None:
    calls = []
    with pytest.raises(KeyboardInterrupt), DelayedInterrupt(lambda: calls.append(1)):  # noqa: PT012
        while True:
            ctrl_c()
    assert len(calls) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_inside_another_is_for_the_outer_one() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), DelayedInterrupt() as outer:  # noqa: PT012
        with DelayedInterrupt() as inner:
            ctrl_c()
            assert (inner.pending, outer.pending) == (False, True)
        done.append("between")
    assert done == ["between"]


def test_other_threads_are_left_alone() -> None:
    seen = []

    def work() -> None:
        with DelayedInterrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_a_simulation_is_never_left_inside_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C just after a lock of a future was taken, which its thread needs in order to end."""
    released = []

    def interrupted_wait(pending: Any, **given: Any) -> Any:
        if not released:
            lock = next(iter(pending))._condition
            lock.acquire()
            try:
                ctrl_c()
                released.append(True)
            finally:
                lock.release()
        return wait(pending, **given)

    monkeypatch.setattr(SIMULATE, "wait", interrupted_wait)
    with pytest.raises(Interrupted):
        simulate(PROBLEM, [UCB()], horizon=100, runs=4, progress=False)
    assert released


def test_the_finished_runs_of_an_interrupted_simulation_are_kept() -> None:
    given: dict[str, Any] = {"horizon": 500, "seed": 3, "workers": 1}

    def stop(progress: Any) -> None:
        ctrl_c()

    with pytest.raises(Interrupted, match="interrupted after") as error:
        simulate(PROBLEM, [UCB()], runs=4000, progress=stop, **given)
    result = error.value.result
    assert result is not None
    assert 0 < result.runs < 4000
    np.testing.assert_array_equal(result.final, simulate(PROBLEM, [UCB()], runs=result.runs, **given).final)


def test_a_family_that_draws_slowly_is_interrupted_in_the_middle() -> None:
    drawn = []

    def family(rng: np.random.Generator) -> Problem:
        drawn.append(1)
        if len(drawn) == 3:
            ctrl_c()
        return PROBLEM

    with pytest.raises(Interrupted, match="before a run was finished"):
        simulate(family, [UCB()], horizon=100, runs=1000, progress=False)
    assert len(drawn) == 3
