"""Reading TOML files: tables become objects, and each error names the key, what was given and what is allowed."""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from belated.errors import ConfigurationError
from belated.formatting import shorten
from belated.validation import MAX_HORIZON, Domain, annotation, check_integer, check_number, fields_of

T = TypeVar("T")
_WORDS: dict[Any, str] = {str: "text in quotes", float: "a number", int: "a whole number", bool: "true or false"}


@dataclass(frozen=True)
class Key:
    """How a dataclass field is read from a table, where its type does not say it all."""

    name: str = ""
    """The key in the file, if it is not the field's name."""
    read: Callable[[Any, str], Any] | None = None
    """Reads the value; gets the key too, for its errors."""
    give: str = ""
    """What to give, for the error when the key is missing."""


STANDARD_INPUT = Path("-")
"""The path that stands for standard input."""


def source_name(path: Path) -> str:
    """How errors call a file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def source_stem(path: Path) -> str:
    """The name of a file without folder and suffix, for titles and output folders."""
    return "stdin" if path == STANDARD_INPUT else path.stem


def load_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file, or standard input for ``-``; a syntax error names the line."""
    try:
        text = (sys.stdin.buffer.read() if path == STANDARD_INPUT else path.read_bytes()).decode()
    except FileNotFoundError:
        raise ConfigurationError("there is no such file; give the path of a TOML file.") from None
    except IsADirectoryError:
        raise ConfigurationError("this is a folder; give the path of a TOML file.") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"byte {error.start} is not UTF-8; save the file as UTF-8 text.") from None
    except OSError as error:
        raise ConfigurationError(f"the file cannot be read: {error.strerror}.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(_located(str(error), text)) from None


def _located(message: str, text: str) -> str:
    position = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    lines = text.splitlines()
    if position is None or not 1 <= int(position[1]) <= len(lines):
        return f"this is not TOML: {message.replace('end of document', f'the end, line {len(lines)}')}."
    number, column = int(position[1]), int(position[2])
    line = lines[number - 1].replace("\t", " ")
    return (
        f"line {number} is not TOML: {message[: position.start()]}, at column {column}.\n"
        f"  {number} | {line}\n  {' ' * len(str(number))} | {' ' * (column - 1)}^"
    )


def find_modules_beside(path: Path) -> None:
    """Let modules beside the file be imported: a user's own policy or family may be there."""
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)


@contextmanager
def naming(prefix: str) -> Iterator[None]:
    """Put a key or a file name before the message of an error."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{prefix}: {error}") from error.__cause__


def from_table(cls: type[T], data: Any, at: str, owner: str = "") -> T:
    """Build a dataclass from a table: its fields are the keys, their annotations say what each may be."""
    owner = owner or cls.__name__
    values = mapping(data, at, f"a table for {owner}")
    hints = get_type_hints(cls, include_extras=True)
    by_key = {(annotation(hints[field.name], Key) or Key()).name or field.name: field for field in fields_of(cls)}
    reject_unknown(values, by_key, at, owner)
    for key, field in by_key.items():
        if key not in values and field.required:
            give = _to_give(hints[field.name]) or f"it: {owner} needs it"
            raise ConfigurationError(f"{join(at, key)} is missing; give {give}.")
    names = {key: by_key[key].name for key in values}
    return cls(**{names[key]: _read(value, hints[names[key]], join(at, key)) for key, value in values.items()})


def from_table_by_kind(kinds: Mapping[str, type[T]], data: Any, at: str) -> T:
    """Build an object of the class that the table's key ``kind`` names."""
    values = dict(mapping(data, at, "a table with kind"))
    name = values.pop("kind", None)
    if not isinstance(name, str) or name not in kinds:
        raise ConfigurationError(f"{at}.kind is {fmt(name)}.{suggest(name, kinds)} Give one of {', '.join(kinds)}.")
    return from_table(kinds[name], values, at)


def _to_give(hint: Any) -> str:
    key, domain = annotation(hint, Key), annotation(hint, Domain)
    if key is not None and key.give:
        return key.give
    return domain.describe() if domain is not None else _WORDS.get(_plain_type(hint), "")


def _plain_type(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _read(value: Any, hint: Any, at: str) -> Any:
    """The value as the annotation asks: lists as tuples, tables as objects, numbers inside their domain."""
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        key, domain = annotation(hint, Key), annotation(hint, Domain)
        if key is not None and key.read is not None:
            return key.read(value, at)
        return within(domain, value, at) if domain is not None else _read(value, _plain_type(hint), at)
    if origin in (Union, UnionType):  # X | None: a file cannot say None
        return _read(value, get_args(hint)[0], at)
    if origin is tuple:
        if not isinstance(value, list):
            raise ConfigurationError(f"{at} is {fmt(value)}; give a list.")
        return tuple(_read(part, get_args(hint)[0], key) for key, part in indexed(value, at))
    if origin is not None and issubclass(origin, Mapping):
        return dict(mapping(value, at, "a table such as {delay = 200}"))
    if isinstance(hint, type) and is_dataclass(hint):
        return from_table(hint, value, at)
    good = isinstance(value, int | float) if hint is float else isinstance(value, hint)
    if not good or (isinstance(value, bool) and hint is not bool):
        raise ConfigurationError(f"{at} is {fmt(value)}; give {_WORDS.get(hint, hint.__name__)}.")
    return float(value) if hint is float else value


def within(domain: Domain, value: Any, at: str) -> Any:
    """The value as a plain number, if it lies in the domain; 2e4 is a whole number."""
    if domain.whole:
        return integer(value, at, int(domain.low), None if math.isinf(domain.high) else int(domain.high))
    return check_number(at, value, domain, error=ConfigurationError, show=fmt)


def integer(value: Any, at: str, low: int, high: int | None = None) -> int:
    """A whole number from ``low`` to ``high``; 2e4 is one."""
    return check_integer(at, value, low, high, accept_whole_floats=True, error=ConfigurationError, show=fmt)


def read_checkpoints(data: Any, at: str) -> int | list[int]:
    """A number of checkpoints, or the rounds themselves."""
    if isinstance(data, list) and data:
        return [integer(value, key, 1, MAX_HORIZON) for key, value in indexed(data, at)]
    if isinstance(data, int | float):
        return integer(data, at, 1, 10_000_000)
    raise ConfigurationError(f"{at} is {fmt(data)}; give a number of checkpoints, or a list of rounds.")


def text(value: Any, at: str) -> str:
    """A text that is not blank, on one line."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{at} is {fmt(value)}; give text in quotes.")
    return " ".join(value.split())


Text = Annotated[str, Key(read=text, give="text in quotes")]
"""A field with a text that is not blank, on one line."""


def mapping(data: Any, at: str, what: str) -> Mapping[str, Any]:
    """The data, if it is a table; else an error that says ``what`` to give."""
    if not isinstance(data, Mapping):
        raise ConfigurationError(f"{at} is {fmt(data)}; give {what}.")
    return data


def tables(data: Any, at: str) -> list[tuple[str, Mapping[str, Any]]]:
    """A list of tables, each with its key."""
    if not isinstance(data, list):
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list of tables.")
    return [(key, mapping(table, key, "a table")) for key, table in indexed(data, at)]


def indexed(data: Iterable[T], at: str) -> Iterator[tuple[str, T]]:
    """The items of a list, each with its key: ``at[0]``, ``at[1]``, ..."""
    return ((f"{at}[{number}]", item) for number, item in enumerate(data))


def join(at: str, key: str) -> str:
    """The full key of a key inside the table ``at``."""
    return f"{at}.{key}" if at else key


def reject_unknown(data: Mapping[str, Any], allowed: Iterable[str], at: str, owner: str) -> None:
    """Raise an error that names the first key that is not allowed, and the nearest one that is."""
    names = list(allowed)
    for key in data:
        if key not in names:
            takes = ", ".join(names) or "nothing"
            raise ConfigurationError(f"{join(at, str(key))} is not known.{suggest(key, names)} {owner} takes {takes}.")


def suggest(name: Any, names: Iterable[str]) -> str:
    """`` Did you mean ...?``, or nothing where no name is near."""
    spelled = {one.lower(): one for one in names}
    near = get_close_matches(str(name).lower(), spelled, n=1)
    return f" Did you mean {spelled[near[0]]!r}?" if near else ""


def fmt(value: Any) -> str:
    """A value for a message: short, and tables written as in a file."""
    return shorten(_written(value), 100)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_written(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return repr(value) if isinstance(value, int | float | str) or value is None else str(value)
