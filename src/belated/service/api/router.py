"""The outermost ASGI application: checks host, origin, body size and key, dispatches to the handler of a route, and
turns errors into problems. Paths that are not part of the API go to the inner application."""

from __future__ import annotations

import time
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.errors import ApiError, StorageError
from belated.service import problems
from belated.service.api import decisions, experiments, monitoring
from belated.service.api.messages import MAX_BODY
from belated.service.api.request_parsing import too_large
from belated.service.api.responses import problem_response
from belated.service.api.route import Route
from belated.service.core.service import Service
from belated.service.settings import is_loopback

log = structlog.get_logger()

GROUPS = (experiments.routes, decisions.routes, monitoring.routes, monitoring.server_routes)
ROUTES: tuple[Route, ...] = tuple(route for group in GROUPS for route in group)
"""Every route of the API."""


class _Path(NamedTuple):
    """A path of the API, split at slashes: (index, segment)."""

    literals: tuple[tuple[int, str], ...]
    parameters: tuple[tuple[int, str], ...]
    routes: dict[str, Route]


def _paths() -> dict[int, list[_Path]]:
    """All paths by their number of segments."""
    paths: dict[int, list[_Path]] = {}
    for path in dict.fromkeys(route.path for route in ROUTES):
        segments = list(enumerate(path.split("/")))
        parameters = tuple((index, segment[1:-1]) for index, segment in segments if segment.startswith("{"))
        literals = tuple((index, segment) for index, segment in segments if not segment.startswith("{"))
        routes = {route.method: route for route in ROUTES if route.path == path}
        paths.setdefault(len(segments), []).append(_Path(literals, parameters, routes))
    return paths


class Router:
    """The application that the server runs, around the one with the dashboard's pages."""

    def __init__(self, inner: ASGIApp, service: Service, any_host: bool) -> None:
        self._inner = inner
        self._service = service
        self._any_host = any_host
        self._paths = _paths()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        scope["belated"] = self._service
        begin = time.perf_counter()
        response: Response | None = None
        try:
            self._check_headers(scope["headers"])
            path = self._match(scope)
            limited = _LimitedBody(receive)
            if path is None:
                await self._call_inner(scope, limited, send)
                return
            response = await self._dispatch(path, Request(scope, limited))
        except ApiError as error:
            response = problem_response(error)
        except StorageError as error:  # from a reading connection
            log.error("storage", detail=str(error))
            response = problem_response(problems.storage_unavailable())
        except ClientDisconnect:
            log.debug("disconnected", method=scope["method"], path=scope["path"])
            return
        except Exception:
            log.exception("unforeseen", method=scope["method"], path=scope["path"])
            response = problem_response(problems.internal_error())
        await response(scope, receive, send)
        log.debug(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=response.status_code,
            milliseconds=round(1e3 * (time.perf_counter() - begin), 2),
        )

    async def _call_inner(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._inner(scope, receive, send)
        except Exception:  # the inner application has already answered with a problem
            log.exception("unforeseen", method=scope["method"], path=scope["path"])

    def _match(self, scope: Scope) -> _Path | None:
        segments = scope["path"].split("/")
        for path in self._paths.get(len(segments), ()):
            if all(segments[index] == segment for index, segment in path.literals):
                parameters = {name: segments[index] for index, name in path.parameters}
                if all(parameters.values()):
                    scope["path_params"] = parameters
                    return path
        return None

    async def _dispatch(self, path: _Path, request: Request) -> Response:
        method = request.scope["method"]
        route = path.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = ", ".join([*path.routes, *(["HEAD"] if "GET" in path.routes else [])])
            return method_not_allowed(request, allowed)
        if route.role is not None and self._service.keyring.roles() is not None:
            self._service.keyring.check(bearer_key(request), route.role)
        if problems.INVALID_QUERY in route.problems:
            route.check_query(request)
        return await route.handler(request)

    def _check_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Refuse a body that is too large, and without keys any host or origin but this machine: a page elsewhere could
        reach the server under a host name of its own (DNS rebinding)."""
        host = origin = ""
        for name, value in headers:
            if name == b"content-length" and value.isdigit() and int(value) > MAX_BODY:
                raise too_large()
            if name == b"host":
                host = value.decode("latin-1")
            if name == b"origin":
                origin = value.decode("latin-1")
        if not self._any_host and self._service.keyring.roles() is None:
            if not is_loopback(host if host.endswith("]") else host.rsplit(":", 1)[0]):
                raise problems.OTHER_HOST.error(f"this server answers only to localhost; the host was {host!r}.")
            if origin and not is_loopback(host_of(origin) or origin):
                raise problems.OTHER_ORIGIN.error(
                    f"a page from {origin!r} may not use this server; create a key for it."
                )


class _LimitedBody:
    """Receives a body up to the maximum size."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > MAX_BODY:
            raise too_large()
        return message


def method_not_allowed(request: Request, allowed: str) -> Response:
    """The response to a method that a path does not have."""
    detail = f"{request.scope['method']} is not allowed on {request.url.path}; allowed: {allowed}."
    return problem_response(problems.METHOD_NOT_ALLOWED.error(detail), {"Allow": allowed})


def host_of(origin: str) -> str | None:
    """The host in an origin such as ``http://localhost:8000``; None if there is none."""
    try:
        return urlsplit(origin).hostname if "://" in origin else None
    except ValueError:
        return None


def bearer_key(request: Request) -> str | None:
    """The key in the Authorization header, if there is one."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None
