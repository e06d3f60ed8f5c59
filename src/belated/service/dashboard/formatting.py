"""Numbers, durations and names for people."""

from __future__ import annotations

from belated.formatting import compact, duration, grouped, shorten

__all__ = ["clock_time", "compact", "distinguishable", "duration", "figure", "grouped", "prefix", "share", "truncate"]

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
LONGEST = 40
"""Characters of a name where space is limited."""


def share(part: float) -> str:
    """A fraction in percent.

    >>> share(0.5), share(0.0012), share(1.0), share(0.0)
    ('50 %', '0.1 %', '100 %', '0 %')
    """
    value = 100.0 * part
    return f"{value:.1f} %" if 0.0 < value < 10.0 else f"{value:.0f} %"


def figure(value: float | None) -> str:
    """An estimate."""
    return "–" if value is None else f"{value:.3f}"


def prefix(first: int, pulls: int) -> str:
    """The pulls that a bound comes from.

    >>> prefix(1204, 5000), prefix(5000, 5000), prefix(1, 7)
    ('from the first 1,204 pulls', 'from all 5,000 pulls', 'from the first pull')
    """
    if first == pulls:
        return f"from all {grouped(pulls)} pulls" if pulls > 1 else "from its only pull"
    return f"from the first {grouped(first)} pulls" if first > 1 else "from the first pull"


def distinguishable(a: float, b: float) -> tuple[str, str]:
    """Two numbers with enough digits to see which is larger.

    >>> distinguishable(0.41, 0.52), distinguishable(0.421219, 0.421231)
    (('0.4100', '0.5200'), ('0.42122', '0.42123'))
    """
    digits = next((n for n in range(4, 17) if f"{a:.{n}f}" != f"{b:.{n}f}"), 4)
    return f"{a:.{digits}f}", f"{b:.{digits}f}"


def truncate(name: str, longest: int = LONGEST) -> str:
    """Shorten a long name.

    >>> truncate("a" * 50, 5)
    'aaaa…'
    """
    return shorten(name, longest, "…")


def clock_time(text: str) -> str:
    """RFC 3339 to the second, without the T.

    >>> clock_time("2023-11-14T22:13:20.000000Z")
    '2023-11-14 22:13:20'
    """
    return text[:19].replace("T", " ")
