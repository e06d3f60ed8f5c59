"""Routes: what is declared about a handler, for dispatch and documentation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from belated.service import problems
from belated.service.problems import ProblemType

Handler = Callable[[Request], Awaitable[Response]]

EXPERIMENT_PATH = "/v1/experiments/{name}"
DECISION_PATH = "/v1/decisions/{id}"

ANY_REQUEST = (
    problems.TOO_LARGE,
    problems.OTHER_HOST,
    problems.OTHER_ORIGIN,
    problems.UNFORESEEN,
    problems.BUSY,
    problems.STOPPED,
    problems.STORAGE,
)
"""What any request may be refused with."""
KEYED = (problems.NO_KEY, problems.UNKNOWN_KEY, problems.NOT_ALLOWED)
"""What a route with a role may be refused with as well."""
BODY = (problems.MALFORMED_JSON, problems.TOO_LARGE, problems.NOT_JSON, problems.INVALID_BODY)
SPEC = (
    problems.INVALID_NAME,
    problems.INVALID_ARMS,
    problems.INVALID_EXPERIMENT,
    problems.UNKNOWN_POLICY,
    problems.UNKNOWN_PARAMETER,
    problems.INVALID_POLICY,
)
EXPERIMENT = (problems.UNKNOWN_EXPERIMENT, problems.EXPERIMENT_DAMAGED)


class Success(NamedTuple):
    """A response to a request that succeeded: a message, one of several messages, or a media type; and its meaning."""

    body: Any
    when: str = ""


class QueryParameter(NamedTuple):
    """An integer in the query string."""

    name: str
    minimum: int
    maximum: int
    default: int
    description: str

    def value(self, request: Request) -> int:
        """Its value in a request."""
        text = request.query_params.get(self.name)
        if text is None:
            return self.default
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not self.minimum <= value <= self.maximum:
            raise problems.INVALID_QUERY.error(
                f"{self.name} is {text!r}; give an integer from {self.minimum} to {self.maximum}."
            )
        return value


@dataclass(frozen=True)
class Route:
    """A method on a path."""

    method: str
    path: str
    handler: Handler
    summary: str
    role: str | None
    """The least privileged role that may use it; None: anyone."""
    responses: dict[int, Success]
    problems: tuple[ProblemType, ...] = ()
    """What it may refuse with besides :data:`ANY_REQUEST`, and :data:`KEYED` if it has a role; the most specific last.
    With INVALID_QUERY, unknown query parameters are refused."""
    request: Any = None
    """The message in the body."""
    query: tuple[QueryParameter, ...] = ()
    optional_body: bool = False

    @property
    def name(self) -> str:
        """The name of the handler."""
        return self.handler.__name__

    def all_problems(self) -> list[ProblemType]:
        """All problem types it may answer with, by status."""
        problems = dict.fromkeys([*self.problems, *(KEYED if self.role else ()), *ANY_REQUEST])
        return sorted(problems, key=lambda problem: problem.status)

    def check_query(self, request: Request) -> None:
        """Refuse unknown or duplicate query parameters."""
        names = [parameter.name for parameter in self.query]
        given = [name for name, _ in request.query_params.multi_items()]
        for name in given:
            if name not in names or given.count(name) > 1:
                allowed = f"give each of {', '.join(names)} at most once" if names else "this route takes none"
                raise problems.INVALID_QUERY.error(f"the query has {name!r}; {allowed}.")


class RouteGroup(list[Route]):
    """Routes that are documented together; its methods decorate handlers."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def get(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a GET route; ``declared`` are the fields of :class:`Route`."""
        return self._declare("GET", path, summary, declared)

    def post(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        """Declare a POST route."""
        return self._declare("POST", path, summary, declared)

    def _declare(self, method: str, path: str, summary: str, declared: dict[str, Any]) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.append(Route(method, path, handler, summary, **declared))
            return handler

        return register
