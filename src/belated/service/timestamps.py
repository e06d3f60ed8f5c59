"""Times: microseconds since 1970 inside, RFC 3339 in UTC outside."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_RFC_3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:)(\d\d)((?:\.\d+)?(?:Z|[+-]\d\d:\d\d))", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST, LATEST = (
    (end.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for end in (datetime.min, datetime.max)
)
"""The first and the last representable time."""


@lru_cache(256)
def _whole_seconds(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def isoformat(at: int) -> str:
    """Microseconds since 1970 as RFC 3339.

    >>> isoformat(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    seconds, micros = divmod(at, 1_000_000)
    return f"{_whole_seconds(seconds)}.{micros:06d}Z"


def parse(text: str) -> int | None:
    """RFC 3339 as microseconds since 1970; None if it is invalid, or outside of the years 1 to 9999 in UTC.

    >>> parse("2023-11-14T23:13:20+01:00")
    1700000000000000
    >>> parse("yesterday")
    """
    match = _RFC_3339.fullmatch(text.upper())
    if match is None:
        return None
    day, second, rest = match.groups()
    leap = second == "60"  # counts as the first second after it
    try:
        parsed = datetime.fromisoformat(f"{day}{'59' if leap else second}{rest}").astimezone(UTC)
        parsed += timedelta(seconds=leap)
    except (ValueError, OverflowError):
        return None
    return (parsed - _EPOCH) // timedelta(microseconds=1)
