"""The names of a live bandit's arms: any hashable objects, and how they are saved as plain data.

Text, numbers, True, False, None and tuples of them are saved as they are and come back equal. Of other objects only a
description is saved, and the bandit is restored with the objects themselves."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from belated.errors import InvalidParameter, StateError
from belated.live.types import Name

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def check_arms(arms: Sequence[Name]) -> tuple[Name, ...]:
    """Return the names of the arms, which must be hashable and different from each other."""
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise InvalidParameter(f"arms is {arms!r}; give a list of at least one name, such as ['red', 'green'].")
    known: dict[Any, int] = {}
    for index, name in enumerate(arms):
        try:
            earlier = known.setdefault(name, index)
        except TypeError:
            raise InvalidParameter(
                f"arms[{index}] is {name!r}, which cannot be hashed; give a name such as a string, a number or a tuple."
            ) from None
        if isinstance(name, str) and not name:
            raise InvalidParameter(f"arms[{index}] is {name!r}; give a name that is not empty.")
        if isinstance(name, float) and math.isnan(name):
            raise InvalidParameter(f"arms[{index}] is {name!r}, which does not equal itself; give another name.")
        if earlier != index:
            equal = "again" if repr(arms[earlier]) == repr(name) else f"which equals arms[{earlier}], {arms[earlier]!r}"
            raise InvalidParameter(f"arms[{index}] is {name!r}, {equal}; give each name once.")
    return tuple(arms)


def check_arm_names(arms: Any) -> tuple[str, ...]:
    """Return the names of the arms on a server: strings, which are not empty and different from each other."""
    names = [] if isinstance(arms, str | bytes) or not isinstance(arms, Sequence) else arms
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"arms[{index}] is {name!r}; give a name, a string that is not empty.")
    return check_arms(arms)


def save_arms(arms: Sequence[Any]) -> list[Any]:
    """The names as plain data: ``{"tuple": [...]}`` for a tuple, ``{"object": text}`` for what JSON has no form for.

    >>> save_arms(["red", 10, (1, "a")]), save_arms([frozenset([2, 1])])
    (['red', 10, {'tuple': [1, 'a']}], [{'object': 'frozenset({1, 2})'}])
    """
    return [_save(name) for name in arms]


def _save(name: Any) -> Any:
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, str):
        return str.__str__(name)  # that of an enum's member is its value
    if name is None or isinstance(name, bool):
        return name
    if isinstance(name, int) and not isinstance(name, enum.Enum):
        return int(name)
    if isinstance(name, float) and math.isfinite(name) and not isinstance(name, enum.Enum):
        return float(name)
    if type(name) is tuple:
        return {"tuple": [_save(part) for part in name]}
    return {"object": _describe(name)}


def _describe(name: Any) -> str:
    """The same text in every process."""
    if isinstance(name, frozenset):
        return f"frozenset({{{', '.join(sorted(map(_describe, name)))}}})"
    return _ADDRESS.sub("", repr(name))


def restore_arms(saved: Any, arms: Sequence[Any] | None) -> Sequence[Any]:
    """The names of a saved bandit. ``arms`` are the objects themselves, if given: they must be the saved ones."""
    if not isinstance(saved, list):
        raise StateError(f"its arms are {saved!r}; give what to_dict() returned.")
    if arms is None:
        return [_restore(name) for name in saved]
    if len(arms) != len(saved):
        raise StateError(f"{len(arms)} arms are given, and the saved bandit has {len(saved)}; give the same arms.")
    for index, (name, before) in enumerate(zip(arms, saved, strict=True)):
        if _save(name) != before:
            raise StateError(
                f"arms[{index}] is {name!r}, and the saved bandit has {_text(before)} there; give the same arms in the "
                "same order."
            )
    return arms


def _restore(saved: Any) -> Any:
    if not isinstance(saved, dict):
        return saved
    if set(saved) == {"tuple"} and isinstance(saved["tuple"], list):
        return tuple(_restore(part) for part in saved["tuple"])
    raise StateError(
        f"the saved bandit has the arm {_text(saved)}, for which JSON has no form; give the arms again, as "
        "Bandit.from_dict(data, arms=[...])."
    )


def _text(saved: Any) -> str:
    return str(saved["object"]) if isinstance(saved, dict) and "object" in saved else repr(saved)
