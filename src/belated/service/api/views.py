"""Experiments and decisions as answers."""

from __future__ import annotations

from belated.live.bandit import summary_of
from belated.service.api.messages import (
    ArmAnswer,
    DecisionAnswer,
    DecisionStatusAnswer,
    ExperimentAnswer,
    ExperimentsAnswer,
    SilenceAnswer,
)
from belated.service.core.decision import Decision
from belated.service.core.experiment import Experiment
from belated.service.core.timestamps import shown
from belated.service.core.transaction import Transaction


def experiment_view(experiment: Experiment) -> ExperimentAnswer:
    """An experiment as it is now."""
    arms = [
        ArmAnswer(
            each.arm,
            each.pulls,
            each.observed,
            each.pending,
            each.mean,
            each.lower,
            each.upper,
            each.active,
            each.eliminated_at,
            each.lower_from,
            each.upper_from,
        )
        for each in summary_of(experiment.names, experiment.learner)
    ]
    silence = experiment.spec.silence
    return ExperimentAnswer(
        name=experiment.name,
        policy=experiment.spec.policy,
        seed=experiment.spec.seed,
        silence=SilenceAnswer(silence.after, silence.reward) if silence is not None else None,
        status="stopped" if experiment.stopped else "running",
        created_at=shown(experiment.created_at),
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


def experiments_view(session: Transaction) -> ExperimentsAnswer:
    """All experiments as they are now."""
    found, damaged = session.all()
    return ExperimentsAnswer([experiment_view(experiment) for experiment in found], damaged)


def decision_view(experiment: Experiment, decision: Decision) -> DecisionAnswer:
    """A decision as it was made."""
    event = decision.event
    return DecisionAnswer(str(event.id), experiment.name, experiment.names[event.arm or 0], shown(event.at))


def status_view(experiment: Experiment, decision: Decision) -> DecisionStatusAnswer:
    """A decision and what became of it."""
    event, asked = decision.event, decision.asked
    seen = decision.observed_at
    return DecisionStatusAnswer(
        id=str(event.id),
        experiment=experiment.name,
        arm=experiment.names[event.arm or 0],
        decided_at=shown(event.at),
        status=decision.status,
        reward=decision.reward,
        observed_at=shown(seen) if seen is not None else None,
        late=decision.late,
        deadline=shown(event.deadline) if event.deadline is not None else None,
        unit=asked.get("unit"),
        metadata=asked.get("metadata"),
    )
