"""Routes for experiments: create, read, add arms, stop and resume, import a bandit."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from belated.service import problems
from belated.service.api.messages import (
    ArmAnswer,
    ArmRequest,
    ExperimentAnswer,
    ExperimentRequest,
    ExperimentsAnswer,
    HistoryRequest,
    SilenceAnswer,
)
from belated.service.api.request_parsing import experiment_name, parse_body, service_of, unsigned
from belated.service.api.responses import json_response
from belated.service.api.route import BODY, EXPERIMENT, EXPERIMENT_PATH, SPEC, RouteGroup, Success
from belated.service.core import operations
from belated.service.core.experiment import Experiment
from belated.service.core.import_bandit import HistoryPart, PastEvent, import_history
from belated.service.core.spec import Silence, check_name, checked_spec
from belated.service.core.transaction import Operation, Transaction
from belated.service.timestamps import isoformat

routes = RouteGroup("Experiments")


@routes.post(
    "/v1/experiments",
    "Create an experiment; repeating the request has no effect",
    role="writer",
    request=ExperimentRequest,
    responses={
        201: Success(ExperimentAnswer, "It was created."),
        200: Success(ExperimentAnswer, "The same experiment already existed."),
    },
    problems=(
        *BODY,
        *SPEC,
        problems.INVALID_SILENCE,
        problems.EXPERIMENT_EXISTS,
        problems.EXPERIMENT_DAMAGED,
    ),
)
async def create(request: Request) -> Response:
    """Create an experiment."""
    asked = await parse_body(request, ExperimentRequest)
    silence = Silence(asked.silence.after, unsigned(asked.silence.reward)) if asked.silence else None
    spec = checked_spec(asked.arms, asked.policy, asked.seed, silence)
    name = check_name(asked.name)
    await run_in_threadpool(spec.warm_up)  # compile here, so that the writer does not block on it
    return await _experiment_response(request, operations.create(name, spec))


@routes.get(
    "/v1/experiments",
    "All experiments",
    role="reader",
    responses={200: Success(ExperimentsAnswer)},
    problems=(problems.INVALID_QUERY,),
)
async def experiments(request: Request) -> Response:
    """All experiments."""
    return json_response(await service_of(request).submit(Operation(experiments_view)))


@routes.get(
    EXPERIMENT_PATH,
    "The current state of an experiment",
    role="reader",
    responses={200: Success(ExperimentAnswer)},
    problems=(*EXPERIMENT, problems.INVALID_QUERY),
)
async def experiment(request: Request) -> Response:
    """The current state of an experiment."""
    name = experiment_name(request)
    view = Operation(lambda tx: experiment_view(tx.experiment(name)), (name,))
    return json_response(await service_of(request).submit(view))


@routes.post(
    f"{EXPERIMENT_PATH}/arms",
    "Add an arm, if the policy allows it",
    role="admin",
    request=ArmRequest,
    responses={
        201: Success(ExperimentAnswer, "It was added."),
        200: Success(ExperimentAnswer, "It had already been added."),
    },
    problems=(*BODY, *EXPERIMENT, problems.INVALID_ARMS, problems.ARM_EXISTS, problems.POLICY_IS_CLOSED),
)
async def add_arm(request: Request) -> Response:
    """Add an arm."""
    asked = await parse_body(request, ArmRequest)
    return await _experiment_response(request, operations.add_arm(experiment_name(request), asked.arm))


@routes.post(
    f"{EXPERIMENT_PATH}/stop",
    "Stop making decisions",
    role="admin",
    responses={200: Success(ExperimentAnswer, "It is stopped, now or already.")},
    problems=EXPERIMENT,
)
async def stop(request: Request) -> Response:
    """Stop making decisions; feedback is still accepted."""
    return await _set_stopped(request, True)


@routes.post(
    f"{EXPERIMENT_PATH}/resume",
    "Make decisions again",
    role="admin",
    responses={200: Success(ExperimentAnswer, "It is running, now or already.")},
    problems=EXPERIMENT,
)
async def resume(request: Request) -> Response:
    """Make decisions again."""
    return await _set_stopped(request, False)


async def _set_stopped(request: Request, stopped: bool) -> Response:
    view, _ = await service_of(request).submit(_with_view(operations.set_stopped(experiment_name(request), stopped)))
    return json_response(view)


@routes.post(
    f"{EXPERIMENT_PATH}/history",
    "Import a bandit that ran elsewhere, with its whole history; repeating the request has no effect",
    role="writer",
    request=HistoryRequest,
    responses={
        201: Success(ExperimentAnswer, "Part of it was new."),
        200: Success(ExperimentAnswer, "All of it was already known."),
    },
    problems=(
        *BODY,
        *SPEC,
        problems.EXPERIMENT_EXISTS,
        problems.EXPERIMENT_STOPPED,
        problems.ID_IN_USE,
        problems.HISTORY_DIFFERS,
        problems.HISTORY_OUT_OF_ORDER,
        problems.EXPERIMENT_DAMAGED,
    ),
)
async def history(request: Request) -> Response:
    """Import a bandit that ran elsewhere, or a part of its history."""
    asked = await parse_body(request, HistoryRequest)
    name = check_name(request.path_params["name"])
    spec = checked_spec(asked.arms, asked.policy, asked.seed, None)
    return await _experiment_response(request, import_history(name, spec, _history_part(asked)))


def _history_part(asked: HistoryRequest) -> HistoryPart:
    """The events of a part in order; refuse feedback outside its decisions."""
    events: list[PastEvent] = []
    decided, last = 0, asked.first + len(asked.decisions)
    for before, number, reward in asked.answers:
        if not asked.first + decided <= before <= last:
            raise problems.HISTORY_OUT_OF_ORDER.error(
                f"the feedback for decision {number} came after {before} decisions, which is before the previous "
                f"feedback or outside the decisions {asked.first} to {last}; give what Bandit.to_dict wrote."
            )
        events.extend(asked.decisions[decided : before - asked.first])
        decided = before - asked.first
        events.append((number, unsigned(reward)))
    events.extend(asked.decisions[decided:])
    return HistoryPart(asked.after, asked.first, events, asked.more)


# ---- views ----


async def _experiment_response(request: Request, operation: Operation) -> Response:
    view, new = await service_of(request).submit(_with_view(operation))
    return json_response(view, created=new)


def _with_view(operation: Operation) -> Operation:
    """An operation on an experiment, with a view of it taken in the same transaction."""

    def act(tx: Transaction) -> tuple[Any, bool]:
        experiment, new = operation.act(tx)
        return experiment_view(experiment), new

    return Operation(act, operation.names, operation.ids)


def experiment_view(experiment: Experiment) -> ExperimentAnswer:
    """The current state of an experiment."""
    arms = [ArmAnswer(**vars(arm)) for arm in experiment.learner.summary(experiment.names)]
    silence = experiment.spec.silence
    return ExperimentAnswer(
        name=experiment.name,
        policy=experiment.spec.policy,
        seed=experiment.spec.seed,
        silence=SilenceAnswer(silence.after, silence.reward) if silence is not None else None,
        status="stopped" if experiment.stopped else "running",
        created_at=isoformat(experiment.created_at),
        arms=arms,
        decisions=experiment.learner.decisions,
        pulls=sum(arm.pulls for arm in arms),
        observed=sum(arm.observed for arm in arms),
        pending=sum(arm.pending for arm in arms),
        cancelled=experiment.counts.cancelled,
        imputed=experiment.counts.imputed,
        late=experiment.counts.late,
        last_event=experiment.seq,
    )


def experiments_view(tx: Transaction) -> ExperimentsAnswer:
    """The current state of all experiments."""
    experiments, damaged = tx.all()
    return ExperimentsAnswer([experiment_view(experiment) for experiment in experiments], damaged)
