"""The server as an ASGI application: the API's router around the dashboard's pages, and background tasks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from http import HTTPStatus
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from belated.errors import ApiError, StorageError
from belated.service.api import ROUTES, openapi
from belated.service.api.codec import PROBLEM_MEDIA, encode, error_response
from belated.service.api.messages import ProblemAnswer
from belated.service.api.routing import Router, method_not_allowed
from belated.service.core import operations
from belated.service.core.service import Service
from belated.service.core.transaction import Operation
from belated.service.dashboard.pages import dashboard_routes
from belated.service.problem_types import ProblemType

IMPUTE_SECONDS = 1.0
"""How often silence is turned into feedback."""
KEYS_SECONDS = 1.0
"""How often keys are reloaded."""

log = structlog.get_logger()


def make_app(service: Service, *, any_host: bool = False) -> Router:
    """The application. Without keys it answers only to host names of this machine, unless ``any_host``."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        tasks = [asyncio.create_task(_impute_silence(service)), asyncio.create_task(_reload_keys(service))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(service.stop)

    handlers: dict[Any, Any] = {HTTPException: _on_http_error}
    handlers |= dict.fromkeys((ApiError, StorageError, Exception), _on_error)
    pages = Starlette(
        routes=[Route("/openapi.json", _openapi, methods=["GET"]), *dashboard_routes(service)],
        lifespan=lifespan,
        exception_handlers=handlers,
    )
    pages.router.redirect_slashes = False
    return Router(ROUTES, pages, service, any_host)


async def _openapi(_: Request) -> Response:
    return Response(openapi.document_json(), media_type="application/json")


async def _on_error(_: Request, error: Exception) -> Response:
    return error_response(error)


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    """The response to an error that Starlette raised."""
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return method_not_allowed(request, headers.get("Allow", "none"))
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = f"there is nothing at {request.url.path}; /openapi.json lists all routes."
        return error_response(ProblemType.NOT_FOUND.error(detail), headers)
    other = ProblemAnswer("about:blank", HTTPStatus(error.status_code).phrase, error.status_code, error.detail)
    return Response(encode(other), error.status_code, headers, PROBLEM_MEDIA)


async def _impute_silence(service: Service) -> None:
    """Periodically impute rewards for decisions past their deadline."""
    while True:
        for name in await _try(service.submit(Operation(lambda tx: tx.names_with_silence()))) or ():
            while count := await _try(service.submit(operations.impute(name))):
                service.metrics.imputed.labels(name).inc(count)
        await asyncio.sleep(IMPUTE_SECONDS)


async def _reload_keys(service: Service) -> None:
    """Periodically reload keys, so that new ones are accepted and revoked ones refused."""
    while True:
        await asyncio.sleep(KEYS_SECONDS)
        await _try(asyncio.to_thread(service.keyring.refresh))


async def _try(work: Awaitable[Any]) -> Any:
    """The result; None, and a warning in the log, if it fails: the next period tries again, and a damaged experiment
    does not affect the others."""
    try:
        return await work
    except Exception as error:
        log.warning("background task failed, will retry", detail=str(error) or repr(error))
        return None
