"""The routes of the dashboard. Only GET reads, and nothing here writes to the journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from belated.errors import ApiError
from belated.service.api.messages import ArmAnswer
from belated.service.api.problems import problem_response
from belated.service.core.service import Service
from belated.service.dashboard import auth
from belated.service.dashboard.queries import Look
from belated.service.dashboard.render import ASSETS, asset, rendered

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FEW, MOST_ROWS = 12, 100
"""Arms that stand in the table in their own order, and rows of the table, at the most."""
Handler = Callable[[Request], Awaitable[Response]]


def dashboard_routes(service: Service) -> list[Route]:
    """All pages, to be mounted beside the API."""
    pages = Pages(service)
    reading: dict[str, Handler] = {
        "/": pages.index,
        "/experiments.json": pages.index_json,
        "/experiments/{name}": pages.experiment,
        "/experiments/{name}/": pages.experiment,
    }
    routes = [Route(path, pages.told(handler, checked=True), methods=["GET"]) for path, handler in reading.items()]
    return [
        *routes,
        Route("/login", pages.told(pages.login), methods=["GET", "POST"]),
        Route("/logout", pages.told(pages.logout), methods=["POST"]),
        Route("/assets/{file}", pages.told(pages.asset), methods=["GET"]),
    ]


class Pages:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._look = Look(service)

    def told(self, handler: Handler, *, checked: bool = False) -> Handler:
        """A handler whose answers have the right heads and whose errors are pages for those who read pages; with
        ``checked`` behind a reader's key."""

        async def handle(request: Request) -> Response:
            try:
                if checked:
                    auth.check(self._service.keyring, request)
                answer = await handler(request)
            except ApiError as refused:
                answer = self._refusal(request, refused)
            for name, value in HEADERS.items():
                answer.headers.setdefault(name, value)
            return answer

        return handle

    def _refusal(self, request: Request, refused: ApiError) -> Response:
        if "text/html" not in request.headers.get("accept", ""):
            return problem_response(refused)
        if refused.status == 401 and request.method == "GET":
            return RedirectResponse(auth.login_address(request), 303)
        title = HTTPStatus(refused.status).phrase
        text = rendered("error.html", status=refused.status, title=title, detail=str(refused), **self._around())
        return Response(text, refused.status, media_type="text/html")

    def _around(self) -> dict[str, Any]:
        """What every page needs to know."""
        return {"keyed": self._service.keyring.roles() is not None}

    # ---- pages ----

    async def index(self, request: Request) -> Response:
        """All experiments."""
        found = await self._look.experiments()
        return await self._html("index.html", request, experiments=found.experiments, damaged=found.damaged)

    async def index_json(self, request: Request) -> Response:
        """The same as JSON."""
        return _json(await self._look.experiments())

    async def experiment(self, request: Request) -> Response:
        """One experiment, as a page or as JSON."""
        name: str = request.path_params["name"]
        if name.endswith(".json") and not request.url.path.endswith("/"):
            return _json(await self._look.page(name.removesuffix(".json")))
        page = await self._look.page(name)
        return await self._html("experiment.html", request, page=page, order=_rows(page.experiment.arms))

    async def _html(self, template: str, request: Request, **values: Any) -> Response:
        base = str(request.base_url).rstrip("/")
        text = await run_in_threadpool(lambda: rendered(template, base=base, **values, **self._around()))
        return Response(text, media_type="text/html")

    async def asset(self, request: Request) -> Response:
        """A file that pages ask for."""
        name: str = request.path_params["file"]
        if name not in ASSETS:
            raise ApiError(404, "not-found", f"there is no file {name!r}.")
        return Response(asset(name), media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=31536000"})

    # ---- keys ----

    async def login(self, request: Request) -> Response:
        """Ask for a key, or take it."""
        asked = request.method == "POST"
        fields = await auth.form_of(request) if asked else dict(request.query_params)
        wrong = None
        if asked:
            try:
                return auth.log_in(self._service.keyring, request, fields)
            except ApiError as refused:
                wrong = str(refused)
        text = rendered("login.html", wrong=wrong, next=auth.destination(fields.get("next")), **self._around())
        return Response(text, 401 if asked else 200, media_type="text/html")

    async def logout(self, request: Request) -> Response:
        """Forget the key."""
        return auth.log_out(request)


def _rows(arms: list[ArmAnswer]) -> list[int]:
    """The places of the arms in the table: all in their order, or the most pulled ones if they are many."""
    if len(arms) <= FEW:
        return list(range(len(arms)))
    return sorted(range(len(arms)), key=lambda place: (-arms[place].pulls, place))[:MOST_ROWS]


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
