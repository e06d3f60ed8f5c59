"""Routes for decisions: make them, report feedback, cancel, look them up."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from belated.errors import ApiError
from belated.service import problems
from belated.service.api.messages import (
    DecisionAnswer,
    DecisionRequest,
    DecisionsAnswer,
    DecisionStatusAnswer,
    FeedbackItem,
    FeedbackRequest,
    FeedbackResult,
    FeedbacksAnswer,
    FeedbacksRequest,
)
from belated.service.api.request_parsing import (
    SEE_OPENAPI,
    check_metadata,
    decision_id,
    decode_message,
    experiment_name,
    parse_body,
    parse_time,
    service_of,
    unsigned,
)
from belated.service.api.responses import json_response, problem_answer
from belated.service.api.route import BODY, DECISION_PATH, EXPERIMENT, EXPERIMENT_PATH, RouteGroup, Success
from belated.service.core import operations
from belated.service.core.experiment import DecisionState, Experiment
from belated.service.core.service import Service
from belated.service.core.transaction import Operation, Transaction
from belated.service.timestamps import isoformat

routes = RouteGroup("Decisions and feedback")

Outcome = tuple[Experiment, DecisionState, str] | ApiError
"""The result of a feedback operation, or why it was refused."""


@routes.post(
    f"{EXPERIMENT_PATH}/decisions",
    "Make a decision, or several with count; the same id always gets the same arm",
    role="writer",
    request=DecisionRequest,
    optional_body=True,
    responses={
        201: Success((DecisionAnswer, DecisionsAnswer), "Decided now."),
        200: Success((DecisionAnswer, DecisionsAnswer), "A repeated id: the original decision. Nothing counts twice."),
    },
    problems=(*BODY, *EXPERIMENT, problems.ID_IN_USE, problems.EXPERIMENT_STOPPED),
)
async def decide(request: Request) -> Response:
    """Make a decision, or several."""
    asked = await parse_body(request, DecisionRequest, DecisionRequest())
    service, name = service_of(request), experiment_name(request)
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
    total = asked.of if batch is not None else None  # likewise
    extra = {"unit": asked.unit, "metadata": asked.metadata, "count": batch, "of": total}
    decided, new = await service.submit(operations.decide(name, ids, count, extra))
    if new:
        service.metrics.decided(name, count)
    views = [decision_view(*each) for each in decided]
    return json_response(views[0] if asked.count is None else DecisionsAnswer(views), created=new)


@routes.post(
    f"{DECISION_PATH}/feedback",
    "Report the reward of a decision; repeating the request has no effect",
    role="writer",
    request=FeedbackRequest,
    responses={
        201: Success(DecisionStatusAnswer, "It counts."),
        200: Success(DecisionStatusAnswer, "The same reward again: nothing changed."),
    },
    problems=(
        *BODY,
        problems.INVALID_TIME,
        problems.UNKNOWN_DECISION,
        problems.CONFLICTING_FEEDBACK,
        problems.DECISION_CANCELLED,
        problems.EXPERIMENT_DAMAGED,
    ),
)
async def feedback(request: Request) -> Response:
    """Report the reward of a decision."""
    asked = await parse_body(request, FeedbackRequest)
    observed_at = parse_time(asked.observed_at)
    service = service_of(request)
    operation = operations.feedback(decision_id(request), unsigned(asked.reward), observed_at)
    try:
        outcome = await service.submit(operation)
    except ApiError as error:
        _count_feedback(service, error)
        raise
    _count_feedback(service, outcome)
    experiment, decision, result = outcome
    return json_response(status_view(experiment, decision), created=result != "duplicate")


def _count_feedback(service: Service, outcome: Outcome) -> None:
    """Update the metrics."""
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


@routes.post(
    "/v1/feedback",
    "Report many rewards, each with its own result",
    role="writer",
    request=FeedbacksRequest,
    responses={200: Success(FeedbacksAnswer, "Each item was accepted or refused on its own: see `results`.")},
    problems=BODY,
)
async def feedbacks(request: Request) -> Response:
    """Report many rewards in one transaction; each is accepted or refused on its own."""
    asked = await parse_body(request, FeedbacksRequest)
    items = _parse_items(asked.feedback)
    service = service_of(request)
    results = []
    for item, outcome in zip(items, await service.submit(_batch(items)), strict=True):
        _count_feedback(service, outcome)
        if isinstance(outcome, ApiError):
            problem = problem_answer(outcome)
            results.append(FeedbackResult(item.id, problem.status, problem.type, problem.detail))
        else:
            results.append(FeedbackResult(item.id, 200 if outcome[2] == "duplicate" else 201))
    return json_response(FeedbacksAnswer(results))


class _Item(NamedTuple):
    """An item of batch feedback, parsed."""

    id: str | None
    operation: Operation | ApiError
    """What to do, or what is wrong with it."""


class _OnlyId(msgspec.Struct):
    """All that is read of a refused item."""

    id: Any = None


def _parse_items(raw_items: list[msgspec.Raw]) -> list[_Item]:
    """Parse each item; refuse the whole request if one is not an object."""
    for index, raw in enumerate(raw_items):
        if bytes(raw)[:1] != b"{":
            raise problems.INVALID_BODY.error(f"Expected `object` - at `$.feedback[{index}]`; {SEE_OPENAPI}")
    return [_parse_item(raw, index) for index, raw in enumerate(raw_items)]


def _parse_item(raw: msgspec.Raw, index: int) -> _Item:
    try:
        item = decode_message(raw, FeedbackItem)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        detail = f"{what} - at `$.feedback[{index}]{where or '`'}; {SEE_OPENAPI}"
        return _Item(_item_id(raw), problems.INVALID_BODY.error(detail))
    try:
        observed_at = parse_time(item.observed_at, f"feedback[{index}].observed_at")
    except ApiError as error:
        return _Item(item.id, error)
    return _Item(item.id, operations.feedback(item.id, unsigned(item.reward), observed_at))


def _item_id(raw: msgspec.Raw) -> str | None:
    try:
        id = msgspec.json.decode(raw, type=_OnlyId).id
    except msgspec.ValidationError:  # such as a number that is too large
        return None
    return id if isinstance(id, str) else None


def _batch(items: list[_Item]) -> Operation:
    """All items in order, as one operation; the outcome of each."""

    def act(tx: Transaction) -> list[Outcome]:
        return [_outcome(item.operation, tx) for item in items]

    ids = tuple(id for item in items if isinstance(item.operation, Operation) for id in item.operation.ids)
    return Operation(act, (), ids)


def _outcome(operation: Operation | ApiError, tx: Transaction) -> Outcome:
    if isinstance(operation, ApiError):
        return operation
    try:
        outcome: Outcome = operation.act(tx)  # it refuses before it changes anything
    except ApiError as error:
        return error
    return outcome


@routes.post(
    f"{DECISION_PATH}/cancel",
    "Cancel a decision that was never shown: it is removed from the statistics",
    role="writer",
    responses={
        201: Success(DecisionStatusAnswer, "Cancelled now."),
        200: Success(DecisionStatusAnswer, "It was already cancelled."),
    },
    problems=(
        problems.UNKNOWN_DECISION,
        problems.DECISION_OBSERVED,
        problems.CANNOT_TAKE_BACK,
        problems.EXPERIMENT_DAMAGED,
    ),
)
async def cancel(request: Request) -> Response:
    """Cancel a decision that was never shown."""
    experiment, decision, new = await service_of(request).submit(operations.cancel(decision_id(request)))
    return json_response(status_view(experiment, decision), created=new)


@routes.get(
    DECISION_PATH,
    "A decision and its outcome",
    role="reader",
    responses={200: Success(DecisionStatusAnswer)},
    problems=(problems.UNKNOWN_DECISION, problems.EXPERIMENT_DAMAGED, problems.INVALID_QUERY),
)
async def decision(request: Request) -> Response:
    """A decision and its outcome."""
    return json_response(status_view(*await service_of(request).submit(operations.decision(decision_id(request)))))


# ---- views ----


def decision_view(experiment: Experiment, decision: DecisionState) -> DecisionAnswer:
    """A decision as it was made."""
    event = decision.event
    return DecisionAnswer(str(event.id), experiment.name, experiment.names[event.arm or 0], isoformat(event.at))


def status_view(experiment: Experiment, decision: DecisionState) -> DecisionStatusAnswer:
    """A decision and its outcome."""
    event, extra = decision.event, decision.event.extras()
    observed_at = decision.observed_at
    return DecisionStatusAnswer(
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
