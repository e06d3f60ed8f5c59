"""Routes for experiments: create, read, add arms, stop and resume, import a bandit."""

from __future__ import annotations

import msgspec
import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from belated.policies._base.names import superseded_note
from belated.service.api import messages
from belated.service.api.codec import experiment_name, json_response, parse_body, service_of, unsigned
from belated.service.api.routing import EXPERIMENT, RouteGroup
from belated.service.core import operations
from belated.service.core.experiment import Experiment
from belated.service.core.import_bandit import HistoryPart, PastEvent, import_history
from belated.service.core.spec import Silence, check_name, checked_spec, make_policy
from belated.service.core.transaction import Operation, Transaction
from belated.service.problem_types import ProblemType
from belated.service.timestamps import isoformat

log = structlog.get_logger()
routes = RouteGroup("Experiments")

SPEC = (
    ProblemType.INVALID_EXPERIMENT,
    ProblemType.UNKNOWN_POLICY,
    ProblemType.UNKNOWN_PARAMETER,
    ProblemType.INVALID_POLICY,
)


@routes.declare(
    "POST /v1/experiments",
    "writer",
    request=messages.ExperimentRequest,
    answer=messages.ExperimentAnswer,
    created="It was created.",
    done="The same experiment already existed.",
    refusals=(
        *SPEC,
        ProblemType.CANNOT_REPLACE,
        ProblemType.EXPERIMENT_EXISTS,
        ProblemType.EXPERIMENT_DAMAGED,
    ),
)
async def create(request: Request) -> Response:
    """Create an experiment; repeating the request has no effect."""
    asked = await parse_body(request, messages.ExperimentRequest)
    silence = Silence(asked.silence.after, unsigned(asked.silence.reward)) if asked.silence else None
    spec = checked_spec(asked.arms, asked.policy, asked.seed, silence)
    await run_in_threadpool(spec.warm_up)  # compile here, so that the writer does not block on it
    open_confidence = asked.policy is not None and "confidence" not in asked.policy
    operation = operations.create(asked.name, spec, open_seed=asked.seed is None, open_confidence=open_confidence)
    response = await _experiment_response(request, operation)
    if response.status_code == 201 and (note := superseded_note(type(make_policy(spec.policy)))):
        log.warning("superseded", experiment=asked.name, detail=note)
    return response


@routes.declare("GET /v1/experiments", "reader", query=(), answer=messages.ExperimentsAnswer)
async def experiments(request: Request) -> Response:
    """All experiments."""
    return json_response(await service_of(request).submit(Operation(experiments_view)))


@routes.declare("GET /v1/experiments/{name}", "reader", query=(), answer=messages.ExperimentAnswer, refusals=EXPERIMENT)
async def experiment(request: Request) -> Response:
    """The current state of an experiment."""
    name = experiment_name(request)
    view = Operation(lambda tx: experiment_view(tx.experiment(name)), (name,))
    return json_response(await service_of(request).submit(view))


@routes.declare(
    "POST /v1/experiments/{name}/arms",
    "admin",
    request=messages.ArmRequest,
    answer=messages.ExperimentAnswer,
    created="It was added.",
    done="It had already been added.",
    refusals=(*EXPERIMENT, ProblemType.INVALID_ARMS, ProblemType.ARM_EXISTS, ProblemType.POLICY_IS_CLOSED),
)
async def add_arm(request: Request) -> Response:
    """Add an arm, if the policy allows it."""
    asked = await parse_body(request, messages.ArmRequest)
    return await _experiment_response(request, operations.add_arm(experiment_name(request), asked.arm))


@routes.declare(
    "POST /v1/experiments/{name}/stop",
    "admin",
    answer=messages.ExperimentAnswer,
    done="It is stopped, now or already.",
    refusals=EXPERIMENT,
)
async def stop(request: Request) -> Response:
    """Stop making decisions."""
    return await _experiment_response(request, operations.set_stopped(experiment_name(request), True), creates=False)


@routes.declare(
    "POST /v1/experiments/{name}/resume",
    "admin",
    answer=messages.ExperimentAnswer,
    done="It is running, now or already.",
    refusals=EXPERIMENT,
)
async def resume(request: Request) -> Response:
    """Make decisions again."""
    return await _experiment_response(request, operations.set_stopped(experiment_name(request), False), creates=False)


@routes.declare(
    "POST /v1/experiments/{name}/history",
    "writer",
    request=messages.HistoryRequest,
    answer=messages.ExperimentAnswer,
    created="Part of it was new.",
    done="All of it was already known.",
    refusals=(
        ProblemType.INVALID_NAME,
        *SPEC,
        ProblemType.EXPERIMENT_EXISTS,
        ProblemType.EXPERIMENT_STOPPED,
        ProblemType.HISTORY_DIFFERS,
        ProblemType.HISTORY_OUT_OF_ORDER,
        ProblemType.EXPERIMENT_DAMAGED,
    ),
)
async def history(request: Request) -> Response:
    """Import a bandit that ran elsewhere, with its whole history; repeating the request has no effect."""
    asked = await parse_body(request, messages.HistoryRequest)
    name = check_name(request.path_params["name"])
    spec = checked_spec(asked.arms, asked.policy, asked.seed, None, saved=True)
    return await _experiment_response(request, import_history(name, spec, _history_part(asked)))


def _history_part(asked: messages.HistoryRequest) -> HistoryPart:
    """The events of a part in order; refuse feedback outside its decisions."""
    events: list[PastEvent] = []
    decided, last = 0, asked.first + len(asked.decisions)
    for before, number, reward in asked.answers:
        if not asked.first + decided <= before <= last:
            raise ProblemType.HISTORY_OUT_OF_ORDER.error(
                f"the feedback for decision {number} came after {before} decisions, which is before the previous "
                f"feedback or outside the decisions {asked.first} to {last}; give what Bandit.to_dict wrote."
            )
        events.extend(asked.decisions[decided : before - asked.first])
        decided = before - asked.first
        events.append((number, unsigned(reward)))
    events.extend(asked.decisions[decided:])
    return HistoryPart(asked.after, asked.first, events, asked.more)


# ---- views ----


async def _experiment_response(request: Request, operation: Operation, *, creates: bool = True) -> Response:
    """Run an operation on an experiment, and respond with its state in the same transaction."""

    def act(tx: Transaction) -> tuple[messages.ExperimentAnswer, bool]:
        experiment, new = operation.act(tx)
        return experiment_view(experiment), new

    view, new = await service_of(request).submit(msgspec.structs.replace(operation, act=act))
    return json_response(view, created=creates and new)


def experiment_view(experiment: Experiment) -> messages.ExperimentAnswer:
    """The current state of an experiment."""
    arms = [messages.ArmAnswer(**vars(arm)) for arm in experiment.learner.summary(experiment.names)]
    silence = experiment.spec.silence
    return messages.ExperimentAnswer(
        name=experiment.name,
        policy=experiment.spec.policy,
        seed=experiment.spec.seed,
        silence=messages.SilenceAnswer(silence.after, silence.reward) if silence is not None else None,
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


def experiments_view(tx: Transaction) -> messages.ExperimentsAnswer:
    """The current state of all experiments."""
    experiments, damaged = tx.all()
    return messages.ExperimentsAnswer([experiment_view(experiment) for experiment in experiments], damaged)
