"""Routes, as declared at their handlers, and the router: the outermost ASGI application, which checks host, origin,
body size and key, and dispatches to handlers. Paths that are not part of the API go to the inner application."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.errors import ApiError, StorageError
from belated.service.api.codec import error_response, too_large
from belated.service.api.messages import MAX_BODY, ExperimentName
from belated.service.auth import bearer_key
from belated.service.core.service import Service
from belated.service.core.spec import NAME
from belated.service.problem_types import ProblemType
from belated.service.settings import is_loopback

log = structlog.get_logger()

Handler = Callable[[Request], Awaitable[Response]]

ANY_REQUEST = (
    ProblemType.TOO_LARGE,
    ProblemType.OTHER_HOST,
    ProblemType.OTHER_ORIGIN,
    ProblemType.UNFORESEEN,
    ProblemType.BUSY,
    ProblemType.STOPPED,
    ProblemType.STORAGE,
    ProblemType.NEWER_SCHEMA,
)
"""What any request may be refused with."""
KEYED = (ProblemType.NO_KEY, ProblemType.UNKNOWN_KEY, ProblemType.NOT_ALLOWED)
"""What a route with a role may be refused with as well."""
BODY = (ProblemType.MALFORMED_JSON, ProblemType.TOO_LARGE, ProblemType.NOT_JSON, ProblemType.INVALID_BODY)
"""What a route with a body may be refused with as well."""
EXPERIMENT = (ProblemType.UNKNOWN_EXPERIMENT, ProblemType.EXPERIMENT_DAMAGED)
DECISION = (
    ProblemType.UNKNOWN_DECISION,
    ProblemType.UNKNOWN_EXPERIMENT,
    ProblemType.EXPERIMENT_DAMAGED,
    ProblemType.AMBIGUOUS_ID,
)


class QueryParameter(NamedTuple):
    """An integer in the query string."""

    name: str
    minimum: int
    maximum: int
    default: int
    description: str

    @property
    def schema(self) -> dict[str, Any]:
        """What it may be, as JSON schema."""
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum, "default": self.default}

    def value(self, request: Request) -> int:
        """Its value in a request."""
        text = request.query_params.get(self.name)
        if text is None:
            return self.default
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not self.minimum <= value <= self.maximum:
            raise ProblemType.INVALID_QUERY.error(
                f"{self.name} is {text!r}; give an integer from {self.minimum} to {self.maximum}."
            )
        return value


class NameParameter(NamedTuple):
    """The name of an experiment in the query string."""

    name: str
    description: str

    @property
    def schema(self) -> dict[str, Any]:
        """What it may be, as JSON schema."""
        return msgspec.json.schema(ExperimentName)

    def value(self, request: Request) -> str | None:
        """Its value in a request; None if it is not there."""
        text = request.query_params.get(self.name)
        if text is not None and not re.fullmatch(NAME, text):
            raise ProblemType.INVALID_QUERY.error(f"{self.name} is {text!r}; give the name of an experiment.")
        return text


IN_EXPERIMENT = NameParameter(
    "experiment", "The experiment that the decision belongs to. Needed only if several have a decision with this id."
)


@dataclass(frozen=True)
class Route:
    """A method on a path."""

    method: str
    path: str
    handler: Handler
    """Its docstring is the summary."""
    role: str | None
    """The least privileged role that may use it; None: anyone."""
    answer: Any
    """The body of a successful response: a message, several messages to choose from, or a media type."""
    done: str = ""
    """What status 200 means."""
    created: str = ""
    """What status 201 means; empty if it is not used."""
    refusals: tuple[ProblemType, ...] = ()
    """The problem types of its handler, the most specific last; those that follow from the other fields are added."""
    request: Any = None
    """The message in the body."""
    optional_body: bool = False
    query: tuple[QueryParameter | NameParameter, ...] | None = None
    """Its query parameters; others are refused. None: the query string is ignored."""

    @property
    def name(self) -> str:
        """The name of the handler."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """The docstring of the handler."""
        return (self.handler.__doc__ or "").rstrip(".")

    @property
    def responses(self) -> dict[int, str]:
        """What each status of a successful response means."""
        return {201: self.created, 200: self.done} if self.created else {200: self.done}

    @property
    def problem_types(self) -> list[ProblemType]:
        """What it may refuse with besides :data:`ANY_REQUEST`, and :data:`KEYED` if it has a role; by status."""
        body = BODY if self.request is not None else ()
        query = (ProblemType.INVALID_QUERY,) if self.query is not None else ()
        return sorted([*body, *self.refusals, *query], key=lambda each: each.status)

    def all_problem_types(self) -> list[ProblemType]:
        """All problem types it may answer with, by status."""
        every = dict.fromkeys([*self.problem_types, *(KEYED if self.role else ()), *ANY_REQUEST])
        return sorted(every, key=lambda each: each.status)

    def check_query(self, request: Request) -> None:
        """Refuse unknown or duplicate query parameters."""
        if self.query is None:
            return
        names = [parameter.name for parameter in self.query]
        given = [name for name, _ in request.query_params.multi_items()]
        for name in given:
            if name not in names or given.count(name) > 1:
                allowed = f"give each of {', '.join(names)} at most once" if names else "this route takes none"
                raise ProblemType.INVALID_QUERY.error(f"the query has {name!r}; {allowed}.")


class RouteGroup(list[Route]):
    """Routes that are documented together; ``declare`` decorates handlers."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def declare(self, route: str, role: str | None, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a route, such as ``GET /livez``; ``declared`` are the fields of :class:`Route`."""

        def register(handler: Handler) -> Handler:
            method, path = route.split(" ")
            self.append(Route(method, path, handler, role, **declared))
            return handler

        return register


class Router:
    """The application that the server runs, around the one with the dashboard's pages."""

    def __init__(self, routes: Iterable[Route], inner: ASGIApp, service: Service, any_host: bool) -> None:
        self._inner = inner
        self._service = service
        self._any_host = any_host
        self._paths: dict[int, dict[tuple[str, ...], dict[str, Route]]] = {}
        """The routes by number of segments, segments and method."""
        for route in routes:
            segments = tuple(route.path.split("/"))
            self._paths.setdefault(len(segments), {}).setdefault(segments, {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        scope["belated"] = self._service
        begin = time.perf_counter()
        try:
            self._check_headers(scope["headers"])
            routes = self._match(scope)
            limited = _LimitedBody(receive)
            if routes is None:
                try:
                    await self._inner(scope, limited, send)
                except ClientDisconnect:
                    raise
                except Exception:  # the inner application has already answered
                    log.exception("unforeseen", method=scope["method"], path=scope["path"])
                return
            response = await self._dispatch(routes, Request(scope, limited))
        except ClientDisconnect:
            log.debug("disconnected", method=scope["method"], path=scope["path"])
            return
        except Exception as error:
            if not isinstance(error, ApiError | StorageError):
                log.exception("unforeseen", method=scope["method"], path=scope["path"])
            response = error_response(error)
        await response(scope, receive, send)
        log.debug(
            "request",
            method=scope["method"],
            path=scope["path"],
            status=response.status_code,
            milliseconds=round(1e3 * (time.perf_counter() - begin), 2),
        )

    def _match(self, scope: Scope) -> dict[str, Route] | None:
        """The routes of a path by method; sets its path parameters."""
        given = scope["path"].split("/")
        for segments, routes in self._paths.get(len(given), {}).items():
            pairs = list(zip(segments, given, strict=True))
            if all(segment == value or (value and segment.startswith("{")) for segment, value in pairs):
                scope["path_params"] = {segment[1:-1]: value for segment, value in pairs if segment.startswith("{")}
                return routes
        return None

    async def _dispatch(self, routes: dict[str, Route], request: Request) -> Response:
        method = request.scope["method"]
        route = routes.get("GET" if method == "HEAD" else method)
        if route is None:
            return method_not_allowed(request, ", ".join([*routes, *(["HEAD"] if "GET" in routes else [])]))
        if route.role is not None and self._service.keyring.roles() is not None:
            self._service.keyring.check(bearer_key(request), route.role)
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
                raise ProblemType.OTHER_HOST.error(f"this server answers only to localhost; the host was {host!r}.")
            if origin and not is_loopback(_host_of(origin) or origin):
                raise ProblemType.OTHER_ORIGIN.error(
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
    return error_response(ProblemType.METHOD_NOT_ALLOWED.error(detail), {"Allow": allowed})


def _host_of(origin: str) -> str | None:
    """The host in an origin such as ``http://localhost:8000``; None if there is none."""
    try:
        return urlsplit(origin).hostname if "://" in origin else None
    except ValueError:
        return None
