"""Pending-UCB's age histogram against lists of the pending pulls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated.kernel.jit import outlined
from belated.policies.pending_ucb import AGES, LONGEST_DELAY, advance_ages, count_pulls, older_pulls

ARM = 1
"""Of three: nothing may be written beside it."""


class Rows(NamedTuple):
    """As much of a state as the counters see."""

    memory: npt.NDArray[np.float64]


class Row(NamedTuple):
    """And of an arm."""

    number: Any
    memory: npt.NDArray[np.float64]


@outlined
def bring(rows: Any, arm: Any, now: Any) -> None:
    advance_ages(rows, arm, now)


@outlined
def add(rows: Any, arm: Any, pulled_at: Any, pulls: Any) -> None:
    count_pulls(rows, arm, pulled_at, pulls)


@outlined
def old(row: Any, rounds: Any) -> Any:
    return older_pulls(row, rounds)


class Pending:
    """The counters of one arm, and the rounds of its pending pulls in a list."""

    def __init__(self) -> None:
        self.rows = Rows(np.zeros((3, LONGEST_DELAY + 2)))
        self.out: list[int] = []
        self.now = 0

    def pass_to(self, now: int) -> None:
        bring(self.rows, np.uint32(ARM), now)
        self.now = now

    def pull(self) -> None:
        add(self.rows, np.uint32(ARM), self.now, 1.0)
        self.out.append(self.now)

    def end(self, place: int) -> None:
        """Feedback, or a retracted pull."""
        add(self.rows, np.uint32(ARM), self.out.pop(place % len(self.out)), -1.0)

    def starts(self) -> list[int]:
        """Of each pending pull the first round of its block: the smallest that holds it and is the present one of its
        length or the one before."""
        found = []
        for at in self.out:
            length = 1
            while at // length < self.now // length - 1:
                length *= 2
            found.append(at // length * length)
        return found

    def check(self, rounds: float) -> None:
        assert old(Row(np.uint32(ARM), self.rows.memory), rounds) == sum(
            self.now - start >= rounds for start in self.starts()
        )

    def check_all(self) -> None:
        counters = self.rows.memory[ARM, AGES:LONGEST_DELAY]
        assert (counters >= 0.0).all()
        assert counters.sum() == len(self.out)
        beside = self.rows.memory.copy()
        beside[ARM, :LONGEST_DELAY] = 0.0
        assert not beside.any(), "nothing is written beside the arm's own counters"
        for rounds in (0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 30.5, 100.0, 1e4, 1e18):
            self.check(rounds)


STEPS = st.one_of(st.integers(1, 3), st.integers(1, 40), st.integers(1, 3000), st.integers(10**6, 2 * 10**7))
"""Rounds between two looks at an arm: few where it is pulled often, many where it is not."""


@strategies.examples(150)
@given(data=st.data())
def test_counters_are_the_lists(data: st.DataObject) -> None:
    pending = Pending()
    for step in data.draw(st.lists(STEPS, min_size=1, max_size=40)):
        pending.pass_to(pending.now + step)
        for _ in range(data.draw(st.integers(0, 2))):
            pending.pull()
        if pending.out and data.draw(st.booleans()):
            pending.end(data.draw(st.integers(0, 100)))
        pending.check_all()


@pytest.mark.parametrize("step", [1, 2, 3, 64])
def test_an_arm_that_is_pulled_again_and_again(step: int) -> None:
    """Every block boundary of a thousand rounds, and feedback in an order of its own."""
    pending = Pending()
    for number in range(1, 1000 // step):
        pending.pass_to(number * step)
        pending.pull()
        if number % 3 == 0:
            pending.end(7 * number)
        pending.check(20.0)
        pending.check(float(number))
    pending.check_all()


@strategies.examples(300)
@given(at=st.integers(1, 2**30), age=st.one_of(st.integers(0, 50), st.integers(0, 2**30)))
def test_an_age_is_taken_for_three_times_as_much_at_the_most(at: int, age: int) -> None:
    pending = Pending()
    pending.pass_to(at)
    pending.pull()
    pending.pass_to(at + age)
    row = Row(np.uint32(ARM), pending.rows.memory)
    assert old(row, max(age, 0.5)) == float(age > 0), "no pull is taken for younger than it is"
    assert old(row, max(3.0 * age, 1.0)) == 0.0


def test_three_times_is_nearly_reached() -> None:
    pending = Pending()
    pending.pass_to(2**20 - 1)
    pending.pull()
    pending.pass_to(2**20 + 2**19)
    assert old(Row(np.uint32(ARM), pending.rows.memory), 2.99 * (2**19 + 1)) == 1.0
