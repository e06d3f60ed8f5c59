"""The API's handlers: a request in, operations done, an answer out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from belated.errors import ApiError
from belated.service.api.batch_feedback import Outcome, read_items, tell
from belated.service.api.messages import (
    ArmRequest,
    DecisionRequest,
    DecisionsAnswer,
    ExperimentRequest,
    FeedbackRequest,
    FeedbackResult,
    FeedbacksAnswer,
    FeedbacksRequest,
    StateAnswer,
)
from belated.service.api.problems import problem
from belated.service.api.request_parsing import body_as, check_metadata, id_of, name_of, only, time_of, unsigned, whole
from belated.service.api.views import decision_view, experiment_view, experiments_view, status_view
from belated.service.core import operations as op
from belated.service.core.delay_curves import delay_curves
from belated.service.core.export import as_parquet, event_line
from belated.service.core.service import Service
from belated.service.core.spec import Silence, check_name, checked_spec
from belated.service.core.transaction import Operation, Transaction
from belated.service.storage.journal import Journal

_encode = msgspec.json.Encoder().encode
PAGE = 1_000
MOST_EVENTS = 100_000
AT_ONCE = 250
"""Events that are in memory at a time."""
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
    silence = Silence(asked.silence.after, unsigned(asked.silence.reward)) if asked.silence else None
    spec = checked_spec(asked.arms, asked.policy, asked.seed, silence)
    name = check_name(asked.name)
    await run_in_threadpool(spec.try_out)  # compiled here, so that others need not wait for it
    made, new = await service_of(request).do(_viewed(op.create(name, spec)))
    return _json(made, _status(new))


def _viewed(operation: Operation) -> Operation:
    """An operation that tells of an experiment, as it is then."""

    def act(session: Transaction) -> tuple[Any, bool]:
        experiment, new = operation.act(session)
        return experiment_view(experiment), new

    return Operation(act, operation.names, operation.ids)


async def experiments(request: Request) -> Response:
    """All experiments."""
    only(request)
    return _json(await service_of(request).do(Operation(experiments_view)))


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
        check_metadata(asked.metadata, count)
    batch = count if asked.id is not None and asked.count is not None else None  # another count, another request
    total = asked.of if batch is not None else None  # and another total
    more = {"unit": asked.unit, "metadata": asked.metadata, "count": batch, "of": total}
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
    experiment, found, result = await _told(service_of(request), id_of(request), unsigned(asked.reward), seen)
    return _json(status_view(experiment, found), _status(result != "duplicate"))


async def _told(service: Service, id: str, reward: float, seen: int | None) -> Any:
    try:
        outcome = await service.do(op.feedback(id, reward, seen))
    except ApiError as refused:
        _count(service, refused)
        raise
    _count(service, outcome)
    return outcome


def _count(service: Service, outcome: Outcome) -> None:
    """What became of a feedback, for the metrics."""
    metrics = service.metrics
    if isinstance(outcome, ApiError):
        if outcome.status == 404:
            metrics.unknown.inc()
        elif outcome.experiment is not None:
            metrics.feedback.labels(outcome.experiment, "conflict").inc()
        return
    experiment, found, result = outcome
    metrics.feedback.labels(experiment.name, result).inc()
    if result != "duplicate":
        seen = found.observed_at or 0
        metrics.delay.labels(experiment.name).observe(max(seen - found.event.at, 0) / op.MICRO)


async def feedbacks(request: Request) -> Response:
    """Several feedbacks; each is taken or refused for itself."""
    asked = await body_as(request, FeedbacksRequest)
    items = read_items(asked.feedback)
    service = service_of(request)
    results = []
    for item, outcome in zip(items, await service.do(tell(items)), strict=True):
        _count(service, outcome)
        if isinstance(outcome, ApiError):
            told = problem(outcome)
            results.append(FeedbackResult(item.id, told.status, told.type, told.detail))
        else:
            results.append(FeedbackResult(item.id, _status(outcome[2] != "duplicate")))
    return _json(FeedbacksAnswer(results))


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
    number, last, names = await service.do(_known(name))
    if after > last:
        raise ApiError(409, "cursor-ahead", f"cursor is {after}, and the last event is {last}; give one that was told.")
    cursor = min(after + limit, last)  # events are numbered without a gap

    async def lines() -> AsyncIterator[bytes]:
        for start in range(after, cursor, AT_ONCE):
            count = min(AT_ONCE, cursor - start)
            yield await service.read(partial(_lines, number, start, count, names))

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers={CURSOR: str(cursor)})


def _known(name: str) -> Operation:
    """(number, last event, names of the arms) of an experiment."""

    def act(session: Transaction) -> tuple[int, int, list[str]]:
        experiment = session.experiment(name)
        return experiment.id, experiment.seq, list(experiment.names)

    return Operation(act, (name,))


def _lines(number: int, after: int, count: int, names: list[str], journal: Journal) -> bytes:
    return b"".join(_encode(event_line(event, names)) + b"\n" for event in journal.events(number, after, count))


async def export(request: Request) -> Response:
    """All events as a Parquet file, which belated import reads."""
    only(request)
    name = name_of(request)
    service = service_of(request)
    await service.do(_known(name))
    file = await service.read(lambda journal: as_parquet(journal, name))

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
    _, _, names = await service.do(_known(name))
    return _json(await service.read(lambda journal: delay_curves(journal, name, names)))


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

    def act(session: Transaction) -> tuple[list[tuple[int, str, int]], int]:
        found, damaged = session.all()
        return [(each.id, each.name, each.pending) for each in found], len(damaged)

    found, damaged = await service.do(Operation(act))
    service.metrics.damaged.set(damaged)
    for _, name, pending in found:
        service.metrics.pending.labels(name).set(pending)
    ages = await service.read(lambda journal: service.oldest(journal, [(number, name) for number, name, _ in found]))
    for name, age in ages.items():
        service.metrics.oldest.labels(name).set(age)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
