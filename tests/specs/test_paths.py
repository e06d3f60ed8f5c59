"""Paths into nested data, and the values of an axis."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from belated.errors import ConfigurationError
from belated.specs.paths import set_path, steps_of, values_of


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("horizon", ["horizon"]),
        ("a.b.0.c", ["a", "b", "0", "c"]),
        ("a.b[0].c", ["a", "b", "0", "c"]),
        ("a[*][1]", ["a", "*", "1"]),
        ("a.'0.5'.c", ["a", "0.5", "c"]),
        ('a."0.5"', ["a", "0.5"]),
        (" a . b ", ["a", "b"]),
    ],
)
def test_parts_of_a_path(path: str, steps: list[str]) -> None:
    assert steps_of(path, "key") == steps


@pytest.mark.parametrize("path", ["", " ", ".", "a.", ".a", "a..b", "a[x]", "a[", "a[1", "a]", 'a."b', "[]"])
def test_no_paths(path: str) -> None:
    with pytest.raises(ConfigurationError, match="give keys joined by dots"):
        steps_of(path, "key")


def test_a_value_is_placed_in_a_copy() -> None:
    data = {"a": [{"b": 1}, {"b": 2}], "c": {"d": [5, 6]}}
    before = copy.deepcopy(data)
    assert set_path(data, "a[1].b", 9, "key")["a"] == [{"b": 1}, {"b": 9}]
    assert set_path(data, "a.*.b", 9, "key")["a"] == [{"b": 9}, {"b": 9}]
    assert set_path(data, "c.d[0]", 9, "key")["c"] == {"d": [9, 6]}
    assert set_path(data, "c.e", 9, "key")["c"] == {"d": [5, 6], "e": 9}
    assert data == before


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([3, 1.5, "x"], [3, 1.5, "x"]),
        ({"from": 0, "to": 500, "steps": 11}, list(range(0, 501, 50))),
        ({"from": 0, "to": 10, "steps": 4}, [0, 3, 7, 10]),
        ({"from": 5, "to": 1, "steps": 3}, [5, 3, 1]),
        ({"from": 0.0, "to": 1, "steps": 3}, [0.0, 0.5, 1]),
        ({"from": 0.04, "to": 0.6, "steps": 15}, [round(0.04 * j, 10) for j in range(1, 16)]),
        ({"from": 1, "to": 1000, "steps": 4, "scale": "log"}, [1, 10, 100, 1000]),
        ({"from": 0.1, "to": 10.0, "steps": 5, "scale": "log"}, [0.1, 0.3162, 1.0, 3.162, 10.0]),
    ],
)
def test_values(given: Any, expected: list[Any]) -> None:
    found = values_of(given, "values")
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
