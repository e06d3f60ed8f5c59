"""Numbers, durations and names for people."""

from __future__ import annotations

import math

from belated.formatting import compact, duration, grouped, shorten

__all__ = [
    "clock_time",
    "compact",
    "correction",
    "distinguishable",
    "duration",
    "figure",
    "grouped",
    "prefix",
    "share",
    "sureness",
    "truncate",
]

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
LONGEST = 40
"""Characters of a name where space is limited."""
CORRECTED_FROM = math.erf(math.sqrt(2.0))
"""Two standard deviations, 95.4 %: from here on a mean is corrected."""
SURE = 0.999
"""From here on a dependence is stated. Below, it may be chance, as one looks at a page again and again; how often is
measured by benchmarks/false_alarms.py."""


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


def sureness(dependence: float | None) -> str:
    """How sure a policy is that delays depend on rewards; never quite.

    >>> sureness(0.0), sureness(0.314), sureness(0.99999), sureness(None)
    ('0 %', '31 %', '> 99.9 %', '–')
    """
    if dependence is None:
        return "–"
    return "> 99.9 %" if dependence >= SURE else f"{math.floor(100.0 * dependence)} %"


def correction(observed: int, mean: float, corrected: float, dependence: float) -> str:
    """What the corrected mean of an arm with feedback says.

    >>> correction(500, 0.2, 0.31, 0.9999)
    'High rewards come later than low ones. The mean so far, 0.200, is too low; corrected, it is 0.310.'
    >>> correction(500, 0.2, 0.204, 0.97)
    'Perhaps, or by chance. The mean so far, 0.200, is corrected a little, to 0.204.'
    >>> correction(500, 0.2, 0.201, 0.314)
    'No sign of it. The mean so far, 0.200, is not corrected.'
    """
    so_far = f"The mean so far, {figure(mean)},"
    if dependence < CORRECTED_FROM:
        if mean in (0.0, 1.0):
            rest = f"The rest may differ: its mean is taken to be {figure(corrected)}."
            return f"All its feedback so far is {mean:g}. {rest}"
        return f"No sign of it. {so_far} is not corrected."
    if dependence < SURE:
        return f"Perhaps, or by chance. {so_far} is corrected a little, to {figure(corrected)}."
    if abs(corrected - mean) <= 0.5 / (observed + 1):  # no more than it is moved towards 1/2 in any case
        return f"They do, but it matters little. {so_far} is nearly right; corrected, it is {figure(corrected)}."
    later, earlier, off = ("High", "low", "low") if corrected > mean else ("Low", "high", "high")
    return (
        f"{later} rewards come later than {earlier} ones. {so_far} is too {off}; corrected, it is {figure(corrected)}."
    )


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
