"""Settings of the server, in order of precedence: flags, environment, file, defaults."""

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

LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Settings:
    """The database, the address to listen on, and the log level."""

    db: str = "bandits.db"
    host: str = "127.0.0.1"
    port: int = 8000
    log: str = "info"

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigurationError(f"port is {self.port}; give a number from 0 to 65535.")
        if self.log not in LOG_LEVELS:
            raise ConfigurationError(f"log is {self.log!r}; give one of {', '.join(LOG_LEVELS)}.")
        if not self.db:
            raise ConfigurationError("db is empty; give a path, or postgresql://...")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether a host name or an address is a loopback.

    >>> is_loopback("LOCALHOST"), is_loopback("127.0.0.2"), is_loopback("[::1]"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


OTHER_VARIABLES = {
    "BELATED_CONFIG",
    "BELATED_CACHE_DIR",
    "BELATED_COMPILERS",
    "BELATED_EXAMPLES",
    "BELATED_SCREENSHOTS",
}
"""Variables of the package and its tests that are not settings of the server."""


def settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Settings:
    """The settings from ``flags`` that are not None, the variables ``BELATED_DB`` etc., the file ``BELATED_CONFIG`` (or
    the flag ``config``), and the defaults."""
    variables = os.environ if environment is None else environment
    given = dict(flags)
    config = given.pop("config", None) or variables.get("BELATED_CONFIG")
    values: dict[str, Any] = _from_file(Path(config)) if config else {}
    names = {f"BELATED_{field.name.upper()}": field.name for field in fields(Settings)}
    for name in sorted(variables):
        if name.startswith("BELATED_") and name not in names and name not in OTHER_VARIABLES:
            allowed = ", ".join(sorted([*names, *OTHER_VARIABLES]))
            raise ConfigurationError(f"{name} is not a setting; give one of {allowed}.")
    for name, field in names.items():
        for value, where in ((variables.get(name), name), (given.get(field), field)):
            if value is not None:
                values[field] = port_of(value, where) if field == "port" and isinstance(value, str) else value
    return Settings(**values)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    allowed = {field.name for field in fields(Settings)}
    for key, value in data.items():
        if key not in allowed:
            raise ConfigurationError(f"{path}: {key} is not a setting; give one of {', '.join(sorted(allowed))}.")
        expected = int if key == "port" else str
        if not isinstance(value, expected) or isinstance(value, bool):
            raise ConfigurationError(f"{path}: {key} is {value!r}; give {'a number' if key == 'port' else 'a string'}.")
    return data


def port_of(text: str, where: str = "port") -> int:
    """A port given as text, or an error."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) <= 65535):
        raise ConfigurationError(f"{where} is {text!r}; give a number from 0 to 65535.")
    return int(text)
