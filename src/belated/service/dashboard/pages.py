"""The pages of the dashboard. They only read."""

from __future__ import annotations

import hashlib
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from belated._version import __version__
from belated.errors import ApiError, StorageError
from belated.service import auth
from belated.service.api.codec import error_response, json_response
from belated.service.api.routing import Handler
from belated.service.core.service import Service
from belated.service.core.spec import make_policy
from belated.service.dashboard import charts, formatting, svg
from belated.service.dashboard.counters import colour_slots, most_pulled
from belated.service.dashboard.queries import Queries
from belated.service.problem_types import ProblemType, public_error

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ASSETS = {"style.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}
FEW_ARMS, MAX_ROWS = 12, 100
"""Number of arms up to which the table keeps their order, and its maximum number of rows."""


def dashboard_routes(service: Service) -> list[Route]:
    """All routes of the dashboard."""
    pages = Pages(service)
    protected: dict[str, Handler] = {
        "/": pages.index,
        "/experiments.json": pages.index,
        "/experiments/{name}": pages.experiment,
        "/experiments/{name}/": pages.experiment,
    }
    routes = [Route(path, pages.wrap(handler, protected=True), methods=["GET"]) for path, handler in protected.items()]
    return [
        *routes,
        Route("/login", pages.wrap(pages.login), methods=["GET", "POST"]),
        Route("/logout", pages.wrap(auth.log_out), methods=["POST"]),
        Route("/assets/{file}", pages.wrap(pages.asset), methods=["GET"]),
    ]


class Pages:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._queries = Queries(service)

    def wrap(self, handler: Handler, *, protected: bool = False) -> Handler:
        """Add security headers to responses and render errors as pages for browsers; ``protected`` requires the role
        reader."""

        async def handle(request: Request) -> Response:
            try:
                if protected:
                    auth.check_reader(self._service.keyring, request)
                response = await handler(request)
            except (ApiError, StorageError) as error:
                response = self._error_page(request, public_error(error))
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return handle

    def _error_page(self, request: Request, error: ApiError) -> Response:
        if "text/html" not in request.headers.get("accept", ""):
            return error_response(error)
        if error.status == 401 and request.method == "GET":
            return RedirectResponse(auth.login_path(request), 303)
        title = HTTPStatus(error.status).phrase
        return self._html("error.html", error.status, status=error.status, title=title, detail=str(error))

    def _html(self, template: str, status_code: int = 200, **values: Any) -> Response:
        text = render(template, keyed=self._service.keyring.roles() is not None, **values)
        return Response(text, status_code, media_type="text/html")

    async def index(self, request: Request) -> Response:
        """All experiments, as a page or as JSON."""
        view = await self._queries.experiments()
        if request.url.path.endswith(".json"):
            return json_response(view)
        base = str(request.base_url).rstrip("/")
        experiments, damaged = view.experiments, view.damaged
        return await run_in_threadpool(self._html, "index.html", base=base, experiments=experiments, damaged=damaged)

    async def experiment(self, request: Request) -> Response:
        """An experiment, as a page or as JSON."""
        name: str = request.path_params["name"]
        if name.endswith(".json") and not request.url.path.endswith("/"):
            return json_response(await self._queries.page(name.removesuffix(".json")))
        page = await self._queries.page(name)
        arms, policy = page.experiment.arms, make_policy(page.experiment.policy)
        return await run_in_threadpool(
            self._html,
            "experiment.html",
            base=str(request.base_url).rstrip("/"),
            page=page,
            order=range(len(arms)) if len(arms) <= FEW_ARMS else most_pulled(arms)[:MAX_ROWS],
            eliminates=policy.shape().eliminates,
            covers_missing=policy.covers_missing,
            corrects_mean=policy.corrects_mean,
        )

    async def asset(self, request: Request) -> Response:
        """A static file."""
        name: str = request.path_params["file"]
        if name not in ASSETS:
            raise ProblemType.NOT_FOUND.error(f"there is no file {name!r}.")
        return Response(asset(name), media_type=ASSETS[name], headers={"Cache-Control": "public, max-age=31536000"})

    async def login(self, request: Request) -> Response:
        """The login form, or its submission."""
        submitted = request.method == "POST"
        fields = await auth.parse_form(request) if submitted else dict(request.query_params)
        wrong = None
        if submitted:
            try:
                return auth.log_in(self._service.keyring, request, fields)
            except ApiError as error:
                wrong = str(error)
        target = auth.safe_redirect(fields.get("next"))
        return self._html("login.html", 401 if submitted else 200, wrong=wrong, next=target)


# ---- templates ----


@cache
def asset(name: str) -> bytes:
    """The content of a static file."""
    return (files("belated.service.dashboard") / "assets" / name).read_bytes()


@cache
def asset_path(name: str) -> str:
    """The path of a static file, different for each version of it."""
    return f"/assets/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:12]}"


def experiment_path(name: str) -> str:
    """The page of an experiment; with a trailing slash if its name looks like a JSON version."""
    return f"/experiments/{name}{'/' if name.endswith('.json') else ''}"


@cache
def environment() -> Environment:
    """The templates and their globals; values are escaped."""
    templates = Environment(
        loader=PackageLoader("belated.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        charts=charts,
        svg=svg,
        fmt=formatting,
        colour_slots=colour_slots,
        asset=asset_path,
        link=experiment_path,
        version=__version__,
    )
    return templates


def render(template: str, **values: Any) -> str:
    """Render a page."""
    return environment().get_template(template).render(**values)
