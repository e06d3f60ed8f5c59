"""Tables of a file as objects: a dataclass's fields are the keys, its annotations say what each may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from belated.errors import ConfigurationError, InvalidParameter
from belated.specs.tables import fmt, mapping, reject_unknown, suggest
from belated.studies.study import Study
from belated.validation import Domain

T = TypeVar("T")
_WORDS: dict[Any, str] = {str: "text in quotes", float: "a number", int: "a whole number", bool: "true or false"}


def _hints(cls: Any) -> dict[str, Any]:
    return _hints_once(cls)


@cache
def _hints_once(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def from_table(cls: type[T], data: Any, at: str) -> T:
    """An object of a dataclass from a table; each error names the key."""
    values = mapping(data, at, f"a table for {cls.__name__}")
    hints = _hints(cls)
    known = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    reject_unknown(values, known, at, cls.__name__)
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigurationError(f"{at}.{name} is missing; {cls.__name__} needs it.")
    return cls(**{name: _fitting(value, hints[name], f"{at}.{name}") for name, value in values.items()})


def from_table_by_kind(kinds: Mapping[str, type[T]], data: Any, at: str) -> T:
    """An object of the class that the table's key ``kind`` names."""
    values = dict(mapping(data, at, "a table with kind"))
    name = values.pop("kind", None)
    if not isinstance(name, str) or name not in kinds:
        raise ConfigurationError(f"{at}.kind is {fmt(name)}.{suggest(name, kinds)} Give one of {', '.join(kinds)}.")
    return from_table(kinds[name], values, at)


def _fitting(value: Any, wanted: Any, at: str) -> Any:
    """The value as the annotation wants it: lists as tuples, tables as objects."""
    origin = get_origin(wanted)
    if origin is Annotated:
        plain, *extras = get_args(wanted)
        found = _fitting(value, plain, at)
        for domain in extras:
            if isinstance(domain, Domain):
                with naming(at):
                    _inside(domain, found)
        return found
    if origin is tuple:
        each = get_args(wanted)[0]
        if not isinstance(value, list):
            raise ConfigurationError(f"{at} is {fmt(value)}; give a list.")
        return tuple(_fitting(part, each, f"{at}[{place}]") for place, part in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        return dict(mapping(value, at, "a table such as {delay = 200}"))
    if isinstance(wanted, type) and is_dataclass(wanted):
        return from_table(wanted, value, at)
    good = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
    if not good or (isinstance(value, bool) and wanted is not bool):
        raise ConfigurationError(f"{at} is {fmt(value)}; give {_WORDS.get(wanted, wanted.__name__)}.")
    return float(value) if wanted is float else value


def check_names(owner: Any, study: Study, at: str) -> None:
    """Every policy and every axis that an object names is one of the study."""
    hints = _hints(type(owner))
    known: dict[str, Callable[[str], Any]] = {"policy": study.policy, "axis": study.axis}
    for field in fields(owner):
        value = getattr(owner, field.name)
        many = isinstance(value, tuple)
        wanted = get_args(hints[field.name])[0] if many else hints[field.name]
        roles = [role for role in getattr(wanted, "__metadata__", ()) if role in known]
        for place, one in enumerate(value if many else [value]):
            key = f"{at}.{field.name}[{place}]" if many else f"{at}.{field.name}"
            if is_dataclass(one):
                check_names(one, study, key)
            elif roles and one:
                with naming(key):
                    known[roles[0]](one)


def _inside(domain: Domain, value: Any) -> None:
    try:
        domain.check("it", "it", value)
    except InvalidParameter:
        raise ConfigurationError(f"it is {fmt(value)}; give {domain.describe()}.") from None


def check_range(owner: Any, at: str) -> None:
    """A range that says something: two ends, the lower below the upper."""
    if not (hasattr(owner, "low") and hasattr(owner, "high")):
        return
    if not owner.low <= owner.high or (math.isinf(owner.low) and math.isinf(owner.high)):
        raise ConfigurationError(
            f"{at}: low is {owner.low:g} and high {owner.high:g}; give one of them or both, low not above high."
        )


@contextmanager
def naming(at: str) -> Iterator[None]:
    """Puts a key before the message of an error."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{at}: {error}") from error


def text(data: Mapping[str, Any], key: str, at: str) -> str:
    """The text under a key, on one line."""
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{at}{'.' if at else ''}{key} is {fmt(value)}; give text in quotes.")
    return " ".join(value.split())


def texts(data: Any, at: str) -> list[str]:
    """A list of texts."""
    if not isinstance(data, list) or not all(isinstance(value, str) for value in data):
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list of texts.")
    return [" ".join(value.split()) for value in data]


def flag(data: Mapping[str, Any], key: str, at: str) -> bool:
    """Whether a key is true; false if it is left out."""
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise ConfigurationError(f"{at}.{key} is {fmt(value)}; give true or false.")
    return value


def number(data: Mapping[str, Any], key: str, at: str, default: float, low: float, high: float) -> float:
    """A number between two others."""
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low < value < high:
        raise ConfigurationError(f"{at}.{key} is {fmt(value)}; give a number between {low:g} and {high:g}.")
    return float(value)


def tables(data: Any, at: str) -> list[tuple[str, Mapping[str, Any]]]:
    """A list of tables, each with its key."""
    if not isinstance(data, list):
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list of tables.")
    return [(f"{at}[{place}]", mapping(value, f"{at}[{place}]", "a table")) for place, value in enumerate(data)]
