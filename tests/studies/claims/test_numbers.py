"""The numbers of tests: what each may be, checked where a file is read."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from belated.errors import ConfigurationError
from belated.specs.tables import from_table_by_kind
from belated.studies.claims import TESTS
from belated.validation import fields_of

POSITIVE, COUNT = "a number > 0", "a whole number >= 1"
GIVEN: dict[str, dict[str, Any]] = {
    "below": {"policy": "A", "than": "B"},
    "none below": {"than": "B"},
    "rises": {"policy": "A", "along": "d"},
    "steady": {"policy": "A", "along": "d", "within": 0.1},
    "peak moves right": {"policy": "A", "along": "gap", "over": "d", "slack": 0.1},
    "alike": {"over": "d", "arm": 1, "within": 0.1},
    "flat stretches": {"policy": "A", "least": 2, "steps": 3},
    "level": {},
}
"""Of each kind with such numbers, the keys that it needs."""
DOMAINS = [
    ("below", "factor", POSITIVE),
    ("none below", "factor", POSITIVE),
    ("rises", "factor", POSITIVE),
    ("steady", "within", POSITIVE),
    ("peak moves right", "slack", POSITIVE),
    ("alike", "within", POSITIVE),
    ("flat stretches", "least", COUNT),
    ("flat stretches", "steps", COUNT),
    ("level", "unit", POSITIVE),
]
REFUSED: dict[str, list[Any]] = {
    POSITIVE: [0, 0.0, -1, -0.001, math.inf, math.nan],
    COUNT: [0, -1],
}
ALLOWED: dict[str, list[Any]] = {POSITIVE: [1e-9, 1, 2.5], COUNT: [1, 7, 2.0]}
OTHERS: dict[str, list[Any]] = {
    POSITIVE: ["1", True, None, [1.0]],
    COUNT: [1.5, "2", True],
}
"""What is no number, or not a whole one."""


def read(kind: str, **changed: Any) -> Any:
    return from_table_by_kind(TESTS, {"kind": kind, **GIVEN[kind], **changed}, "claim.test")


def test_every_number_with_a_domain_is_tried() -> None:
    """A new one needs a line in the table."""
    found = {
        (name, parameter.name, parameter.domain.describe())
        for name, cls in TESTS.items()
        for parameter in fields_of(cls)
        if parameter.domain is not None
    }
    assert found == set(DOMAINS)


def test_numbers_of_one_name_have_one_domain() -> None:
    """A factor, a width, a unit is positive in every kind that has one."""
    named = {name: domain for _, name, domain in DOMAINS}
    for cls in TESTS.values():
        for parameter in fields_of(cls):
            if parameter.name in named and not isinstance(parameter.default, bool):
                assert parameter.domain is not None
                assert parameter.domain.describe() == named[parameter.name]


@pytest.mark.parametrize(("kind", "name", "domain"), DOMAINS)
def test_what_is_outside_is_refused(kind: str, name: str, domain: str) -> None:
    for value in REFUSED[domain]:
        limit = r"( and below 8\.9e307)?" if value == math.inf else ""
        with pytest.raises(
            ConfigurationError, match=rf"^claim\.test\.{name} is .*; give {re.escape(domain)}{limit}\.$"
        ):
            read(kind, **{name: value})
    for value in OTHERS[domain]:
        with pytest.raises(ConfigurationError, match=rf"^claim\.test\.{name} is .*; give a (whole )?number"):
            read(kind, **{name: value})


@pytest.mark.parametrize(("kind", "name", "domain"), DOMAINS)
def test_what_is_inside_is_taken(kind: str, name: str, domain: str) -> None:
    for value in ALLOWED[domain]:
        found = read(kind, **{name: value})
        assert type(found) is TESTS[kind]
        assert getattr(found, name) == value
        assert type(getattr(found, name)) is (int if domain == COUNT else float)


def test_a_default_is_inside_of_its_domain() -> None:
    for cls in TESTS.values():
        for parameter in fields_of(cls):
            if parameter.domain is not None and not parameter.required:
                assert parameter.domain.check("", parameter.name, parameter.default) == parameter.default


def test_the_test_itself_takes_any_number() -> None:
    """Only what comes from a file is checked."""
    assert TESTS["steady"]("A", "d", -1.0).within == -1.0  # type: ignore[call-arg, attr-defined]
    assert TESTS["flat stretches"]("A", 0, 0).steps == 0  # type: ignore[call-arg, attr-defined]
