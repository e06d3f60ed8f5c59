"""Rewards and delays that depend on nothing but names and numbers, for bandits and servers that are played by hand."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def chance(*parts: object) -> float:
    """A number in [0, 1), always the same for the same parts."""
    text = "/".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2.0**48


def reward_of(arm: int, number: int, graded: bool = False) -> float:
    """The reward of a decision: 0 or 1, or ``graded``, a number between."""
    rate = 0.2 + 0.13 * (arm % 5)
    draw = chance("reward", arm, number)
    return round(0.6 * rate + 0.4 * draw, 4) if graded else float(draw < rate)


def delay_of(number: int, longest: int = 40) -> int | None:
    """After how many more decisions the answer comes; None: never."""
    draw = chance("delay", number)
    return None if draw < 0.1 else int(longest * ((draw - 0.1) / 0.9) ** 2)


def plain(data: Any) -> Any:
    """Data with numbers to the bit: floats as hexadecimal text."""
    if isinstance(data, float):
        return data.hex()
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list | tuple) else data


def hashed(data: Any) -> str:
    """A short hash of plain data."""
    return hashlib.sha256(json.dumps(plain(data), sort_keys=True).encode()).hexdigest()[:16]
