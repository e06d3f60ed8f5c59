"""Routes for decisions: make them, report feedback, cancel, look them up."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from belated.errors import ApiError
from belated.service.api import codec, messages
from belated.service.api.codec import json_response, service_of
from belated.service.api.routing import DECISION, EXPERIMENT, IN_EXPERIMENT, RouteGroup
from belated.service.core import operations
from belated.service.core.experiment import DecisionState, Experiment
from belated.service.core.service import Service
from belated.service.core.transaction import Operation, Transaction
from belated.service.problem_types import ProblemType
from belated.service.timestamps import isoformat

routes = RouteGroup("Decisions and feedback")

Outcome = tuple[Experiment, DecisionState, str] | ApiError
"""The result of a feedback operation, or why it was refused."""
Item = tuple[str | None, Operation | ApiError]
"""An item of batch feedback: the id of its decision, and what to do or what is wrong with it."""


@routes.declare(
    "POST /v1/experiments/{name}/decisions",
    "writer",
    request=messages.DecisionRequest,
    optional_body=True,
    answer=(messages.DecisionAnswer, messages.DecisionsAnswer),
    created="Decided now.",
    done="A repeated id: the original decision. Nothing counts twice.",
    refusals=(*EXPERIMENT, ProblemType.ID_IN_USE, ProblemType.EXPERIMENT_STOPPED),
)
async def decide(request: Request) -> Response:
    """Make a decision, or several with count; the same id always gets the same arm."""
    asked = await codec.parse_body(request, messages.DecisionRequest, messages.DecisionRequest())
    service, name = service_of(request), codec.experiment_name(request)
    count = asked.count or 1
    if asked.metadata is not None:
        codec.check_metadata(asked.metadata, count)
    extra: dict[str, Any] = {"unit": asked.unit, "metadata": asked.metadata}
    ids: tuple[str, ...] = () if asked.id is None else (asked.id,)
    if asked.id is not None and asked.count is not None:
        ids = tuple(f"{asked.id}.{number}" for number in range(count))
        extra |= {"count": count, "of": asked.of}  # another count or total is another request
    decided, new = await service.submit(operations.decide(name, ids, count, extra))
    if new:
        service.metrics.decisions.labels(name).inc(count)
    views = [decision_view(*each) for each in decided]
    return json_response(views[0] if asked.count is None else messages.DecisionsAnswer(views), created=new)


@routes.declare(
    "POST /v1/decisions/{id}/feedback",
    "writer",
    request=messages.FeedbackRequest,
    query=(IN_EXPERIMENT,),
    answer=messages.DecisionStatusAnswer,
    created="It counts.",
    done="The same reward again: nothing changed.",
    refusals=(
        *DECISION,
        ProblemType.INVALID_TIME,
        ProblemType.CONFLICTING_FEEDBACK,
        ProblemType.DECISION_CANCELLED,
    ),
)
async def feedback(request: Request) -> Response:
    """Report the reward of a decision; repeating the request has no effect."""
    asked = await codec.parse_body(request, messages.FeedbackRequest)
    observed_at = codec.parse_time(asked.observed_at)
    service, id, name = service_of(request), codec.decision_id(request), IN_EXPERIMENT.value(request)
    operation = operations.feedback(id, codec.unsigned(asked.reward), observed_at, name)
    try:
        outcome = await service.submit(operation)
    except ApiError as error:
        _count_feedback(service, error)
        raise
    _count_feedback(service, outcome)
    experiment, decision, result = outcome
    return json_response(status_view(experiment, decision), created=result != "duplicate")


def _count_feedback(service: Service, outcome: Outcome) -> None:
    metrics = service.metrics
    if isinstance(outcome, ApiError):
        if outcome.status == 404:
            metrics.unknown.inc()
        elif outcome.experiment is not None:
            metrics.feedback.labels(outcome.experiment, "conflict").inc()
        return
    experiment, decision, result = outcome
    metrics.feedback.labels(experiment.name, result).inc()
    if result != "duplicate":
        observed_at = decision.observed_at or 0
        metrics.delay.labels(experiment.name).observe(max(observed_at - decision.event.at, 0) / 1e6)


@routes.declare(
    "POST /v1/feedback",
    "writer",
    request=messages.FeedbacksRequest,
    query=(IN_EXPERIMENT,),
    answer=messages.FeedbacksAnswer,
    done="Each item was accepted or refused on its own: see `results`.",
)
async def feedbacks(request: Request) -> Response:
    """Report many rewards, each with its own result."""
    name = IN_EXPERIMENT.value(request)
    asked = await codec.parse_body(request, messages.FeedbacksRequest)
    for index, raw in enumerate(asked.feedback):
        if bytes(raw)[:1] != b"{":
            raise ProblemType.INVALID_BODY.error(f"Expected `object` - at `$.feedback[{index}]`; {codec.SEE_OPENAPI}")
    items = [_parse_item(raw, index, name) for index, raw in enumerate(asked.feedback)]
    service = service_of(request)
    results = []
    for (id, _), outcome in zip(items, await service.submit(_batch(items)), strict=True):
        _count_feedback(service, outcome)
        if isinstance(outcome, ApiError):
            refused = codec.problem_answer(outcome)
            results.append(messages.FeedbackResult(id, refused.status, refused.type, refused.detail))
        else:
            results.append(messages.FeedbackResult(id, 200 if outcome[2] == "duplicate" else 201))
    return json_response(messages.FeedbacksAnswer(results))


class _OnlyId(msgspec.Struct):
    """All that is read of a refused item."""

    id: Any = None


def _parse_item(raw: msgspec.Raw, index: int, experiment: str | None) -> Item:
    try:
        item = codec.decode_message(raw, messages.FeedbackItem)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        detail = f"{what} - at `$.feedback[{index}]{where or '`'}; {codec.SEE_OPENAPI}"
        return (_item_id(raw), ProblemType.INVALID_BODY.error(detail))
    try:
        observed_at = codec.parse_time(item.observed_at, f"feedback[{index}].observed_at")
    except ApiError as error:
        return (item.id, error)
    name = item.experiment or experiment
    return (item.id, operations.feedback(item.id, codec.unsigned(item.reward), observed_at, name))


def _item_id(raw: msgspec.Raw) -> str | None:
    try:
        id = msgspec.json.decode(raw, type=_OnlyId).id
    except msgspec.ValidationError:  # such as a number that is too large
        return None
    return id if isinstance(id, str) else None


def _batch(items: list[Item]) -> Operation:
    """All items in order, as one operation; the outcome of each."""

    def act(tx: Transaction) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for _, operation in items:
            try:
                outcomes.append(operation if isinstance(operation, ApiError) else operation.act(tx))
            except ApiError as error:  # refused before anything changed
                outcomes.append(error)
        return outcomes

    valid = [operation for _, operation in items if isinstance(operation, Operation)]
    names = {name for operation in valid for name in operation.names}
    return Operation(act, tuple(names), tuple(pair for operation in valid for pair in operation.ids))


@routes.declare(
    "POST /v1/decisions/{id}/cancel",
    "writer",
    query=(IN_EXPERIMENT,),
    answer=messages.DecisionStatusAnswer,
    created="Cancelled now.",
    done="It was already cancelled.",
    refusals=(*DECISION, ProblemType.DECISION_OBSERVED, ProblemType.CANNOT_TAKE_BACK),
)
async def cancel(request: Request) -> Response:
    """Cancel a decision that was never shown: it is removed from the statistics."""
    operation = operations.cancel(codec.decision_id(request), IN_EXPERIMENT.value(request))
    experiment, decision, new = await service_of(request).submit(operation)
    return json_response(status_view(experiment, decision), created=new)


@routes.declare(
    "GET /v1/decisions/{id}",
    "reader",
    query=(IN_EXPERIMENT,),
    answer=messages.DecisionStatusAnswer,
    refusals=DECISION,
)
async def decision(request: Request) -> Response:
    """A decision and its outcome."""
    operation = operations.decision(codec.decision_id(request), IN_EXPERIMENT.value(request))
    return json_response(status_view(*await service_of(request).submit(operation)))


# ---- views ----


def decision_view(experiment: Experiment, decision: DecisionState) -> messages.DecisionAnswer:
    """A decision as it was made."""
    event = decision.event
    return messages.DecisionAnswer(
        str(event.id), experiment.name, experiment.names[event.arm or 0], isoformat(event.at)
    )


def status_view(experiment: Experiment, decision: DecisionState) -> messages.DecisionStatusAnswer:
    """A decision and its outcome."""
    event, extra = decision.event, decision.event.extras()
    observed_at = decision.observed_at
    return messages.DecisionStatusAnswer(
        id=str(event.id),
        experiment=experiment.name,
        arm=experiment.names[event.arm or 0],
        decided_at=isoformat(event.at),
        status=decision.status,
        reward=decision.reward,
        observed_at=isoformat(observed_at) if observed_at is not None else None,
        late=decision.late,
        deadline=isoformat(event.deadline) if event.deadline is not None else None,
        unit=extra.get("unit"),
        metadata=extra.get("metadata"),
    )
