"""Studies: places, looks, a fraction of the runs."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import ConfigurationError
from belated.simulation.progress import Progress
from belated.studies.runner import BatchProgress
from belated.studies.study import ENOUGH_RUNS, Axis
from synthetic import study

STUDY = study(delay=(0, 200), law=("fixed", "Pareto"), c=(0.5, 1.0))


def test_cells_have_names() -> None:
    assert STUDY.cells[1].name == "delay=0,law=fixed,c=1.0"
    assert study().cells[0].name == "all"


@pytest.mark.parametrize(
    ("wanted", "cells"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({"delay": 200}, [4, 5, 6, 7]),
        ({"law": "Pareto"}, [2, 3, 6, 7]),
        ({"delay": [0, 200], "c": 1.0}, [1, 3, 5, 7]),
        ({"law": ["Pareto"], "delay": (0,), "c": [0.5]}, [2]),
        ({"c": 1}, [1, 3, 5, 7]),
    ],
)
def test_where(wanted: dict[str, Any], cells: list[int]) -> None:
    assert STUDY.where(wanted) == cells


def test_a_missing_cell_is_no_mistake() -> None:
    """Not all combinations need be there."""
    part = study(delay=(0, 200), c=(0.5, 1.0))
    thin = type(part)(**{**vars(part), "cells": part.cells[:3]})
    assert thin.where({"delay": 200}) == [2]
    assert thin.where({"delay": 200, "c": 1.0}) == []


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"delays": 0}, "'by hand' has no axis 'delays'. Did you mean 'delay'? It has delay, law, c"),
        ({"gap": 0}, "has no axis 'gap'. It has delay, law, c"),
        ({"delay": 100}, "axis 'delay' of the study 'by hand' has no value 100; it has 0, 200"),
        ({"delay": [0, 300]}, "has no value 300; it has 0, 200"),
        ({"law": "fix"}, "has no value 'fix'; it has fixed, Pareto"),
        ({"law": []}, "law has no value; give one or more of fixed, Pareto"),
        ({"delay": 0, "c": ()}, "c has no value; give one or more of 0.5, 1.0"),
    ],
)
def test_mistakes_name_what_there_is(wanted: dict[str, Any], said: str) -> None:
    for find in (STUDY.where, STUDY.within, STUDY.at):
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            find(wanted)


@pytest.mark.parametrize(
    "wanted", [{}, {"delay": 200}, {"delay": [200, 0], "c": 1.0}, {"law": ("Pareto",), "c": [0.5]}]
)
def test_a_part_keeps_its_cells_and_says_which(wanted: dict[str, Any]) -> None:
    part, numbers = STUDY.within(wanted)
    assert numbers == STUDY.where(wanted)
    assert part.cells == tuple(STUDY.cells[number] for number in numbers)
    for axis, whole in zip(part.axes, STUDY.axes, strict=True):
        given = wanted.get(axis.name, whole.values)
        kept = given if isinstance(given, list | tuple) else [given]
        assert axis == Axis(whole.name, tuple(value for value in whole.values if value in kept))
    assert (part.name, part.labels, part.runs, part.max_runs) == (STUDY.name, STUDY.labels, STUDY.runs, STUDY.max_runs)


def test_at_a_place_its_axes_are_gone() -> None:
    part, numbers = STUDY.at({"delay": 200, "c": 0.5})
    assert numbers == [4, 6]
    assert part.axes == (STUDY.axes[1],)
    assert [cell.coordinates for cell in part.cells] == [{"law": "fixed"}, {"law": "Pareto"}]
    assert [cell.problem for cell in part.cells] == [STUDY.cells[number].problem for number in numbers]
    assert STUDY.at({}) == (STUDY, list(range(8)))


def test_a_part_of_a_part() -> None:
    part, _ = STUDY.within({"law": "Pareto"})
    inner, numbers = part.at({"delay": 200})
    assert numbers == [2, 3]
    assert [cell.coordinates for cell in inner.cells] == [{"law": "Pareto", "c": c} for c in (0.5, 1.0)]


def test_an_axis_and_a_policy_by_name() -> None:
    assert STUDY.axis("law").values == ("fixed", "Pareto")
    assert [STUDY.policy(label) for label in ("A", "B")] == [0, 1]
    with pytest.raises(ConfigurationError, match=r"has no policy 'C'\. It has A, B"):
        STUDY.policy("C")
    with pytest.raises(ConfigurationError, match=r"has no policy 'uc'\. Did you mean 'UCB'\? It has UCB, SE"):
        study(("UCB", "SE")).policy("uc")
    with pytest.raises(ConfigurationError, match=r"has no axis 'delay'\. It has none"):
        study().axis("delay")


@pytest.mark.parametrize(
    ("runs", "most", "looks"),
    [
        (100, 100, [100]),
        (100, 101, [101]),
        (100, 399, [399]),
        (100, 1600, [1600]),
        (100, 1601, [1600, 1601]),
        (24, 25600, [1600, 6400, 25600]),
        (24, 25601, [1600, 6400, 25600, 25601]),
        (1599, 6400, [1600, 6400]),
        (1600, 6401, [1600, 6400, 6401]),
        (1601, 25600, [1601, 6404, 25600]),
        (1000, 1000, [1000]),
        (2000, 9000, [2000, 8000, 9000]),
        (8, 8, [8]),
    ],
)
def test_looks(runs: int, most: int, looks: list[int]) -> None:
    assert study(runs=runs, most=most).interim_looks() == looks


@given(st.integers(1, 1000), st.integers(0, 100_000))
def test_looks_go_up_to_the_most(runs: int, more: int) -> None:
    """From 1,600 runs on, where there are so many; what is played at first is no look of its own."""
    assert ENOUGH_RUNS == 1600
    looks = study(runs=runs, most=runs + more).interim_looks()
    first = runs if runs >= 1600 else min(1600, runs + more)
    assert (looks[0], looks[-1]) == (first, runs + more)
    assert all(a < b <= 4 * a for a, b in pairwise(looks))
    assert all(b == 4 * a for a, b in pairwise(looks[:-1]))


@pytest.mark.parametrize(
    ("fraction", "runs", "most"), [(1.0, 100, 6400), (0.5, 50, 3200), (0.01, 8, 64), (0.0001, 8, 8), (0.333, 33, 2131)]
)
def test_a_fraction_of_the_runs(fraction: float, runs: int, most: int) -> None:
    whole = study(runs=100, most=6400, delay=(0, 1))
    part = whole.scaled(fraction)
    assert (part.runs, part.max_runs) == (runs, most)
    assert (part.cells, part.axes, part.labels, part.name) == (whole.cells, whole.axes, whole.labels, whole.name)
    assert part.interim_looks()[-1] == most


@pytest.mark.parametrize(
    ("runs", "most", "fraction", "left"),
    [
        (5, 20, 0.1, (5, 8)),
        (5, 5, 0.01, (5, 5)),
        (8, 8, 0.5, (8, 8)),
        (3, 100, 10.0, (3, 100)),
        (100, 100, 7.0, (100, 100)),
    ],
)
def test_never_more_than_declared(runs: int, most: int, fraction: float, left: tuple[int, int]) -> None:
    part = study(runs=runs, most=most).scaled(fraction)
    assert (part.runs, part.max_runs) == left


@given(st.integers(1, 1000), st.integers(0, 100_000), st.floats(0.0, 10.0))
def test_a_fraction_leaves_enough(runs: int, more: int, fraction: float) -> None:
    whole = study(runs=runs, most=runs + more)
    part = whole.scaled(fraction)
    for left, declared in ((part.runs, whole.runs), (part.max_runs, whole.max_runs)):
        assert min(declared, 8) <= left <= declared
        assert left == min(declared, 8) or abs(left - min(declared, declared * fraction)) <= 0.5
    assert part.runs <= part.max_runs


def test_cells_of_a_batch_wait_for_the_compiler_one_after_the_other() -> None:
    """Each cell counts its own seconds and rounds; the speed is that of all of them."""
    now = 0.0
    batch = BatchProgress(20, lambda: now)
    now = 5.0
    batch.update(0, Progress(100, 1000, 5.0, "", 10, 4.0), 2000)
    now = 10.0
    batch.update(0, Progress(1000, 1000, 10.0, "", 10, 4.0), 2000)
    now = 13.0
    found = batch.update(1, Progress(200, 1000, 3.0, "", 10, 1.0, 2), 2000)
    assert (found.done, found.total, found.seconds, found.waited, found.runs) == (1200, 2000, 13.0, 5.0, 20)
    assert found.rounds_per_second == 150.0
    assert found.runs_left == 8
    assert found.uncompiled == 2


def test_cells_that_are_compiled_at_the_same_time_wait_once() -> None:
    now = 4.0
    batch = BatchProgress(20, lambda: now)
    now = 9.0
    batch.update(0, Progress(0, 1000, 5.0, "compiling UCB", 10, 5.0), 2000)
    batch.update(1, Progress(0, 1000, 5.0, "compiling UCB", 10, 5.0), 2000)
    now = 10.0
    assert batch.update(1, Progress(500, 1000, 6.0, "", 10, 5.0), 2000).waited == 5.0
