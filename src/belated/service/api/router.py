"""The way in: which host was asked, how large a body may be, which handler and who may use it; and every error that
comes out of a handler as a problem. What is no route of the API goes on to the application behind."""

from __future__ import annotations

import time
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.errors import ApiError, StorageError
from belated.service.api.messages import BODY
from belated.service.api.problems import problem_response
from belated.service.api.request_parsing import too_large
from belated.service.api.routes import ROUTES, Route
from belated.service.core.errors import no_storage
from belated.service.core.service import Service
from belated.service.settings import is_loopback

log = structlog.get_logger()


class _Path(NamedTuple):
    """A path of the API, in pieces."""

    fixed: tuple[tuple[int, str], ...]
    named: tuple[tuple[int, str], ...]
    routes: dict[str, Route]


def _paths() -> dict[int, list[_Path]]:
    """All paths by their number of pieces."""
    found: dict[int, list[_Path]] = {}
    for path in dict.fromkeys(route.path for route in ROUTES):
        pieces = list(enumerate(path.split("/")))
        named = tuple((place, piece[1:-1]) for place, piece in pieces if piece.startswith("{"))
        fixed = tuple((place, piece) for place, piece in pieces if not piece.startswith("{"))
        routes = {route.method: route for route in ROUTES if route.path == path}
        found.setdefault(len(pieces), []).append(_Path(fixed, named, routes))
    return found


class Gate:
    """The application that the server runs, around the one that has the pages."""

    def __init__(self, behind: ASGIApp, service: Service, any_host: bool) -> None:
        self._behind = behind
        self._service = service
        self._any_host = any_host
        self._paths = _paths()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._behind(scope, receive, send)
            return
        scope["belated"] = self._service
        begin = time.perf_counter()
        response: Response | None = None
        try:
            self._check(scope["headers"])
            found = self._find(scope)
            limited = _Limited(receive)
            if found is None:
                await self._pages(scope, limited, send)
                return
            response = await self._handled(found, Request(scope, limited))
        except ApiError as refused:
            response = problem_response(refused)
        except StorageError as error:  # of a connection that reads
            log.error("storage", detail=str(error))
            response = problem_response(no_storage())
        except ClientDisconnect:
            log.debug("hung up", method=scope["method"], path=scope["path"])
            return
        except Exception:
            log.exception("unforeseen", method=scope["method"], path=scope["path"])
            response = problem_response(
                ApiError(500, "unforeseen", "something unforeseen happened; the log says more.")
            )
        await response(scope, receive, send)
        log.debug(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=response.status_code,
            milliseconds=round(1e3 * (time.perf_counter() - begin), 2),
        )

    async def _pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._behind(scope, receive, send)
        except Exception:  # it has been answered, as a problem
            log.exception("unforeseen", method=scope["method"], path=scope["path"])

    def _find(self, scope: Scope) -> _Path | None:
        pieces = scope["path"].split("/")
        for path in self._paths.get(len(pieces), ()):
            if all(pieces[place] == piece for place, piece in path.fixed):
                named = {name: pieces[place] for place, name in path.named}
                if all(named.values()):
                    scope["path_params"] = named
                    return path
        return None

    async def _handled(self, path: _Path, request: Request) -> Response:
        method = request.scope["method"]
        route = path.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = ", ".join([*path.routes, *(["HEAD"] if "GET" in path.routes else [])])
            refused = ApiError(
                405, "method-not-allowed", f"{method} is not for {request.url.path}; allowed is {allowed}."
            )
            return problem_response(refused, {"Allow": allowed})
        if route.role is not None and self._service.keyring.roles() is not None:
            self._service.keyring.check(key_of(request), route.role)
        return await route.handler(request)

    def _check(self, headers: list[tuple[bytes, bytes]]) -> None:
        host = origin = ""
        for name, value in headers:
            if name == b"content-length" and value.isdigit() and int(value) > BODY:
                raise too_large()
            if name == b"host":
                host = value.decode("latin-1")
            if name == b"origin":
                origin = value.decode("latin-1")
        if not self._any_host and self._service.keyring.roles() is None:
            if not is_loopback(host if host.endswith("]") else host.rsplit(":", 1)[0]):
                raise ApiError(
                    421, "other-host", f"this server answers to localhost alone, and was asked for as {host!r}."
                )
            if origin and not is_loopback(host_of(origin) or origin):
                raise ApiError(403, "other-origin", f"a page of {origin!r} may not use this server; make a key for it.")


class _Limited:
    """Receives a body of a limited size."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > BODY:
            raise too_large()
        return message


def host_of(origin: str) -> str | None:
    """The host in an origin such as ``http://localhost:8000``; None if there is none."""
    try:
        return urlsplit(origin).hostname if "://" in origin else None
    except ValueError:
        return None


def key_of(request: Request) -> str | None:
    """The key that a request brings in its header, if it does."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None
