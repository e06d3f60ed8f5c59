"""Time as the service writes it: microseconds since 1970 inside, RFC 3339 in UTC outside."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:)(\d\d)((?:\.\d+)?(?:Z|[+-]\d\d:\d\d))", re.ASCII)
_START = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST, LATEST = (
    (end.replace(tzinfo=UTC) - _START) // timedelta(microseconds=1) for end in (datetime.min, datetime.max)
)
"""The first and the last time that can be shown."""


@lru_cache(256)
def _second(seconds: int) -> str:
    return (_START + timedelta(seconds=seconds)).isoformat()[:19]


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def shown(at: int) -> str:
    """Microseconds since 1970 as RFC 3339.

    >>> shown(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    seconds, rest = divmod(at, 1_000_000)
    return f"{_second(seconds)}.{rest:06d}Z"


def read(text: str) -> int | None:
    """RFC 3339 as microseconds since 1970; None if it is no such time, or outside of the years 1 to 9999 in UTC.

    >>> read("2023-11-14T23:13:20+01:00")
    1700000000000000
    >>> read("yesterday")
    """
    found = _FORM.fullmatch(text.upper())
    if found is None:
        return None
    day, second, rest = found.groups()
    leap = second == "60"  # as the first second after it
    try:
        time = datetime.fromisoformat(f"{day}{'59' if leap else second}{rest}").astimezone(UTC)
        time += timedelta(seconds=leap)
    except (ValueError, OverflowError):
        return None
    return (time - _START) // timedelta(microseconds=1)
