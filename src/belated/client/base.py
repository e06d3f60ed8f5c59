"""The common base of both clients: URL, key, retry policy, experiment; and the conversion to and from ``httpx2``."""

from __future__ import annotations

import copy
from typing import Any, Self
from urllib.parse import urlsplit

from belated._version import __version__
from belated.client.operations import Operations
from belated.client.protocol import HttpRequest, HttpResponse, RetryPolicy, TransportFailure
from belated.errors import InvalidParameter, MissingComponent
from belated.validation import Domain, check_integer, check_number

MAX_IDLE_CONNECTIONS = 100
IDLE_SECONDS = 4.0
"""How long an idle connection is kept: less than servers do, so that they seldom close one first."""
_SECONDS = Domain(0, open_low=True)


class BaseClient:
    """A client without its HTTP transport."""

    def __init__(
        self, url: str, experiment: str | None, key: str | None, timeout: float, retries: int, wait: float
    ) -> None:
        self.url = _check_url(url)
        if experiment is not None and (not isinstance(experiment, str) or not experiment):
            raise InvalidParameter(f"experiment is {experiment!r}; give its name, or None if the server has just one.")
        retry_policy = RetryPolicy(check_integer("retries", retries, 0), check_number("wait", wait, _SECONDS))
        self._operations = Operations(retry_policy, experiment)
        try:
            import httpx2
        except ImportError as error:
            raise MissingComponent(f"the client needs httpx2: pip install 'belated[client]' ({error})") from None
        self._transport_error = httpx2.TransportError
        self._options: dict[str, Any] = {
            "base_url": self.url,
            "headers": {"User-Agent": f"belated/{__version__}", **_authorization(key)},
            "timeout": check_number("timeout", timeout, _SECONDS),
            "limits": httpx2.Limits(
                max_connections=None,
                max_keepalive_connections=MAX_IDLE_CONNECTIONS,
                keepalive_expiry=IDLE_SECONDS,
            ),
        }

    def experiment(self, name: str) -> Self:
        """Return the same client for another experiment. They share connections: closing one closes all."""
        client = copy.copy(self)
        client._operations = Operations(self._operations.retry_policy, name)
        return client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, experiment={self._operations.experiment!r})"


def to_httpx(request: HttpRequest) -> dict[str, Any]:
    """The arguments of ``httpx2``'s ``request``."""
    headers = {"Content-Type": "application/json"} if request.body is not None else {}
    return {"method": request.method, "url": request.path, "content": request.body, "headers": headers}


def from_httpx(response: Any) -> HttpResponse:
    """A response of ``httpx2``."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpResponse(response.status_code, headers, response.content)


def transport_failure(error: Exception) -> TransportFailure:
    """A transport error of ``httpx2``."""
    return TransportFailure(f"{type(error).__name__}{f': {error}' if str(error) else ''}")


def _check_url(url: Any) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(f"url is {url!r}; give the server's URL, such as http://127.0.0.1:8000.")
    return str(url).rstrip("/")


def _authorization(key: Any) -> dict[str, str]:
    if key is None:
        return {}
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key or " " in key:
        raise InvalidParameter("key is not a valid key; give what belated keys create printed.")
    return {"Authorization": f"Bearer {key}"}
