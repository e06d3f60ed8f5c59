"""Tables as objects: a dataclass's fields are the keys, and every error names its key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from belated.errors import ConfigurationError
from belated.specs.tables import Key, Text, fmt, from_table, from_table_by_kind, integer, suggest, within
from belated.validation import Domain


@dataclass(frozen=True)
class Inner:
    label: str
    factor: float = 2.0


@dataclass(frozen=True)
class Outer:
    name: Text
    runs: Annotated[int, Domain(2, 100, whole=True), Key(name="most")]
    share: Annotated[float, Domain(0, 1, open_low=True)] = 0.5
    flag: bool = False
    parts: tuple[Inner, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    maybe: float | None = None
    upper: Annotated[str, Key(read=lambda value, at: f"{at}={value}")] = ""


def test_tables_become_objects() -> None:
    data = {
        "name": "  two\n words ",
        "most": 2e1,
        "share": 1,
        "flag": True,
        "parts": [{"label": "a"}, {"label": "b", "factor": 3}],
        "where": {"delay": 5},
        "maybe": 4,
        "upper": "x",
    }
    outer = from_table(Outer, data, "at")
    assert outer == Outer("two words", 20, 1.0, True, (Inner("a"), Inner("b", 3.0)), {"delay": 5}, 4.0, "at.upper=x")
    assert (type(outer.runs), type(outer.share), type(outer.maybe)) == (int, float, float)
    assert from_table(Outer, {"name": "a", "most": 2}, "") == Outer("a", 2)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"nam": "a"}, "at.nam is not known. Did you mean 'name'? An owner takes name, most, share, flag, parts"),
    ({"runs": 5}, "at.runs is not known."),
    ({"name": None}, "at.name is None; give text in quotes."),
    ({"name": " "}, "at.name is ' '; give text in quotes."),
    ({"most": 1}, "at.most is 1; give a whole number from 2 to 100."),
    ({"most": 2.5}, "at.most is 2.5; give a whole number from 2 to 100."),
    ({"most": True}, "at.most is true; give a whole number from 2 to 100."),
    ({"share": 0}, "at.share is 0; give a number in (0, 1]."),
    ({"share": math.nan}, "at.share is nan; give a number in (0, 1]."),
    ({"share": "1"}, "at.share is '1'; give a number in (0, 1]."),
    ({"flag": 1}, "at.flag is 1; give true or false."),
    ({"parts": {}}, "at.parts is {}; give a list."),
    ({"parts": [3]}, "at.parts[0] is 3; give a table for Inner."),
    ({"parts": [{}]}, "at.parts[0].label is missing; give text in quotes."),
    ({"parts": [{"label": "a", "factor": "x"}]}, "at.parts[0].factor is 'x'; give a number."),
    ({"where": 3}, "at.where is 3; give a table"),
    ({"maybe": "x"}, "at.maybe is 'x'; give a number."),
]


def test_a_mistake_names_its_key() -> None:
    for change, said in MISTAKES:
        with pytest.raises(ConfigurationError, match=f"^{re.escape(said)}"):
            from_table(Outer, {"name": "a", "most": 2, **change}, "at", "An owner")
    with pytest.raises(ConfigurationError, match=r"^at\.name is missing; give text in quotes\.$"):
        from_table(Outer, {"most": 2}, "at")
    with pytest.raises(ConfigurationError, match=r"^most is missing; give a whole number"):
        from_table(Outer, {"name": "a"}, "")
    with pytest.raises(ConfigurationError, match=r"^at is 3; give a table for Outer\.$"):
        from_table(Outer, 3, "at")


def test_a_kind_names_the_class() -> None:
    kinds = {"inner": Inner}
    assert from_table_by_kind(kinds, {"kind": "inner", "label": "a"}, "at") == Inner("a")
    for kind, said in (("iner", "at.kind is 'iner'. Did you mean 'inner'? Give one of inner."), (3, "at.kind is 3.")):
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            from_table_by_kind(kinds, {"kind": kind}, "at")


def test_numbers() -> None:
    assert (integer(2e4, "at", 1), integer(5, "at", 1, 5)) == (20_000, 5)
    assert type(within(Domain(0, 1), 1, "at")) is float
    with pytest.raises(ConfigurationError, match=r"^at is -1; give a whole number >= 0\.$"):
        within(Domain(0, whole=True), -1, "at")


def test_values_in_messages() -> None:
    assert fmt({"law": "Fixed", "rounds": [1, True]}) == "{law = 'Fixed', rounds = [1, true]}"
    assert len(fmt("x" * 200)) == 100
    assert suggest("UBC", ["UCB", "SE"]) == " Did you mean 'UCB'?"
    assert suggest("zzz", ["UCB", "SE"]) == ""
