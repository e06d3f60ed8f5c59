"""Validation: the domain of a parameter, declared beside it, and the checks of single values.

A law or a policy is a frozen dataclass whose fields are annotated with a :class:`Domain`. Its constructor validates
and normalises them; the command line, the documentation and the TOML reader take name, range and default from the same
place. Functions check their arguments with :func:`check_integer`, :func:`check_number` and :func:`check_choice`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Integral, Rational, Real
from typing import Annotated, Any, Literal, TypeGuard, TypeVar, get_args, get_origin, get_type_hints

from belated.errors import BelatedError, InvalidParameter

T = TypeVar("T")

HUGE = float(2**1023)
"""Numbers as large as this count as infinite."""
_LIMIT = "8.9e307"
"""A little less, as text."""


def is_integer(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer of Python or numpy; a bool is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number of Python or numpy; a bool is not."""
    real = isinstance(value, Integral) or (isinstance(value, Real) and not isinstance(value, Rational))  # no fractions
    return real and not isinstance(value, bool)


def is_bool(value: Any) -> TypeGuard[bool]:
    """Whether a value is a bool of Python or numpy."""
    return type(value).__name__ == "bool"  # without importing numpy, whose scalar type has this name too


def check_integer(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    accept_whole_floats: bool = False,
    error: type[BelatedError] = InvalidParameter,
    show: Callable[[Any], str] = repr,
) -> int:
    """Return the value as an int if it is an integer from ``low`` to ``high``; otherwise raise ``error``.

    >>> check_integer("runs", 20, 1)
    20
    >>> check_integer("runs", 0, 1, 5000)
    Traceback (most recent call last):
    belated.errors.InvalidParameter: runs is 0; give a whole number from 1 to 5,000.
    """
    good = is_integer(value) or (accept_whole_floats and isinstance(value, float) and value.is_integer())
    if not good or value < low or (high is not None and value > high):
        allowed = f">= {low:,}" if high is None else f"from {low:,} to {high:,}"
        raise error(f"{name} is {show(value)}; give a whole number {allowed}.")
    return int(value)


def check_number(
    name: str,
    value: Any,
    domain: Domain,
    *,
    error: type[BelatedError] = InvalidParameter,
    show: Callable[[Any], str] = repr,
) -> float:
    """Return the value as a float if it lies in the domain; otherwise raise ``error``.

    >>> check_number("q", 1.5, Domain(0, 1))
    Traceback (most recent call last):
    belated.errors.InvalidParameter: q is 1.5; give a number in [0, 1].
    """
    if is_number(value) and not isinstance(value, int | float):
        value = int(value) if isinstance(value, Integral) else float(value)  # from numpy
    if not is_number(value) or not domain.contains(value):
        raise error(f"{name} is {show(value)}; give {domain.describe(value)}.")
    return float(value)


def check_bool(name: str, value: Any) -> bool:
    """Return the value if it is True or False; otherwise raise InvalidParameter.

    >>> check_bool("shuffle", "no")
    Traceback (most recent call last):
    belated.errors.InvalidParameter: shuffle is 'no'; give True or False.
    """
    if not is_bool(value):
        raise InvalidParameter(f"{name} is {value!r}; give True or False.")
    return bool(value)


def check_range(
    name: str, value: Any, *, error: type[BelatedError] = InvalidParameter, show: Callable[[Any], str] = repr
) -> tuple[float, float]:
    """Return (low, high) as floats if it is a pair of numbers, low < high; otherwise raise ``error``.

    >>> check_range("reward_range", (0, 200))
    (0.0, 200.0)
    >>> check_range("reward_range", (200, 0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    belated.errors.InvalidParameter: reward_range is (200, 0); give (low, high) with low < high, such as (0, 200), ...
    """
    try:
        low, high = (check_number(name, end, AMOUNT) for end in value)
        if low < high:
            return low, high
    except (TypeError, ValueError, InvalidParameter):
        pass
    raise error(
        f"{name} is {show(value)}; give (low, high) with low < high, such as (0, 200), both from {AMOUNT.low:g} to "
        f"{AMOUNT.high:g}."
    )


def check_choice(
    name: str, value: Any, choices: Collection[str], *, error: type[BelatedError] = InvalidParameter
) -> str:
    """Return the value if it is one of the choices; otherwise raise ``error``.

    >>> check_choice("device", "tpu", ["cpu", "cuda"])
    Traceback (most recent call last):
    belated.errors.InvalidParameter: device is 'tpu'; give 'cpu' or 'cuda'.
    """
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        allowed = " or ".join([", ".join(others), last] if others else [last])
        raise error(f"{name} is {value!r}; give {allowed}.")
    return value


@dataclass(frozen=True)
class Domain:
    """A range of numbers from ``low`` to ``high``, with open or closed ends; optionally only whole numbers, optionally
    None; or one of some ``words`` instead of a number, for the first of which None stands, too."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False
    optional: bool = False
    words: tuple[str, ...] = ()

    def describe(self, instead_of: Any = 0) -> str:
        """The domain as text, such as ``a number in [0, 1]``; with the limit of all numbers if what was given instead
        exceeds that.

        >>> Domain(0, open_low=True).describe(), Domain(0, open_low=True).describe(instead_of=1e308)
        ('a number > 0', 'a number > 0 and below 8.9e307')
        """
        noun = "a whole number" if self.whole else "a number"
        low, high = (f"{end:,}".removesuffix(".0") for end in (self.low, self.high))
        if self.low == -math.inf:
            text = noun
        elif self.high == math.inf:
            text = f"{noun} {'>' if self.open_low else '>='} {low}"
        else:
            left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
            text = f"{noun} in {left}{low}, {high}{right}"
        if is_number(instead_of) and self.low <= instead_of <= self.high and abs(instead_of) >= HUGE:
            text += f" and below {_LIMIT}" if self.low > -math.inf else f" from -{_LIMIT} to {_LIMIT}"
        text = ", or ".join([text, *(f'"{word}"' for word in self.words)])
        return f"{text}, or None" if self.optional else text

    def contains(self, value: float) -> bool:
        """Whether a number lies in the domain."""
        inside = self.low <= value <= self.high and -HUGE < value < HUGE
        inside = inside and not (self.open_low and value == self.low) and not (self.open_high and value == self.high)
        return inside and (not self.whole or value == int(value))

    def check(self, owner: str, name: str, value: Any) -> float | int | str | None:
        """Return the value as a plain float or int, or a word; raise an error that names owner, parameter, value and
        domain if it is outside."""
        if isinstance(value, float) and not self.whole and self.low < value < self.high and -HUGE < value < HUGE:
            return float(value)  # the common case, quickly
        if value is None and self.optional:
            return None
        if self.words and value is None:
            return self.words[0]
        if isinstance(value, str) and value in self.words:
            return str(value)
        number = check_number(f"{owner}: {name}", value, self)
        return int(value) if self.whole else number


AMOUNT = Domain(-1e100, 1e100)
"""Rewards in the user's unit: sums of them over all rounds and runs are finite."""
MAX_HORIZON = 2**31 - 2
"""The longest horizon: rounds and pulls are counted in 31 bits."""

Probability = Annotated[float, Domain(0, 1)]
PositiveProbability = Annotated[float, Domain(0, 1, open_low=True)]
Positive = Annotated[float, Domain(0, open_low=True)]
ShapeNumber = Annotated[float, Domain(1e-100)]
Count = Annotated[int, Domain(1, whole=True)]
NonNegative = Annotated[float, Domain(0)]
Rounds = Annotated[int, Domain(0, 2**53, whole=True)]
Confidence = Annotated[float | Literal["theory"] | None, Domain(0, open_low=True, words=("theory",))]
Horizon = Annotated[int | None, Domain(1, MAX_HORIZON, whole=True, optional=True)]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a law or a policy."""

    name: str
    domain: Domain | None
    default: Any
    required: bool


def annotation(hint: Any, kind: type[T]) -> T | None:
    """What ``Annotated`` adds to a type: the first value of this kind, if there is one."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, kind)), None)


@cache
def _fields_of(cls: Any) -> tuple[Parameter, ...]:
    hints = get_type_hints(cls, include_extras=True)
    parameters = []
    for field in fields(cls):
        if field.init:
            required = field.default is MISSING and field.default_factory is MISSING
            default = None if required else field.default
            parameters.append(Parameter(field.name, annotation(hints[field.name], Domain), default, required))
    return tuple(parameters)


def fields_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of a law or policy class, in the order of its constructor."""
    return _fields_of(cls)


@cache
def _domains_of(cls: Any) -> tuple[tuple[str, Domain], ...]:
    return tuple((parameter.name, parameter.domain) for parameter in _fields_of(cls) if parameter.domain)


class Validated:
    """Base of frozen dataclasses whose fields declare their domains: validates and normalises them."""

    def __post_init__(self) -> None:
        values = self.__dict__
        cls: Any = type(self)
        for name, domain in _domains_of(cls):
            values[name] = domain.check(cls.__name__, name, values[name])
        self._validate()

    def _validate(self) -> None:
        """Check conditions that involve several parameters."""
