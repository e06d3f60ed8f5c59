"""What can be asked of the service, each as one operation within a transaction."""

from __future__ import annotations

from typing import Any

import uuid_utils

from belated.errors import ApiError
from belated.service.core.decision import PENDING, Decision
from belated.service.core.errors import unknown_decision
from belated.service.core.experiment import Experiment
from belated.service.core.spec import LONGEST_ARM, MOST_ARMS, Spec, read_spec
from belated.service.core.timestamps import now
from belated.service.core.transaction import Operation, Transaction
from belated.service.storage.events import (
    ARM_ADDED,
    CANCELLED,
    DECIDED,
    IMPUTED,
    OBSERVED,
    REPLACED,
    RESUMED,
    STOPPED,
    extra_of,
)

MICRO = 1_000_000
IMPUTED_AT_A_TIME = 500

Told = tuple[Any, bool]
"""What came of an operation, and whether it is new."""


def create(name: str, spec: Spec) -> Operation:
    """An experiment, new or the same again."""
    text = spec.text()

    def act(session: Transaction) -> Told:
        found = session.find(name)
        if found is None:
            return session.create(name, text), True
        if found.spec != read_spec(text):
            raise ApiError(
                409,
                "experiment-exists",
                f"there is an experiment {name!r} already, another one: {found.spec.text()}. Choose another name.",
            )
        return found, False

    return Operation(act, (name,))


def decide(name: str, ids: tuple[str, ...], count: int, asked: dict[str, Any]) -> Operation:
    """Decisions: as many as there are ``ids``, or ``count`` with ids that are made here."""
    extra = extra_of(asked)
    batch = asked.get("count") is not None
    given = tuple(id.removesuffix(".0") for id in ids[:1]) if batch else ids  # the first of a batch has it with .0
    others = given if batch else tuple(f"{id}.0" for id in given)  # where they are, if they were of the other form

    def act(session: Transaction) -> Told:
        experiment = session.experiment(name)
        known = [session.decision(id) for id in ids]
        if any(known):
            return [_repeated(id, found, experiment, extra) for id, found in zip(ids, known, strict=True)], False
        for id, other in zip(given, others, strict=True):
            if (found := session.decision(other)) is not None and ("count" in found.asked) is not batch:
                raise _in_use(id)
        if experiment.stopped:
            raise ApiError(
                409, "experiment-stopped", f"{name!r} is stopped; resume it with POST /v1/experiments/{name}/resume."
            )
        return [_decided(session, experiment, id, extra) for id in ids or _made_ids(count)], True

    return Operation(act, (name,), ids + others)


def _made_ids(count: int) -> list[str]:
    return [str(uuid_utils.uuid7()) for _ in range(count)]


def _repeated(
    id: str, found: Decision | None, experiment: Experiment, extra: str | None
) -> tuple[Experiment, Decision]:
    if found is None or found.experiment != experiment.id or found.event.extra != extra:
        raise _in_use(id)
    return experiment, found


def _in_use(id: str) -> ApiError:
    return ApiError(
        409, "id-in-use", f"the id {id!r} belongs to another request; an id is used once. Choose another id."
    )


def _decided(session: Transaction, experiment: Experiment, id: str, extra: str | None) -> tuple[Experiment, Decision]:
    number, arm, rank = experiment.decide()
    silence = experiment.spec.silence
    deadline = now() + round(silence.after * MICRO) if silence is not None else None  # by the clock as it is now
    event = session.write(
        experiment, DECIDED, made=True, id=id, number=number, arm=arm, rank=rank, deadline=deadline, extra=extra
    )
    return experiment, Decision(experiment.id, event, PENDING)


def _known(session: Transaction, id: str) -> Decision:
    found = session.decision(id)
    if found is None:
        raise unknown_decision(id)
    return found


def decision(id: str) -> Operation:
    """What became of a decision."""

    def act(session: Transaction) -> tuple[Experiment, Decision]:
        found = _known(session, id)
        return session.experiment_of(found), found

    return Operation(act, (), (id,))


def feedback(id: str, reward: float, observed_at: int | None) -> Operation:
    """The reward of a decision."""

    def act(session: Transaction) -> tuple[Experiment, Decision, str]:
        found = _known(session, id)
        experiment = session.experiment_of(found)
        if found.status == CANCELLED:
            raise ApiError(
                409,
                "decision-cancelled",
                f"decision {id!r} was cancelled, so it has no reward; nothing is to be done.",
                experiment.name,
            )
        if found.status == OBSERVED:
            if found.reward != reward:
                raise ApiError(
                    409,
                    "conflicting-feedback",
                    f"decision {id!r} has the reward {found.reward!r} already, now {reward!r} is given; a decision is "
                    "answered once.",
                    experiment.name,
                )
            return experiment, found, "duplicate"
        kind = OBSERVED if found.status == PENDING else REPLACED
        _write_of(session, experiment, found, kind, reward=reward, extra=extra_of({"observed_at": observed_at}))
        return experiment, _known(session, id), "observed" if kind == OBSERVED else "late"

    return Operation(act, (), (id,))


def cancel(id: str) -> Operation:
    """A decision was never shown."""

    def act(session: Transaction) -> tuple[Experiment, Decision, bool]:
        found = _known(session, id)
        experiment = session.experiment_of(found)
        if found.status == CANCELLED:
            return experiment, found, False
        if found.status == OBSERVED:
            raise ApiError(
                409, "decision-observed", f"decision {id!r} has the reward {found.reward!r}: what was seen was shown."
            )
        if not experiment.learner.supports_retraction:
            label = experiment.learner.policy.label
            raise ApiError(409, "cannot-take-back", f"{label} cannot take back a decision; leave it pending.")
        reward = found.reward if found.status == IMPUTED else None
        _write_of(session, experiment, found, CANCELLED, reward=reward)
        return experiment, _known(session, id), True

    return Operation(act, (), (id,))


def _write_of(session: Transaction, experiment: Experiment, found: Decision, kind: str, **fields: Any) -> None:
    made = found.event
    session.write(experiment, kind, id=made.id, number=made.number, arm=made.arm, rank=made.rank, **fields)


def impute(name: str) -> Operation:
    """Silence becomes an answer where its time has come. How many times it did."""

    def act(session: Transaction) -> int:
        experiment = session.experiment(name)
        silence = experiment.spec.silence
        if silence is None:
            return 0
        due, swept = session.due(experiment, now(), IMPUTED_AT_A_TIME)
        for event in due:
            found = Decision(experiment.id, event, PENDING)
            _write_of(session, experiment, found, IMPUTED, reward=silence.reward)
        experiment.swept = max(swept, experiment.swept)
        return len(due)

    return Operation(act, (name,))


def add_arm(name: str, arm: str) -> Operation:
    """One arm more; the same again changes nothing."""

    def act(session: Transaction) -> Told:
        experiment = session.experiment(name)
        if arm in experiment.names[len(experiment.spec.arms) :]:
            return experiment, False
        if arm in experiment.names:
            raise ApiError(
                409, "arm-exists", f"{name!r} has had an arm {arm!r} from the beginning; choose another name."
            )
        if not arm or len(arm) > LONGEST_ARM or len(experiment.names) >= MOST_ARMS:
            raise ApiError(
                422, "invalid-arms", f"arm: give a name of 1 to {LONGEST_ARM} characters; at most {MOST_ARMS:,} arms."
            )
        if not experiment.learner.supports_new_arms:
            label = experiment.learner.policy.label
            raise ApiError(
                409,
                "policy-is-closed",
                f"{label} compares arms that it knows from the beginning, and takes no more; begin a new experiment.",
            )
        session.write(experiment, ARM_ADDED, extra=extra_of({"name": arm}))
        return experiment, True

    return Operation(act, (name,))


def set_stopped(name: str, stopped: bool) -> Operation:
    """No more decisions, or decisions again; feedback is always taken."""

    def act(session: Transaction) -> Told:
        experiment = session.experiment(name)
        if experiment.stopped == stopped:
            return experiment, False
        session.write(experiment, STOPPED if stopped else RESUMED)
        return experiment, True

    return Operation(act, (name,))
