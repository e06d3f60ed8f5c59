"""Ids that the client chooses, so that a request can be sent again without being done twice."""

from __future__ import annotations

import os
import re
import time
import uuid
from typing import Any
from urllib.parse import quote

import numpy as np

from belated.errors import InvalidParameter, UnknownDecision

LONGEST = 128
"""Characters of an id."""
LONGEST_KNOWN = 132
"""Of a decision that was made: one of several has the id that was given, a dot and a number up to 999."""

_TEXT = re.compile(r"(?!\.\.?$)[^\x00-\x1f\x7f/\ud800-\udfff]+")


def new_id() -> str:
    """A UUID of version 7: the time in milliseconds, then 74 random bits."""
    return str(_version_7(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10))))


def _version_7(milliseconds: int, random: int) -> uuid.UUID:
    """
    >>> _version_7(1_700_000_000_000, 2**80 - 1)
    UUID('018bcfe5-6800-7fff-bfff-ffffffffffff')
    """
    high = (milliseconds & (1 << 48) - 1) << 16 | 7 << 12 | random >> 62 & 0xFFF
    return uuid.UUID(int=high << 64 | 2 << 62 | random & (1 << 62) - 1)


def checked_id(id: Any, ending: int = 0) -> str:
    """An id of the caller's own, or an error; so many characters will follow it."""
    if not isinstance(id, str) or not _TEXT.fullmatch(id) or len(id) + ending > LONGEST:
        raise InvalidParameter(
            f"id is {id!r}; give a text of 1 to {LONGEST - ending} characters without '/' and control characters, or "
            "none."
        )
    return id


def known_id(experiment: str | None, id: Any) -> str:
    """The id of a decision that was made. Numbers are those of a bandit that moved to the experiment."""
    if isinstance(id, int | np.integer) and not isinstance(id, bool) and experiment is not None and id >= 0:
        return f"{experiment}.{id}"
    if not isinstance(id, str) or not _TEXT.fullmatch(id) or len(id) > LONGEST_KNOWN:
        raise UnknownDecision(f"there is no decision {id!r}. Give the id of a decision that choose() returned.")
    return id


def in_path(text: str) -> str:
    """A text as a part of an address.

    >>> in_path("50 % off?")
    '50%20%25%20off%3F'
    """
    return quote(text, safe="")
