"""Numbers as people read them."""

from __future__ import annotations

import math


def give_or_take(mean: float, stderr: float, sign: str = "") -> str:
    """A mean with its standard error: two figures of the error, but no more than four of the mean.

    >>> give_or_take(1233.4, 45.2), give_or_take(0.1234, 0.0567, "+"), give_or_take(260.64, 0.81)
    ('1,233 ± 45', '+0.123 ± 0.057', '260.6 ± 0.8')
    >>> give_or_take(12.5, math.nan)
    '12.50'
    """
    most = max(3 - _magnitude(mean), 0)
    if not math.isfinite(stderr):
        return f"{mean:{sign},.{min(most, 3)}f}"
    places = min(max(1 - _magnitude(stderr), 0), most, 4) if stderr > 0.0 else 1
    return f"{mean:{sign},.{places}f} ± {stderr:,.{places}f}"


def _magnitude(number: float) -> int:
    """The power of ten of a number's first figure."""
    return math.floor(math.log10(abs(number))) if number else 0


def share(part: float, whole: float) -> str:
    """A part in per cent; never 0 or 100 where it is not quite that.

    >>> share(1, 3), share(0, 5), share(5, 5), share(1, 5000), share(4999, 5000)
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


def many(number: int, what: str) -> str:
    """A number of things.

    >>> many(1, "run"), many(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def short(number: float) -> str:
    """A large number in three figures.

    >>> short(12_345_678), short(950), short(2.5e9)
    ('12.3 M', '950', '2.5 G')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def seconds(number: float) -> str:
    """A span of time.

    >>> seconds(0.123), seconds(75), seconds(3725)
    ('0.12 s', '1 min 15 s', '1 h 2 min')
    """
    if number < 60.0:
        return f"{number:.2f} s" if number < 10.0 else f"{number:.0f} s"
    minutes = int(number) // 60
    return f"{minutes} min {int(number) % 60} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plain(value: object) -> str:
    """A value of a parameter: 20,000 and 0.05 and None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
