"""Everything callers can do, each as one operation within a transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import uuid_utils

from belated.errors import ApiError
from belated.service import timestamps
from belated.service.core.experiment import PENDING, DecisionState, Experiment
from belated.service.core.spec import LONGEST_ARM, MOST_ARMS, Spec, read_spec
from belated.service.core.transaction import Operation, Transaction
from belated.service.problem_types import ProblemType, experiment_stopped, unknown_decision
from belated.service.storage.events import Event, Kind, encode_extras

IMPUTE_BATCH = 500
"""Rewards imputed in one transaction."""

Created = tuple[Any, bool]
"""The result of an operation, and whether it is new."""


def create(name: str, spec: Spec, *, open_seed: bool = False, open_confidence: bool = False) -> Operation:
    """Create an experiment; the same one may already exist. The request left the seed open, or the policy's confidence:
    then it is the same as one with any seed, and as one of 0.1.0 whose confidence was left open."""
    text = spec.text()

    def act(tx: Transaction) -> Created:
        existing = tx.find(name)
        if existing is None:
            return tx.create(name, text), True
        asked = read_spec(text)
        if open_seed:
            asked = msgspec.structs.replace(asked, seed=existing.spec.seed)
        if open_confidence and existing.open_confidence and "confidence" in asked.policy:
            confidence = existing.spec.policy["confidence"]
            asked = msgspec.structs.replace(asked, policy={**asked.policy, "confidence": confidence})
        if existing.spec != asked:
            raise ProblemType.EXPERIMENT_EXISTS.error(
                f"there is already a different experiment {name!r}: {existing.spec.text()}. Choose another name."
            )
        return existing, False

    return Operation(act, (name,))


def decide(name: str, ids: tuple[str, ...], count: int, asked: dict[str, Any]) -> Operation:
    """Make a decision for each of ``ids``, or ``count`` of them with generated ids."""
    extra = encode_extras(asked)
    batch = asked.get("count") is not None
    given = tuple(id.removesuffix(".0") for id in ids[:1]) if batch else ids  # the first of a batch ends in .0
    others = given if batch else tuple(f"{id}.0" for id in given)  # the same ids in the other form

    def act(tx: Transaction) -> Created:
        experiment = tx.experiment(name)
        existing = [tx.decision(id, name) for id in ids]
        if any(existing):
            for id, state in zip(ids, existing, strict=True):
                if state is None or state.event.extra != extra:
                    raise _id_in_use(id)
            return [(experiment, state) for state in existing], False
        for id, other in zip(given, others, strict=True):
            if (state := tx.decision(other, name)) is not None and ("count" in state.event.extras()) is not batch:
                raise _id_in_use(id)
        if experiment.stopped:
            raise experiment_stopped(name)
        new = ids or [str(uuid_utils.uuid7()) for _ in range(count)]
        return [_decide(tx, experiment, id, extra) for id in new], True

    return Operation(act, (name,), tuple((name, id) for id in ids + others))


def _id_in_use(id: str) -> ApiError:
    return ProblemType.ID_IN_USE.error(
        f"the id {id!r} belongs to another request; an id is used once. Choose another id."
    )


def _decide(tx: Transaction, experiment: Experiment, id: str, extra: str | None) -> tuple[Experiment, DecisionState]:
    number, arm, rank = experiment.decide()
    silence = experiment.spec.silence
    deadline = timestamps.now() + round(silence.after * 1e6) if silence is not None else None  # by the current clock
    event = tx.write(
        experiment, Kind.DECIDED, applied=True, id=id, number=number, arm=arm, rank=rank, deadline=deadline, extra=extra
    )
    return experiment, DecisionState(experiment.id, event, PENDING)


def _known(tx: Transaction, id: str, name: str | None) -> tuple[Experiment, DecisionState]:
    state = tx.decision(id, name)
    if state is None:
        raise unknown_decision(id, name)
    return tx.experiment_of(state), state


def _on_decision(act: Callable[[Transaction], Any], id: str, name: str | None) -> Operation:
    """An operation on a decision; without a name, of the only experiment that has the id."""
    return Operation(act, () if name is None else (name,), ((name, id),))


def decision(id: str, name: str | None = None) -> Operation:
    """Look up a decision."""
    return _on_decision(lambda tx: _known(tx, id, name), id, name)


def feedback(id: str, reward: float, observed_at: int | None, name: str | None = None) -> Operation:
    """Report the reward of a decision; the result is "observed", "late" or "duplicate"."""

    def act(tx: Transaction) -> tuple[Experiment, DecisionState, str]:
        experiment, state = _known(tx, id, name)
        if state.status == Kind.CANCELLED:
            raise ProblemType.DECISION_CANCELLED.error(
                f"decision {id!r} was cancelled and takes no reward; there is nothing to do.", experiment.name
            )
        if state.status == Kind.OBSERVED:
            if state.reward != reward:
                raise ProblemType.CONFLICTING_FEEDBACK.error(
                    f"decision {id!r} already has the reward {state.reward!r}, now {reward!r} is given; a decision has "
                    "one reward.",
                    experiment.name,
                )
            return experiment, state, "duplicate"
        kind = Kind.OBSERVED if state.status == PENDING else Kind.REPLACED
        _write(tx, experiment, state.event, kind, reward=reward, extra=encode_extras({"observed_at": observed_at}))
        return *_known(tx, id, name), "observed" if kind == Kind.OBSERVED else "late"

    return _on_decision(act, id, name)


def cancel(id: str, name: str | None = None) -> Operation:
    """Cancel a decision that was never shown."""

    def act(tx: Transaction) -> tuple[Experiment, DecisionState, bool]:
        experiment, state = _known(tx, id, name)
        if state.status == Kind.CANCELLED:
            return experiment, state, False
        if state.status == Kind.OBSERVED:
            raise ProblemType.DECISION_OBSERVED.error(
                f"decision {id!r} has the reward {state.reward!r}, so it was shown and cannot be cancelled."
            )
        if not experiment.learner.supports_retraction:
            label = experiment.learner.policy.label
            raise ProblemType.CANNOT_TAKE_BACK.error(f"{label} cannot retract a decision; leave it pending.")
        _write(tx, experiment, state.event, Kind.CANCELLED, reward=state.reward)  # None, or the imputed one
        return *_known(tx, id, name), True

    return _on_decision(act, id, name)


def _write(tx: Transaction, experiment: Experiment, decided: Event, kind: str, **fields: Any) -> None:
    tx.write(experiment, kind, id=decided.id, number=decided.number, arm=decided.arm, rank=decided.rank, **fields)


def impute(name: str) -> Operation:
    """Impute rewards for decisions past their deadline; the result is their number."""

    def act(tx: Transaction) -> int:
        experiment = tx.experiment(name)
        silence = experiment.spec.silence
        if silence is None:
            return 0
        due, swept = tx.due(experiment, timestamps.now(), IMPUTE_BATCH)
        for event in due:
            _write(tx, experiment, event, Kind.IMPUTED, reward=silence.reward)
        experiment.swept = max(swept, experiment.swept)
        return len(due)

    return Operation(act, (name,))


def add_arm(name: str, arm: str) -> Operation:
    """Add an arm, unless it was already added."""

    def act(tx: Transaction) -> Created:
        experiment = tx.experiment(name)
        if arm in experiment.names[len(experiment.spec.arms) :]:
            return experiment, False
        if arm in experiment.names:
            raise ProblemType.ARM_EXISTS.error(f"{name!r} was created with an arm {arm!r}; choose another name.")
        if not arm or len(arm) > LONGEST_ARM or len(experiment.names) >= MOST_ARMS:
            raise ProblemType.INVALID_ARMS.error(
                f"arm: give a name of 1 to {LONGEST_ARM} characters; at most {MOST_ARMS:,} arms."
            )
        if not experiment.learner.supports_new_arms:
            label = experiment.learner.policy.label
            raise ProblemType.POLICY_IS_CLOSED.error(
                f"{label} needs to know all arms from the start; create a new experiment."
            )
        tx.write(experiment, Kind.ARM_ADDED, extra=encode_extras({"name": arm}))
        return experiment, True

    return Operation(act, (name,))


def set_stopped(name: str, stopped: bool) -> Operation:
    """Stop or resume an experiment; feedback is always accepted."""

    def act(tx: Transaction) -> Created:
        experiment = tx.experiment(name)
        if experiment.stopped == stopped:
            return experiment, False
        tx.write(experiment, Kind.STOPPED if stopped else Kind.RESUMED)
        return experiment, True

    return Operation(act, (name,))
