"""Read-only routes: events, Parquet export, delay curves, health checks, metrics."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import stats
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from belated.service import timestamps
from belated.service.api.codec import encode, experiment_name, json_response, service_of
from belated.service.api.messages import CurveAnswer, DelaysAnswer, StateAnswer
from belated.service.api.routing import EXPERIMENT, QueryParameter, RouteGroup
from belated.service.core.export import event_line, write_parquet
from belated.service.core.transaction import Operation, Transaction
from belated.service.problem_types import ProblemType, unknown_experiment
from belated.service.storage.journal import Journal
from belated.service.timestamps import isoformat

CHUNK = 250
"""Events in memory at a time."""
CURSOR_HEADER = "Belated-Cursor"
"""The response header with the cursor of the next page of events."""
NDJSON, PARQUET, PLAIN = "application/x-ndjson", "application/vnd.apache.parquet", "text/plain"
CURSOR = QueryParameter(
    "cursor", 0, 2**62, 0, f"Events after this number: 0, `last_event`, or the value of the {CURSOR_HEADER} header."
)
LIMIT = QueryParameter("limit", 1, 100_000, 1_000, "Maximum number of events.")
MAX_CURVE_DECISIONS = 100_000
"""Decisions that delay curves are computed from, the newest ones."""
MAX_CURVE_POINTS = 200

routes = RouteGroup("What happened")
server_routes = RouteGroup("The server")


@routes.declare(
    "GET /v1/experiments/{name}/events",
    "reader",
    query=(CURSOR, LIMIT),
    answer=NDJSON,
    refusals=(*EXPERIMENT, ProblemType.CURSOR_AHEAD),
)
async def events(request: Request) -> Response:
    """Events after a cursor, one line of JSON each; the Belated-Cursor header has the next cursor."""
    after, limit = CURSOR.value(request), LIMIT.value(request)
    service = service_of(request)
    number, last, arms = await _overview(request)
    if after > last:
        raise ProblemType.CURSOR_AHEAD.error(
            f"cursor is {after}, and the last event is {last}; give a cursor from a response."
        )
    cursor = min(after + limit, last)  # events are numbered without a gap

    async def lines() -> AsyncIterator[bytes]:
        for start in range(after, cursor, CHUNK):
            count = min(CHUNK, cursor - start)
            yield await service.read(partial(_event_lines, number, start, count, arms))

    return StreamingResponse(lines(), media_type=NDJSON, headers={CURSOR_HEADER: str(cursor)})


async def _overview(request: Request) -> tuple[int, int, list[str]]:
    """(number, last event, names of the arms) of an experiment."""
    name = experiment_name(request)

    def act(tx: Transaction) -> tuple[int, int, list[str]]:
        experiment = tx.experiment(name)
        return experiment.id, experiment.seq, list(experiment.names)

    overview: tuple[int, int, list[str]] = await service_of(request).submit(Operation(act, (name,)))
    return overview


def _event_lines(number: int, after: int, count: int, arms: list[str], journal: Journal) -> bytes:
    return b"".join(encode(event_line(event, arms)) + b"\n" for event in journal.events(number, after, count))


@routes.declare("GET /v1/experiments/{name}/export.parquet", "reader", query=(), answer=PARQUET, refusals=EXPERIMENT)
async def export(request: Request) -> Response:
    """All events as a Parquet file."""
    name = experiment_name(request)
    await _overview(request)  # refuses an unknown or damaged one
    file = await service_of(request).read(lambda journal: write_parquet(journal, name))

    async def chunks() -> AsyncIterator[bytes]:
        with file:
            while chunk := await run_in_threadpool(file.read, 1 << 20):
                yield chunk

    headers = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
    return StreamingResponse(chunks(), media_type=PARQUET, headers=headers)


@routes.declare("GET /v1/experiments/{name}/delays", "reader", query=(), answer=DelaysAnswer, refusals=EXPERIMENT)
async def delays(request: Request) -> Response:
    """How long feedback takes: a Kaplan-Meier curve for each arm."""
    name = experiment_name(request)
    _, _, arms = await _overview(request)
    return json_response(await service_of(request).read(lambda journal: delay_curves(journal, name, arms)))


def delay_curves(journal: Journal, name: str, arms: list[str]) -> DelaysAnswer:
    """The Kaplan-Meier curve of each arm's delay. A pending decision is censored at its age; an imputed one counts as
    pending."""
    stored = journal.experiment(name)
    if stored is None:
        raise unknown_experiment(name)
    time = timestamps.now()
    waited: list[list[float]] = [[] for _ in arms]
    observed: list[list[bool]] = [[] for _ in arms]
    decisions = journal.recent_delays(stored.id, MAX_CURVE_DECISIONS)
    for arm, decided_at, written_at, extra in decisions:
        if arm >= len(arms):
            continue  # an arm that was added just now
        end = time if written_at is None else msgspec.json.decode(extra or "{}").get("observed_at", written_at)
        waited[arm].append(max(end - decided_at, 0) / 1e6)
        observed[arm].append(written_at is not None)
    curves = [_curve(arm, np.array(w), np.array(o, bool)) for arm, w, o in zip(arms, waited, observed, strict=True)]
    return DelaysAnswer(name, isoformat(time), len(decisions), curves)


def _curve(arm: str, waited: npt.NDArray[np.float64], observed: npt.NDArray[np.bool_]) -> CurveAnswer:
    count = int(observed.sum())
    if not count:
        return CurveAnswer(arm, 0, int(observed.size), [], [], [], [])
    estimate: Any = stats.ecdf(stats.CensoredData.right_censored(waited, ~observed))
    with warnings.catch_warnings():  # the interval is undefined where nothing is left at risk
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = estimate.cdf.confidence_interval(0.95)
    steps = np.flatnonzero(np.diff(estimate.cdf.probabilities, prepend=0.0) > 0.0)
    chosen = steps[np.unique(np.linspace(0, steps.size - 1, min(steps.size, MAX_CURVE_POINTS)).round().astype(int))]
    return CurveAnswer(
        arm,
        count,
        int(observed.size) - count,
        estimate.cdf.quantiles[chosen].tolist(),
        estimate.cdf.probabilities[chosen].tolist(),
        _finite(interval.low.probabilities[chosen]),
        _finite(interval.high.probabilities[chosen]),
    )


def _finite(values: npt.NDArray[np.float64]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


@server_routes.declare("GET /livez", None, answer=StateAnswer)
async def livez(request: Request) -> Response:
    """Whether the process is alive."""
    return json_response(StateAnswer("alive"))


@server_routes.declare("GET /readyz", None, answer=StateAnswer)
async def readyz(request: Request) -> Response:
    """Whether storage accepts writes."""
    await service_of(request).submit(Operation(lambda tx: tx.touch()))
    return json_response(StateAnswer("ready"))


@server_routes.declare("GET /metrics", "reader", answer=PLAIN)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    service = service_of(request)

    def act(tx: Transaction) -> tuple[list[tuple[int, str, int]], int]:
        experiments, damaged = tx.all()
        return [(each.id, each.name, each.pending) for each in experiments], len(damaged)

    experiments, damaged = await service.submit(Operation(act))
    service.metrics.damaged.set(damaged)
    for _, name, pending in experiments:
        service.metrics.pending.labels(name).set(pending)
    numbers = [(number, name) for number, name, _ in experiments]
    for name, age in (await service.read(lambda journal: service.oldest_pending(journal, numbers))).items():
        service.metrics.oldest.labels(name).set(age)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
