"""Settings of the server: flags, then the environment, then a file, then what is built in."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from belated.errors import ConfigurationError


@dataclass(frozen=True)
class Settings:
    """Where the server keeps its journal, where it listens, and how much it tells."""

    db: str = "bandits.db"
    host: str = "127.0.0.1"
    port: int = 8000
    log: str = "info"

    @property
    def loopback(self) -> bool:
        """Whether nobody outside this machine can reach it."""
        return is_loopback(self.host)


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether a name, or an address, is this machine's own.

    >>> is_loopback("LOCALHOST"), is_loopback("127.0.0.2"), is_loopback("[::1]"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


LOGS = ("debug", "info", "warning", "error")
OTHERS = {"BELATED_CONFIG", "BELATED_CACHE_DIR", "BELATED_COMPILERS", "BELATED_EXAMPLES", "BELATED_SCREENSHOTS"}
"""Variables that are no settings of the server's, but of the package's and its tests'."""


def settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Settings:
    """The settings: ``flags`` that are not None, ``BELATED_DB`` and so on, the file ``BELATED_CONFIG`` (or the flag
    ``config``), and what is built in."""
    surroundings = os.environ if environment is None else environment
    given = dict(flags)
    config = given.pop("config", None) or surroundings.get("BELATED_CONFIG")
    found: dict[str, Any] = _from_file(Path(config)) if config else {}
    _check_names(surroundings)
    for field in fields(Settings):
        name = f"BELATED_{field.name.upper()}"
        if name in surroundings:
            found[field.name] = _typed(field.name, surroundings[name], name)
        if given.get(field.name) is not None:
            found[field.name] = _typed(field.name, given[field.name], field.name)
    return _checked(Settings(**found))


def _check_names(surroundings: Mapping[str, str]) -> None:
    known = {f"BELATED_{field.name.upper()}" for field in fields(Settings)} | OTHERS
    for name in sorted(surroundings):
        if name.startswith("BELATED_") and name not in known:
            raise ConfigurationError(f"{name} is no setting; there are {', '.join(sorted(known))}.")


def _from_file(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    known = {field.name for field in fields(Settings)}
    for key, value in data.items():
        if key not in known:
            raise ConfigurationError(f"{path}: {key} is no setting; there are {', '.join(sorted(known))}.")
        wanted = int if key == "port" else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ConfigurationError(f"{path}: {key} is {value!r}; give {'a number' if key == 'port' else 'a text'}.")
    return data


def _typed(name: str, value: Any, where: str) -> Any:
    return port_of(value, where) if name == "port" and isinstance(value, str) else value


def port_of(text: str, where: str = "port") -> int:
    """A port that was given as a text, or an error."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= 65535):
        raise ConfigurationError(f"{where} is {text!r}; give a number from 0 to 65535.")
    return int(text)


def _checked(found: Settings) -> Settings:
    if not 0 <= found.port <= 65535:
        raise ConfigurationError(f"port is {found.port}; give a number from 0 to 65535.")
    if found.log not in LOGS:
        raise ConfigurationError(f"log is {found.log!r}; give one of {', '.join(LOGS)}.")
    if not found.db:
        raise ConfigurationError("db is empty; give a path, or postgresql://...")
    return found
