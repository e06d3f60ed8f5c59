"""The server as an ASGI application: the gate with the API's routes, the pages behind it, and what goes on beside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from belated.errors import ApiError, StorageError
from belated.service.api import openapi
from belated.service.api.problems import problem_response
from belated.service.api.router import Gate
from belated.service.core import operations as op
from belated.service.core.errors import no_storage
from belated.service.core.service import Service
from belated.service.core.transaction import Operation
from belated.service.dashboard import dashboard_routes

SWEEP_SECONDS = 1.0
KEYS_SECONDS = 1.0
"""How often keys are read again."""

log = structlog.get_logger()


def make_app(service: Service, *, any_host: bool = False) -> Gate:
    """The application. Without keys only names of this machine are answered to, so that no page from elsewhere can
    reach it by a name of its own."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        beside = [asyncio.create_task(_sweep(service)), asyncio.create_task(_watch_keys(service))]
        try:
            yield
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await asyncio.to_thread(service.stop)

    problems: dict[Any, Any] = {
        ApiError: _refused,
        StorageError: _storage,
        HTTPException: _http,
        Exception: _unforeseen,
    }
    pages = Starlette(
        routes=[Route("/openapi.json", _document, methods=["GET"]), *dashboard_routes(service)],
        lifespan=lifespan,
        exception_handlers=problems,
    )
    pages.router.redirect_slashes = False
    return Gate(pages, service, any_host)


async def _document(_: Request) -> Response:
    return Response(openapi.text(), media_type="application/json")


async def _refused(_: Request, error: ApiError) -> Response:
    return problem_response(error)


async def _storage(_: Request, error: StorageError) -> Response:
    log.error("storage", detail=str(error))
    return problem_response(no_storage())


async def _unforeseen(_: Request, error: Exception) -> Response:
    return problem_response(ApiError(500, "unforeseen", "something unforeseen happened; the log says more."))


async def _http(request: Request, error: HTTPException) -> Response:
    allowed = dict(error.headers or {})
    if error.status_code == 405:
        detail = f"{request.method} is not for {request.url.path}; allowed is {allowed.get('Allow', 'nothing')}."
        return problem_response(ApiError(405, "method-not-allowed", detail), allowed)
    detail = f"there is nothing at {request.url.path}; /openapi.json lists what there is."
    return problem_response(ApiError(error.status_code, "not-found", detail), allowed)


async def _sweep(service: Service) -> None:
    """Now and then, silence becomes an answer where its time has come."""
    while True:
        for name in await _tried(service.do(Operation(lambda session: session.silent()))) or ():
            while count := await _tried(service.do(op.impute(name))):
                service.metrics.imputed.labels(name).inc(count)
        await asyncio.sleep(SWEEP_SECONDS)


async def _watch_keys(service: Service) -> None:
    """New keys are taken and revoked ones refused, whether or not somebody asks."""
    while True:
        await asyncio.sleep(KEYS_SECONDS)
        await _tried(asyncio.to_thread(service.keyring.refresh))


async def _tried(work: Awaitable[Any]) -> Any:
    """What comes of it; None, and a line in the log, if it fails: it is tried again, and one experiment's trouble is
    not another's."""
    try:
        return await work
    except Exception as error:
        log.warning("not done, and tried again", detail=str(error) or repr(error))
        return None
