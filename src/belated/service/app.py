"""The server as an ASGI application: routes, keys, limits, and every error as a problem."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.errors import Refused
from belated.service import openapi
from belated.service import operations as op
from belated.service.messages import BODY
from belated.service.problems import problem_response
from belated.service.reading import too_large
from belated.service.routes import ROUTES, Handler
from belated.service.session import Operation
from belated.service.state import Service

SWEEP_SECONDS = 1.0
LOOPBACK = {"localhost", "127.0.0.1", "::1", "[::1]", "testserver"}

log = structlog.get_logger()


def make_app(service: Service, *, any_host: bool = False) -> Starlette:
    """The application. Without keys only names of this machine are answered to, so that no page from elsewhere can
    reach it by a name of its own."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        sweeping = asyncio.create_task(_sweep(service))
        try:
            yield
        finally:
            sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sweeping
            await asyncio.to_thread(service.stop)

    routes = [StarletteRoute(path, _by_method(path), methods=_methods(path)) for path in {r.path: 0 for r in ROUTES}]
    routes.append(StarletteRoute("/openapi.json", _document, methods=["GET"]))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={Refused: _refused, HTTPException: _http, Exception: _unforeseen},  # type: ignore[dict-item]
    )
    app.state.service = service
    app.router.redirect_slashes = False
    app.add_middleware(Gate, service=service, any_host=any_host)
    return app


def _methods(path: str) -> list[str]:
    return [route.method for route in ROUTES if route.path == path]


def _by_method(path: str) -> Handler:
    """The handlers of a path, each behind its role."""
    routes = {route.method: route for route in ROUTES if route.path == path}

    async def handle(request: Request) -> Response:
        route = routes["GET" if request.method == "HEAD" else request.method]
        if route.role is not None:
            service: Service = request.app.state.service
            service.keyring.check(_key(request), route.role)
        return await route.handler(request)

    return handle


def _key(request: Request) -> str | None:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else None


async def _document(_: Request) -> Response:
    return Response(openapi.text(), media_type="application/json")


async def _refused(_: Request, error: Refused) -> Response:
    return problem_response(error)


async def _http(request: Request, error: HTTPException) -> Response:
    allowed = dict(error.headers or {})
    if error.status_code == 405:
        detail = f"{request.method} is not for {request.url.path}; allowed is {allowed.get('Allow', 'nothing')}."
        return problem_response(Refused(405, "method-not-allowed", detail), allowed)
    detail = f"there is nothing at {request.url.path}; /openapi.json lists what there is."
    return problem_response(Refused(error.status_code, "not-found", detail), allowed)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return problem_response(
        Refused(500, "unforeseen", f"something unforeseen happened ({type(error).__name__}); the log says more.")
    )


async def _sweep(service: Service) -> None:
    """Now and then, silence becomes an answer where its time has come."""
    while True:
        try:
            silent = Operation(lambda session: [e.name for e in session.all() if e.spec.silence is not None])
            for name in await service.do(silent):
                while count := await service.do(op.impute(name)):
                    service.metrics.imputed.labels(name).inc(count)
        except Refused as refused:
            log.warning("no sweep", detail=str(refused))
        await asyncio.sleep(SWEEP_SECONDS)


class Gate:
    """Before all handlers: how large a body may be, which host was asked; after them a line in the log."""

    def __init__(self, app: ASGIApp, service: Service, any_host: bool) -> None:
        self._app = app
        self._service = service
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        status = 0
        size = 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > BODY:
                raise too_large()
            return message

        headers = dict(scope["headers"])
        refused = self._refusal(headers)
        try:
            if refused is not None:
                await problem_response(refused)(scope, receive, told)
            else:
                await self._app(scope, limited, told)
        finally:
            log.debug(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=status,
                milliseconds=round(1e3 * (time.perf_counter() - begin), 2),
            )

    def _refusal(self, headers: dict[bytes, bytes]) -> Refused | None:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > BODY:
            return too_large()
        if not self._any_host and self._service.keyring.roles() is None:
            host = headers.get(b"host", b"").decode("latin-1")
            name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
            if name not in LOOPBACK:
                return Refused(
                    421, "other-host", f"this server answers to localhost alone, and was asked for as {host!r}."
                )
        return None
