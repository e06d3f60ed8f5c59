"""Clocks that jump: times in the journal never go back, and silence keeps the deadlines that it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from work import StepWriter

from belated.errors import ApiError
from belated.service import timestamps
from belated.service.api.monitoring import delay_curves
from belated.service.core import operations
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import Operation
from belated.service.core.verify import verify
from belated.service.storage.events import Event, Kind
from belated.service.storage.journal import open_journal

SECOND = 1_000_000
HOUR = 3600 * SECOND
ARMS = ["a", "b"]


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The service's clock."""
    made = Clock()
    monkeypatch.setattr(timestamps, "now", made)
    return made


class Service:
    """A writer that can be restarted."""

    def __init__(self, db: str) -> None:
        self._db = db
        self._start()

    def _start(self) -> None:
        self._writer = StepWriter(lambda: open_journal(self._db))
        self._writer.start()

    def restart(self) -> None:
        self._writer.stop()
        self._start()

    def stop(self) -> None:
        self._writer.stop()

    def do(self, operation: Operation) -> Any:
        ((result, error),) = self._writer.together([operation])
        if error is not None:
            raise error
        return result

    def together(self, operations: list[Operation]) -> list[Any]:
        return self._writer.together(operations)

    def decide(self, *ids: str) -> None:
        self.do(operations.decide("x", ids, 1, {}))

    def events(self) -> list[Event]:
        journal = open_journal(self._db, create=False)
        stored = journal.experiment("x")
        assert stored is not None
        found = list(journal.events(stored.id))
        assert [each.error for each in verify(journal)] == [None]
        journal.close()
        return found


@pytest.fixture
def silent(db: str, clock: Clock) -> Iterator[Service]:
    """An experiment in which silence of an hour is an answer."""
    made = Service(db)
    made.do(operations.create("x", checked_spec(ARMS, {"name": "UCB"}, 0, Silence(3600.0, 0.0))))
    yield made
    made.stop()


def kinds(service: Service, id: str) -> list[str]:
    return [event.kind for event in service.events() if event.id == id]


JUMPS: list[Callable[[int], int]] = [
    lambda time: time - 5 * HOUR,
    lambda time: time + 7 * HOUR,
    lambda time: time - 1,
    lambda time: time + 30 * 24 * HOUR,
    lambda time: time - 40 * 24 * HOUR,
]


def test_times_in_the_journal_never_go_back(silent: Service, clock: Clock) -> None:
    silent.decide("0")
    for number, jump in enumerate(JUMPS, 1):
        clock.time = jump(clock.time)
        silent.decide(str(number))
        silent.do(operations.feedback(str(number), 1.0, None))
        if number % 2:
            silent.restart()
    times = [event.at for event in silent.events()]
    assert times == sorted(times)
    assert len(times) == 1 + 2 * len(JUMPS)


def test_a_deadline_is_the_clock_s_time_and_silence(silent: Service, clock: Clock) -> None:
    times = []
    for jump in (0, -5 * HOUR, HOUR):
        clock.time += jump
        silent.decide(f"after {jump}")
        times.append(clock.time)
    assert [event.deadline for event in silent.events()] == [time + HOUR for time in times]


def test_a_restart_does_not_move_a_deadline(silent: Service, clock: Clock) -> None:
    silent.decide("one")
    (before,) = silent.events()
    for _ in range(3):
        clock.time += HOUR // 4
        silent.restart()
        assert silent.do(operations.impute("x")) == 0
    clock.time += HOUR // 4 - 1
    assert silent.do(operations.impute("x")) == 0
    clock.time += 1
    assert silent.do(operations.impute("x")) == 1
    decided, imputed = silent.events()
    assert decided == before
    assert (imputed.kind, imputed.at) == (Kind.IMPUTED, before.deadline)


def test_a_restart_after_the_deadline_imputes_at_once(silent: Service, clock: Clock) -> None:
    silent.decide("one")
    clock.time += 100 * HOUR
    silent.restart()
    assert silent.do(operations.impute("x")) == 1
    assert kinds(silent, "one") == [Kind.DECIDED, Kind.IMPUTED]


def test_a_jump_back_does_not_impute_twice(silent: Service, clock: Clock) -> None:
    silent.decide("one")
    clock.time += HOUR
    assert silent.do(operations.impute("x")) == 1
    for _ in range(2):
        clock.time -= 10 * HOUR
        assert silent.do(operations.impute("x")) == 0
        silent.restart()
        clock.time += 10 * HOUR
        assert silent.do(operations.impute("x")) == 0
    assert kinds(silent, "one") == [Kind.DECIDED, Kind.IMPUTED]


def test_one_wrong_reading_of_the_clock_moves_no_other_deadline(silent: Service, clock: Clock) -> None:
    year = 365 * 24 * HOUR
    silent.decide("right")
    clock.time += year
    silent.decide("wrong")
    assert silent.do(operations.impute("x")) == 1
    clock.time -= year
    silent.decide("right again")
    assert silent.do(operations.impute("x")) == 0
    silent.restart()
    clock.time += HOUR - 1
    assert silent.do(operations.impute("x")) == 0
    clock.time += 1
    assert silent.do(operations.impute("x")) == 1
    assert kinds(silent, "right again") == [Kind.DECIDED, Kind.IMPUTED]
    assert kinds(silent, "wrong") == [Kind.DECIDED]


def test_the_longest_silence_first_and_none_left_out(
    silent: Service, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More are due than are imputed at a time, with equal deadlines and in another order than they were decided."""
    monkeypatch.setattr(operations, "IMPUTE_BATCH", 2)
    for number in range(7):
        silent.decide(f"{number}a", f"{number}b", f"{number}c")
        clock.time += SECOND if number % 3 else -5 * SECOND
    silent.do(operations.feedback("3b", 1.0, None))
    clock.time += 2 * HOUR
    silent.decide("late")
    counts = []
    while counts[-1:] != [0]:
        counts.append(silent.do(operations.impute("x")))
        if len(counts) == 4:
            silent.restart()
    assert sum(counts) == 20
    assert [event.kind for event in silent.events()].count(Kind.IMPUTED) == 20
    assert kinds(silent, "late") == [Kind.DECIDED]


def test_the_true_answer_counts_after_any_jump(silent: Service, clock: Clock) -> None:
    silent.decide("one")
    clock.time += 2 * HOUR
    silent.do(operations.impute("x"))
    clock.time -= 9 * HOUR
    _, found, how = silent.do(operations.feedback("one", 1.0, None))
    assert (found.reward, how) == (1.0, "late")
    with pytest.raises(ApiError, match="a decision has one reward"):
        silent.do(operations.feedback("one", 0.0, None))
    assert len(silent.events()) == 3


def test_silence_finds_what_is_behind_many_answers(silent: Service, clock: Clock) -> None:
    """A search that sees only decisions that are answered just now has not seen all."""
    count = operations.IMPUTE_BATCH
    silent.decide(*(str(number) for number in range(count + 1)))
    clock.time += 2 * HOUR
    answers = [operations.feedback(str(number), 1.0, None) for number in range(count)]
    silent.together([*answers, operations.impute("x")])
    silent.do(operations.impute("x"))
    assert kinds(silent, str(count)) == [Kind.DECIDED, Kind.IMPUTED]


def test_delays_are_never_negative(silent: Service, clock: Clock, db: str) -> None:
    for number, jump in enumerate(JUMPS):
        silent.decide(f"a{number}", f"b{number}")
        clock.time = jump(clock.time)
        seen = None if number % 2 else clock.time  # as the caller's clock has it, which went back
        silent.do(operations.feedback(f"a{number}", 1.0, seen))
    silent.restart()
    journal = open_journal(db, create=False)
    for _ in range(2):
        curves = delay_curves(journal, "x", ARMS).curves
        assert sum(curve.observed for curve in curves) == len(JUMPS)
        assert sum(curve.pending for curve in curves) == len(JUMPS)
        for curve in curves:
            assert all(seconds >= 0.0 for seconds in curve.seconds)
            assert all(0.0 <= share <= 1.0 for share in curve.answered)
        clock.time -= 1000 * HOUR
    journal.close()
