"""Formatting: numbers, durations and labels as people read them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass

_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def grouped(value: object) -> str:
    """A value of a parameter, with commas between thousands.

    >>> grouped(20_000), grouped(2147483646.0), grouped(0.05), grouped(None), grouped("UCB")
    ('20,000', '2,147,483,646', '0.05', 'None', 'UCB')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"


def compact(number: float) -> str:
    """A number in three significant digits and a unit.

    >>> compact(12_345_678), compact(999_600), compact(950), compact(2.5e9), compact(0.25), compact(-1500)
    ('12.3M', '1M', '950', '2.5G', '0.25', '-1.5k')
    """
    rounded = float(f"{number:.3g}")
    for size, unit in _UNITS:
        if abs(rounded) >= size:
            return f"{rounded / size:.3g}{unit}"
    return f"{rounded:.3g}"


def ratio(value: float) -> str:
    """A ratio in three digits, at most two of them decimals.

    >>> ratio(1.254), ratio(12.34), ratio(1234.5)
    ('1.25', '12.3', '1,234')
    """
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def quantity(value: float) -> str:
    """A computed quantity in four digits or, from 1,000 on, as a whole number.

    >>> quantity(1234567.8), quantity(999.96), quantity(0.123456), quantity(-0.0)
    ('1,234,568', '1,000', '0.1235', '0')
    >>> quantity(1e20), quantity(-math.inf), quantity(math.nan)
    ('1e+20', '-infinite', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinite" if value > 0.0 else "-infinite"
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    rounded = float(f"{value:.4g}")
    return f"{value:,.0f}" if abs(rounded) >= 1000.0 else f"{rounded + 0.0:.4g}"


def plus_minus(mean: float, stderr: float, sign: str = "") -> str:
    """A mean with its standard error: two digits of the error, or one if the mean has four without it.

    >>> plus_minus(1233.4, 45.2), plus_minus(0.1234, 0.0567, "+"), plus_minus(260.64, 0.81), plus_minus(200.42, 0.024)
    ('1,233 ± 45', '+0.123 ± 0.057', '260.6 ± 0.8', '200.42 ± 0.02')
    >>> plus_minus(12.5, math.nan)
    '12.50'
    """
    most = max(3 - _magnitude(mean), 0)
    if not math.isfinite(stderr):
        return f"{mean:{sign},.{min(most, 3)}f}"
    one = -_magnitude(stderr)
    decimals = min(max(one + 1, 0), max(most, one), 4) if stderr > 0.0 else 1
    return f"{mean:{sign},.{decimals}f} ± {stderr:,.{decimals}f}"


def _magnitude(number: float) -> int:
    """The power of ten of a number's first digit."""
    return math.floor(math.log10(abs(number))) if number else 0


def percentage(part: float, whole: float = 1.0) -> str:
    """A share in per cent; 0% and 100% only where they are exact.

    >>> percentage(1, 3), percentage(0, 5), percentage(5, 5), percentage(1, 5000), percentage(0.9998)
    ('33.3%', '0%', '100%', '<0.1%', '>99.9%')
    """
    if whole <= 0.0 or part == 0.0:
        return "0%"
    if part == whole:
        return "100%"
    per_cent = 100.0 * part / whole
    if per_cent < 0.1:
        return "<0.1%"
    return f"{per_cent:.1f}%" if per_cent <= 99.9 else ">99.9%"


def duration(seconds: float) -> str:
    """A span of time in the one or two units that fit.

    >>> duration(0), duration(0.123), duration(2.5), duration(75), duration(3725), duration(7200), duration(180_000)
    ('0 s', '123 ms', '2.5 s', '1 min 15 s', '1 h 2 min', '2 h', '2 d 2 h')
    """
    if seconds < 59.5:
        in_milliseconds = 0.0 < seconds < 0.9995
        return f"{1000.0 * seconds:.3g} ms" if in_milliseconds else f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        units = ((minutes, "min"), (rest, "s"))
    elif minutes < 24 * 60:
        units = ((minutes // 60, "h"), (minutes % 60, "min"))
    else:
        units = ((minutes // 1440, "d"), (minutes % 1440 // 60, "h"))
    return " ".join(f"{count:,} {unit}" for count, unit in units if count)


def plural(number: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "run"), plural(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten(text: str, longest: int, ellipsis: str = "...") -> str:
    """A text of at most ``longest`` characters.

    >>> shorten("abcdefgh", 6), shorten("abcdefgh", 5, "…"), shorten("abc", 6)
    ('abc...', 'abcd…', 'abc')
    """
    return text if len(text) <= longest else f"{text[: longest - len(ellipsis)]}{ellipsis}"


def brief(value: object, longest: int = 48) -> str:
    """A law in a few letters: its values without their names, those that are not the default.

    >>> from belated.delays import ByReward, Fixed, Pareto
    >>> brief(Pareto(0.123456)), brief(ByReward({0: Fixed(0), 1: Fixed(30)}))
    ('Pareto(0.1235)', 'ByReward({0: Fixed(0), 1: Fixed(30)})')
    """
    return shorten(_brief(value), longest, "…")


def _brief(value: object) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        if not hasattr(type(value).__repr__, "__wrapped__"):  # written by hand, not by dataclass
            return repr(value)
        shown = [field for field in fields(value) if field.init]
        given = [getattr(value, field.name) for field in shown]
        needed = [x for field, x in zip(shown, given, strict=True) if field.default is MISSING or x != field.default]
        return f"{type(value).__name__}({', '.join(map(_brief, needed))})"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_brief(key)}: {_brief(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_brief, value)) + "]"
    return repr(value)


def unique_labels(labels: Sequence[str], details: Sequence[str] | None = None) -> list[str]:
    """Make labels unique: those that occur twice are replaced by their details and, if these are equal too, numbered.

    >>> unique_labels(["UCB", "SE", "UCB"], ["UCB(1)", "SE(1)", "UCB(2)"])
    ['UCB(1)', 'SE', 'UCB(2)']
    >>> unique_labels(["UCB", "UCB"])
    ['UCB #1', 'UCB #2']
    """
    count = Counter(labels)
    detailed = [detail if count[label] > 1 else label for label, detail in zip(labels, details or labels, strict=True)]
    total, before = Counter(detailed), Counter[str]()
    for index, label in enumerate(detailed):
        before[label] += 1
        if total[label] > 1:
            detailed[index] = f"{label} #{before[label]}"
    return detailed


def natural_order(text: str) -> list[tuple[int, float, str]]:
    """A key for sorting that compares the numbers in texts as numbers.

    >>> sorted(["c=10", "c=2", "b"], key=natural_order)
    ['b', 'c=2', 'c=10']
    """
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(1, float(part), "") if number % 2 else (0, 0.0, part) for number, part in enumerate(parts)]
