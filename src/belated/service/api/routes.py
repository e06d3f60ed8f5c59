"""Every route of the API: who may use it, what it takes and what it gives. The document is made from this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from belated.service.api import handlers as h
from belated.service.api import messages as m
from belated.service.api.history import history

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """One method on one path."""

    method: str
    path: str
    handler: Handler
    role: str | None
    """The least role that may; None: everybody."""
    summary: str
    takes: Any = None
    gives: dict[int, Any] = field(default_factory=dict)
    """What each good status brings: a message, or the name of a medium."""
    refuses: tuple[int, ...] = ()
    query: tuple[tuple[str, int, int, int], ...] = ()
    """(name, least, most, if left out)"""
    optional: bool = False
    """Whether the body may be left out."""


NAME = "/v1/experiments/{name}"
ID = "/v1/decisions/{id}"
NDJSON, PARQUET, PLAIN = "application/x-ndjson", "application/vnd.apache.parquet", "text/plain"
PAGE = (("cursor", 0, 2**62, 0), ("limit", 1, h.MOST_EVENTS, h.PAGE))
BODY = (400, 413, 415, 422)

ROUTES = (
    Route(
        "GET", "/v1/experiments", h.experiments, "reader", "All experiments", None, {200: m.ExperimentsAnswer}, (422,)
    ),
    Route(
        "POST",
        "/v1/experiments",
        h.create,
        "writer",
        "Make an experiment; the same again changes nothing",
        m.ExperimentRequest,
        {201: m.ExperimentAnswer, 200: m.ExperimentAnswer},
        (*BODY, 409),
    ),
    Route(
        "GET", NAME, h.experiment, "reader", "An experiment as it is now", None, {200: m.ExperimentAnswer}, (404, 422)
    ),
    Route(
        "POST",
        f"{NAME}/arms",
        h.add_arm,
        "admin",
        "Add an arm, where the policy allows it",
        m.ArmRequest,
        {201: m.ExperimentAnswer, 200: m.ExperimentAnswer},
        (*BODY, 404, 409),
    ),
    Route(
        "POST",
        f"{NAME}/history",
        history,
        "writer",
        "A bandit that began elsewhere moves in, with all that happened to it; the same again changes nothing",
        m.HistoryRequest,
        {201: m.ExperimentAnswer, 200: m.ExperimentAnswer},
        (*BODY, 409),
    ),
    Route("POST", f"{NAME}/stop", h.stop, "admin", "No more decisions", None, {200: m.ExperimentAnswer}, (404, 413)),
    Route("POST", f"{NAME}/resume", h.resume, "admin", "Decisions again", None, {200: m.ExperimentAnswer}, (404, 413)),
    Route(
        "POST",
        f"{NAME}/decisions",
        h.decide,
        "writer",
        "Make a decision, or with count several; the same id again gives the same arm",
        m.DecisionRequest,
        {201: (m.DecisionAnswer, m.DecisionsAnswer), 200: (m.DecisionAnswer, m.DecisionsAnswer)},
        (*BODY, 404, 409),
        optional=True,
    ),
    Route(
        "GET",
        f"{NAME}/events",
        h.events,
        "reader",
        "Events behind a cursor, a line of JSON each; the header Belated-Cursor is the next cursor",
        None,
        {200: NDJSON},
        (404, 409, 422),
        PAGE,
    ),
    Route(
        "GET",
        f"{NAME}/export.parquet",
        h.export,
        "reader",
        "All events as a Parquet file",
        None,
        {200: PARQUET},
        (404, 422),
    ),
    Route(
        "GET",
        f"{NAME}/delays",
        h.delays,
        "reader",
        "How long answers take: a Kaplan-Meier curve for each arm",
        None,
        {200: m.DelaysAnswer},
        (404, 422),
    ),
    Route(
        "POST",
        f"{ID}/feedback",
        h.feedback,
        "writer",
        "The reward of a decision; the same again changes nothing",
        m.FeedbackRequest,
        {201: m.DecisionStatusAnswer, 200: m.DecisionStatusAnswer},
        (*BODY, 404, 409),
    ),
    Route(
        "POST",
        f"{ID}/cancel",
        h.cancel,
        "writer",
        "The decision was never shown: it leaves the statistics",
        None,
        {201: m.DecisionStatusAnswer, 200: m.DecisionStatusAnswer},
        (404, 409, 413),
    ),
    Route(
        "GET",
        ID,
        h.decision,
        "reader",
        "A decision and what became of it",
        None,
        {200: m.DecisionStatusAnswer},
        (404, 422),
    ),
    Route(
        "POST",
        "/v1/feedback",
        h.feedbacks,
        "writer",
        "Many feedbacks, each with its own result",
        m.FeedbacksRequest,
        {200: m.FeedbacksAnswer},
        BODY,
    ),
    Route("GET", "/livez", h.livez, None, "Whether the process is alive", None, {200: m.StateAnswer}),
    Route("GET", "/readyz", h.readyz, None, "Whether storage takes a write", None, {200: m.StateAnswer}),
    Route("GET", "/metrics", h.metrics, "reader", "Counters for Prometheus", None, {200: PLAIN}),
)
