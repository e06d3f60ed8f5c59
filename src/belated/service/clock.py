"""Time as the service writes it: microseconds since 1970 inside, RFC 3339 in UTC outside."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

_FORM = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_START = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def shown(at: int) -> str:
    """Microseconds since 1970 as RFC 3339.

    >>> shown(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    return (_START + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read(text: str) -> int | None:
    """RFC 3339 as microseconds since 1970; None if it is no such time.

    >>> read("2023-11-14T23:13:20+01:00")
    1700000000000000
    >>> read("yesterday")
    """
    if not _FORM.fullmatch(text):
        return None
    try:
        at = datetime.fromisoformat(text.upper()) - _START
    except (ValueError, OverflowError):
        return None
    return at // timedelta(microseconds=1)
