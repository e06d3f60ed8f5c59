"""The API's handlers: a request in, operations done, an answer out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from belated.errors import Refused
from belated.service import operations as op
from belated.service.curves import delay_curves
from belated.service.export import as_parquet, event_line
from belated.service.messages import (
    ArmRequest,
    DecisionRequest,
    DecisionsAnswer,
    ExperimentRequest,
    ExperimentsAnswer,
    FeedbackItem,
    FeedbackRequest,
    FeedbackResult,
    FeedbacksAnswer,
    FeedbacksRequest,
    StateAnswer,
)
from belated.service.problems import problem
from belated.service.reading import body_as, check_depth, id_of, name_of, only, time_of, whole
from belated.service.session import Operation, Session
from belated.service.spec import Silence, check_name, checked_spec
from belated.service.state import Service
from belated.service.views import decision_view, experiment_view, status_view

_encode = msgspec.json.Encoder().encode
PAGE = 1_000
MOST_EVENTS = 100_000
CURSOR = "Belated-Cursor"
"""The header that says where the next page of events begins."""


def service_of(request: Request) -> Service:
    """The server's parts."""
    found: Service = request.scope["belated"]
    return found


def _json(value: Any, status: int = 200) -> Response:
    return Response(_encode(value), status, media_type="application/json")


def _status(new: bool) -> int:
    return 201 if new else 200


# ---- experiments ----


async def create(request: Request) -> Response:
    """Make an experiment."""
    asked = await body_as(request, ExperimentRequest)
    silence = Silence(asked.silence.after, asked.silence.reward) if asked.silence else None
    spec = checked_spec(asked.arms, asked.policy, asked.seed, silence)
    made, new = await service_of(request).do(_viewed(op.create(check_name(asked.name), spec)))
    return _json(made, _status(new))


def _viewed(operation: Operation) -> Operation:
    """An operation that tells of an experiment, as it is then."""

    def act(session: Session) -> tuple[Any, bool]:
        experiment, new = operation.act(session)
        return experiment_view(experiment), new

    return Operation(act, operation.names, operation.ids)


async def experiments(request: Request) -> Response:
    """All experiments."""
    only(request)
    found = await service_of(request).do(Operation(lambda session: [experiment_view(e) for e in session.all()]))
    return _json(ExperimentsAnswer(found))


async def experiment(request: Request) -> Response:
    """An experiment as it is now."""
    only(request)
    name = name_of(request)
    view = Operation(lambda session: experiment_view(session.experiment(name)), (name,))
    return _json(await service_of(request).do(view))


async def add_arm(request: Request) -> Response:
    """Add an arm, where the policy allows it."""
    asked = await body_as(request, ArmRequest)
    found, new = await service_of(request).do(_viewed(op.add_arm(name_of(request), asked.arm)))
    return _json(found, _status(new))


async def stop(request: Request) -> Response:
    """No more decisions; feedback is still taken."""
    found, _ = await service_of(request).do(_viewed(op.set_stopped(name_of(request), True)))
    return _json(found)


async def resume(request: Request) -> Response:
    """Decisions again."""
    found, _ = await service_of(request).do(_viewed(op.set_stopped(name_of(request), False)))
    return _json(found)


# ---- decisions ----


async def decide(request: Request) -> Response:
    """Make a decision, or several."""
    asked = await body_as(request, DecisionRequest, DecisionRequest())
    service, name = service_of(request), name_of(request)
    count = asked.count or 1
    if asked.id is None:
        ids: tuple[str, ...] = ()
    elif asked.count is None:
        ids = (asked.id,)
    else:
        ids = tuple(f"{asked.id}.{number}" for number in range(count))
    if asked.metadata is not None:
        check_depth(asked.metadata)
    batch = count if asked.id is not None and asked.count is not None else None  # another count, another request
    more = {"unit": asked.unit, "metadata": asked.metadata, "count": batch}
    made, new = await service.do(op.decide(name, ids, count, more))
    if new:
        service.metrics.decided(name, count)
    views = [decision_view(*each) for each in made]
    return _json(views[0] if asked.count is None else DecisionsAnswer(views), _status(new))


async def decision(request: Request) -> Response:
    """A decision and what became of it."""
    only(request)
    found = await service_of(request).do(op.decision(id_of(request)))
    return _json(status_view(*found))


async def feedback(request: Request) -> Response:
    """The reward of a decision."""
    asked = await body_as(request, FeedbackRequest)
    seen = time_of(asked.observed_at)
    experiment, found, result = await _told(service_of(request), id_of(request), asked.reward, seen)
    return _json(status_view(experiment, found), _status(result != "duplicate"))


async def _told(service: Service, id: str, reward: float, seen: int | None) -> Any:
    metrics = service.metrics
    try:
        experiment, found, result = await service.do(op.feedback(id, reward, seen))
    except Refused as refused:
        if refused.status == 404:
            metrics.unknown.inc()
        elif refused.status == 409:
            conflict = await service.do(op.decision(id))
            metrics.feedback.labels(conflict[0].name, "conflict").inc()
        raise
    metrics.feedback.labels(experiment.name, result).inc()
    if result != "duplicate":
        metrics.delay.labels(experiment.name).observe(max(found.observed_at - found.event.at, 0) / op.MICRO)
    return experiment, found, result


async def feedbacks(request: Request) -> Response:
    """Several feedbacks; each is taken or refused for itself."""
    asked = await body_as(request, FeedbacksRequest)
    service = service_of(request)

    times = [time_of(item.observed_at, f"feedback[{place}].observed_at") for place, item in enumerate(asked.feedback)]

    async def one(item: FeedbackItem, seen: int | None) -> FeedbackResult:
        try:
            _, _, result = await _told(service, item.id, item.reward, seen)
            return FeedbackResult(item.id, _status(result != "duplicate"))
        except Refused as refused:
            told = problem(refused)
            return FeedbackResult(item.id, refused.status, told.type, told.detail)

    results = await asyncio.gather(*map(one, asked.feedback, times))
    return _json(FeedbacksAnswer(list(results)))


async def cancel(request: Request) -> Response:
    """A decision was never shown."""
    experiment, found, new = await service_of(request).do(op.cancel(id_of(request)))
    return _json(status_view(experiment, found), _status(new))


# ---- reading the journal ----


async def events(request: Request) -> Response:
    """The events behind a cursor, a line of JSON each."""
    only(request, "cursor", "limit")
    name = name_of(request)
    after = whole(request, "cursor", 0, 0, 2**62)
    limit = whole(request, "limit", PAGE, 1, MOST_EVENTS)
    service = service_of(request)
    number = await service.do(Operation(lambda session: session.experiment(name).id, (name,)))
    found = await run_in_threadpool(lambda: list(service.reader().events(number, after, limit)))
    names = await service.do(_names(name))  # later than the events, so that every arm in them is among the names
    lines = await run_in_threadpool(lambda: b"".join(_encode(event_line(event, names)) + b"\n" for event in found))
    cursor = str(found[-1].seq if found else after)
    return Response(lines, media_type="application/x-ndjson", headers={CURSOR: cursor})


def _names(name: str) -> Operation:
    """The names of an experiment's arms."""
    return Operation(lambda session: list(session.experiment(name).names), (name,))


async def export(request: Request) -> Response:
    """All events as a Parquet file, which belated import reads."""
    only(request)
    name = name_of(request)
    service = service_of(request)
    await service.do(Operation(lambda session: session.experiment(name).id, (name,)))
    file = await run_in_threadpool(lambda: as_parquet(service.reader(), name))

    async def parts() -> AsyncIterator[bytes]:
        with file:
            while part := await run_in_threadpool(file.read, 1 << 20):
                yield part

    headers = {"Content-Disposition": f'attachment; filename="{name}.parquet"'}
    return StreamingResponse(parts(), media_type="application/vnd.apache.parquet", headers=headers)


async def delays(request: Request) -> Response:
    """Delay curves, by Kaplan and Meier from what came and what is pending."""
    only(request)
    name = name_of(request)
    service = service_of(request)
    names = await service.do(_names(name))
    return _json(await run_in_threadpool(lambda: delay_curves(service.reader(), name, names)))


# ---- the server ----


async def livez(request: Request) -> Response:
    """Whether the process is alive."""
    return _json(StateAnswer("alive"))


async def readyz(request: Request) -> Response:
    """Whether the writer is at work and the storage takes a write."""
    await service_of(request).do(Operation(lambda session: session.touch()))
    return _json(StateAnswer("ready"))


async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    service = service_of(request)
    found = await service.do(Operation(lambda session: [(e.id, e.name, e.pending) for e in session.all()]))
    for _, name, pending in found:
        service.metrics.pending.labels(name).set(pending)
    ages = await run_in_threadpool(lambda: service.oldest([(number, name) for number, name, _ in found]))
    for name, age in ages.items():
        service.metrics.oldest.labels(name).set(age)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
