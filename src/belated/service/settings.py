"""Settings of the server, in order of precedence: flags, environment, file, defaults."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from belated.errors import BelatedWarning, ConfigurationError

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


OTHER_VARIABLES = {"BELATED_CONFIG", "BELATED_CACHE_DIR", "BELATED_COMPILERS", "BELATED_DEBUG"}
"""Variables of the package that are not settings of the server."""
_OF_THE_TESTS = {"BELATED_EXAMPLES", "BELATED_SCREENSHOTS"}
_KUBERNETES = re.compile(r"BELATED(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")
"""Variables that Kubernetes gives every container for a Service whose name begins with belated."""


def settings(flags: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Settings:
    """The settings from ``flags`` that are not None, the variables ``BELATED_DB`` etc., the file ``BELATED_CONFIG`` (or
    the flag ``config``), and the defaults; :func:`warn_about_variables` names those that are ignored."""
    variables = os.environ if environment is None else environment
    given = dict(flags)
    config = given.pop("config", None) or variables.get("BELATED_CONFIG")
    values: dict[str, Any] = _from_file(Path(config)) if config else {}
    ours = {name: value for name, value in variables.items() if not _is_foreign(name, value)}
    for name, field in _NAMES.items():
        for value, where in ((ours.get(name), name), (given.get(field), field)):
            if value is not None:
                values[field] = port_of(value, where) if field == "port" and isinstance(value, str) else value
    return Settings(**values)


_NAMES = {f"BELATED_{field.name.upper()}": field.name for field in fields(Settings)}
"""The field of each variable."""


def warn_about_variables(variables: Mapping[str, str]) -> None:
    """Warn about variables that look like settings and are none: of another program, or misspelt."""
    foreign = [name for name in sorted(variables) if _is_foreign(name, variables[name])]
    kubernetes = [name for name in foreign if _KUBERNETES.fullmatch(name)]
    unknown = [name for name in foreign if name not in kubernetes]
    if kubernetes:
        BelatedWarning.issue(
            f"{_listed(kubernetes)} ignored: Kubernetes sets {'it' if len(kubernetes) == 1 else 'them'} for a Service "
            "whose name begins with belated. Give the port as --port or in the file."
        )
    if unknown:
        allowed = ", ".join(sorted([*_NAMES, *OTHER_VARIABLES]))
        BelatedWarning.issue(f"{_listed(unknown)} ignored, being no setting; settings are {allowed}.")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _is_foreign(name: str, value: str) -> bool:
    """Whether a variable begins as settings do, and is none."""
    if name == "BELATED_PORT":
        return "://" in value  # Kubernetes' own: tcp://10.0.0.1:80
    return name.startswith("BELATED_") and not (name in _NAMES or name in OTHER_VARIABLES | _OF_THE_TESTS)


def _from_file(path: Path) -> dict[str, Any]:
    is_input = str(path) == "-"
    try:
        data = tomllib.loads(sys.stdin.read() if is_input else path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{'standard input' if is_input else path} cannot be read: {error}") from None
    path = Path("standard input") if is_input else path
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
