"""Keys of plain data: errors that name the key, what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from belated.errors import ConfigurationError
from belated.validation import check_integer


def mapping(data: Any, at: str, what: str) -> Mapping[str, Any]:
    """The data as a table; an error that says ``what`` to give if it is none."""
    if not isinstance(data, Mapping):
        raise ConfigurationError(f"{at} is {fmt(data)}; give {what}.")
    return data


def integer(value: Any, at: str, low: int, high: int | None = None) -> int:
    """A whole number from ``low`` to ``high``; 2e4 is one."""
    return check_integer(at, value, low, high, accept_whole_floats=True, error=ConfigurationError, show=fmt)


def reject_unknown(data: Mapping[str, Any], allowed: Iterable[str], at: str, owner: str) -> None:
    """An error that names the first key which is not allowed, and the nearest one that is."""
    known = list(allowed)
    for key in data:
        if key not in known:
            place = f"{at}.{key}" if at else str(key)
            takes = ", ".join(known) or "nothing"
            raise ConfigurationError(f"{place} is not known.{suggest(key, known)} {owner} takes {takes}.")


def suggest(given: Any, known: Iterable[str]) -> str:
    """`` Did you mean ...?``, or nothing where no name is near."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(str(given).lower(), names, n=1)
    return f" Did you mean {names[near[0]]!r}?" if near else ""


def fmt(value: Any) -> str:
    """A value as it stands in a message: short, and tables as a file has them."""
    text = _written(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_written(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return repr(value) if isinstance(value, int | float | str) or value is None else str(value)
