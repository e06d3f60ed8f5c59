"""What both clients are made from: an address, a key, patience, and one experiment or any."""

from __future__ import annotations

import copy
import math
from typing import Any, Self
from urllib.parse import urlsplit

from belated._version import __version__
from belated.client.operations import Verbs
from belated.client.protocol import Call, Failure, Reply, RetryPolicy
from belated.errors import InvalidParameter, MissingComponent

KEPT_OPEN = 100
"""Connections."""
OPEN_FOR = 4.0
"""Seconds that a connection is kept without being used: less than servers do, so that they seldom close one first."""


class Base:
    """A client but for what carries its requests, ``http``."""

    def __init__(
        self, url: str, experiment: str | None, key: str | None, timeout: float, retries: int, wait: float
    ) -> None:
        self.url = _checked_url(url)
        if experiment is not None and (not isinstance(experiment, str) or not experiment):
            raise InvalidParameter(f"experiment is {experiment!r}; give its name, or None if the server has just one.")
        self._verbs = Verbs(_patience(retries, wait), experiment)
        self._options = {
            "base_url": self.url,
            "headers": {"User-Agent": f"belated/{__version__}", **_with_key(key)},
            "timeout": _seconds("timeout", timeout),
            "limits": _httpx2().Limits(
                max_connections=None, max_keepalive_connections=KEPT_OPEN, keepalive_expiry=OPEN_FOR
            ),
        }

    def experiment(self, name: str) -> Self:
        """The same client for the experiment of this name. They share connections: closing one closes all."""
        found = copy.copy(self)
        found._verbs = Verbs(self._verbs.patience, name)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, experiment={self._verbs.experiment!r})"


def request_of(call: Call) -> dict[str, Any]:
    """A request as ``httpx2`` takes it."""
    headers = {"Content-Type": "application/json"} if call.body is not None else {}
    return {"method": call.method, "url": call.path, "content": call.body, "headers": headers}


def reply_of(response: Any) -> Reply:
    """An answer of ``httpx2``."""
    return Reply(
        response.status_code, {key.lower(): value for key, value in response.headers.items()}, response.content
    )


def failure_of(error: Exception) -> Failure:
    """Why there was none."""
    return Failure(f"{type(error).__name__}{f': {error}' if str(error) else ''}")


def _httpx2() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise MissingComponent(f"the client needs one more part: pip install 'belated[client]' ({error})") from None
    return httpx2


def _checked_url(url: Any) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(f"url is {url!r}; give the server's address, such as http://127.0.0.1:8000.")
    return str(url).rstrip("/")


def _with_key(key: Any) -> dict[str, str]:
    if key is None:
        return {}
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key or " " in key:
        raise InvalidParameter("key is no key; give what belated keys create showed.")
    return {"Authorization": f"Bearer {key}"}


def _patience(retries: Any, wait: Any) -> RetryPolicy:
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InvalidParameter(f"retries is {retries!r}; give a whole number >= 0.")
    return RetryPolicy(retries, _seconds("wait", wait))


def _seconds(name: str, value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf
    if not good:
        raise InvalidParameter(f"{name} is {value!r}; give seconds above 0.")
    return float(value)
