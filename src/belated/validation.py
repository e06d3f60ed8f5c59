"""Domains: what a parameter may be, declared beside it and checked when an object is made.

A law or a policy is a frozen dataclass whose fields are annotated with one of these; its constructor stores and
validates, and the command line, the documentation and the files' reader take name, meaning and range from the same
place."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from belated.errors import InvalidParameter

HUGE = float(2**1023)
"""Numbers as large as this are taken for infinite."""


@dataclass(frozen=True)
class Domain:
    """A range of numbers: ``low`` to ``high``, each end included or not; whole numbers only, or all; None allowed, or
    not."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False
    optional: bool = False

    def describe(self) -> str:
        """The domain in words, such as ``a number in [0, 1]``."""
        kind = "a whole number" if self.whole else "a number"
        if self.low == -math.inf:
            text = kind
        elif self.high == math.inf:
            text = f"{kind} {'>' if self.open_low else '>='} {_number(self.low)}"
        else:
            left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
            text = f"{kind} in {left}{_number(self.low)}, {_number(self.high)}{right}"
        return f"{text}, or None" if self.optional else text

    def check(self, owner: str, name: str, value: Any) -> float | int | None:
        """The value as a plain float or int; an error that names owner, parameter, value and domain if it does not
        fit."""
        plain = type(value) is float or type(value) is np.float64  # what nearly all are
        if plain and not self.whole and self.low < value < self.high and -HUGE < value < HUGE:
            return float(value)
        if value is None and self.optional:
            return None
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
            raise InvalidParameter(f"{owner}: {name} is {value!r}; give {self.describe()}.")
        value = value.item() if isinstance(value, np.generic) else value
        inside = self.low <= value <= self.high and -HUGE < value < HUGE
        inside = inside and not (self.open_low and value == self.low)
        if not inside or (self.open_high and value == self.high):
            raise InvalidParameter(f"{owner}: {name} is {value!r}; give {self.describe()}.")
        if self.whole:
            if value != int(value):
                raise InvalidParameter(f"{owner}: {name} is {value!r}; give {self.describe()}.")
            return int(value)
        return float(value)


def _number(value: float) -> str:
    """A number as people write it: 2,147,483,646, or 0.5."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


MAX_HORIZON = 2**31 - 2
"""The longest horizon: rounds and pulls are counted in 31 bits."""

Probability = Annotated[float, Domain(0, 1)]
PositiveProbability = Annotated[float, Domain(0, 1, open_low=True)]
Positive = Annotated[float, Domain(0, open_low=True)]
ShapeNumber = Annotated[float, Domain(1e-100)]
Count = Annotated[int, Domain(1, whole=True)]
NonNegative = Annotated[float, Domain(0)]
Rounds = Annotated[int, Domain(0, 2**53, whole=True)]
Confidence = Annotated[float | None, Domain(0, open_low=True, optional=True)]
Horizon = Annotated[int | None, Domain(1, MAX_HORIZON, whole=True, optional=True)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a law or a policy, for those who list, read or document it."""

    name: str
    domain: Domain | None
    default: Any
    required: bool


def fields_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of a law or policy class, in the order of its constructor."""
    return _fields_of(cls)


@cache
def _fields_of(cls: Any) -> tuple[Parameter, ...]:
    hints = get_type_hints(cls, include_extras=True)
    found = []
    for field in fields(cls):
        if not field.init:
            continue
        hint = hints[field.name]
        domain = None
        if get_origin(hint) is Annotated:
            domain = next((extra for extra in get_args(hint)[1:] if isinstance(extra, Domain)), None)
        required = field.default is MISSING and field.default_factory is MISSING
        found.append(Parameter(field.name, domain, None if required else field.default, required))
    return tuple(found)


@cache
def _domains_of(cls: Any) -> tuple[tuple[str, Domain], ...]:
    return tuple((parameter.name, parameter.domain) for parameter in _fields_of(cls) if parameter.domain)


class Validated:
    """A base for frozen dataclasses whose fields declare their domains: checks and normalises them."""

    def __post_init__(self) -> None:
        mine = self.__dict__
        cls: Any = type(self)
        for name, domain in _domains_of(cls):
            mine[name] = domain.check(type(self).__name__, name, mine[name])
        self._validate()

    def _validate(self) -> None:
        """Checks that concern several parameters together."""
