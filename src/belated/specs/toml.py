"""Reading TOML; errors name the line."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from belated.errors import ConfigurationError


def find_modules_beside(path: Path) -> None:
    """A family or a class of the user's own may lie in a module beside the file."""
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)


def load_toml(path: Path) -> dict[str, Any]:
    """The data of a file."""
    try:
        text = path.read_bytes().decode()
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
    """A syntax error with the line in which it stands."""
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    lines = text.splitlines()
    if found is None or not 1 <= int(found[1]) <= len(lines):
        return f"this is no TOML: {message.replace('end of document', f'the end, line {len(lines)}')}."
    number, column = int(found[1]), int(found[2])
    line = lines[number - 1].replace("\t", " ")
    return (
        f"line {number} is no TOML: {message[: found.start()]}, at column {column}.\n"
        f"  {number} | {line}\n  {' ' * len(str(number))} | {' ' * (column - 1)}^"
    )
