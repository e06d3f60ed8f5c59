"""Import a bandit that ran elsewhere: its decisions and feedback are repeated, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from belated.errors import ApiError
from belated.live.learner import Learner
from belated.service.core.experiment import PENDING, DecisionState, Experiment, event_pull
from belated.service.core.operations import Created, create
from belated.service.core.spec import Spec, make_policy
from belated.service.core.transaction import Operation, Transaction
from belated.service.problem_types import ProblemType, experiment_stopped
from belated.service.storage.events import MOVED, Kind

PastEvent = int | tuple[int, float]
"""The index of the arm of the next decision, or (number of a decision, its reward)."""


class HistoryPart(NamedTuple):
    """A part of a bandit's history, in order."""

    after: int
    """Number of events in the parts before."""
    first: int
    """How many of them are decisions."""
    events: Sequence[PastEvent]
    more: bool
    """Whether more parts follow."""


Known = Callable[[int], DecisionState | None]
"""Finds a decision of the bandit here by its number."""
Line = tuple[str, int, int, int, float | None]
"""An event to be written: (kind, number, arm, rank, reward)."""


def imported_id(name: str, number: int) -> str:
    """The id of a decision that the bandit knew by its number."""
    return f"{name}.{number}"


def import_history(name: str, spec: Spec, part: HistoryPart) -> Operation:
    """Repeat a part of a bandit's history, unless that was already done. Between two parts the experiment is stopped,
    so that no other decisions are made."""
    decided = sum(isinstance(event, int) for event in part.events)
    observed = {event[0] for event in part.events if not isinstance(event, int)}
    numbers = sorted({*range(part.first, part.first + decided), *observed})

    def act(tx: Transaction) -> Created:
        existing = tx.find(name)
        if existing is None:
            learner = Learner(len(spec.arms), make_policy(spec.policy), spec.seed)
        else:
            create(name, spec).act(tx)  # refused if it is a different experiment
            learner = Learner(existing.learner.arms, existing.learner.policy, existing.learner.seed)
            learner.load(existing.learner.to_bytes())

        def known(number: int) -> DecisionState | None:
            """A decision of the bandit that is known here."""
            return None if existing is None else tx.decision(imported_id(name, number), name)

        done = _already_imported(tx, name, known, part)
        rest = part.events[done:]
        if rest and existing is not None and existing.stopped and not existing.moving:
            raise experiment_stopped(name)
        position = learner.decisions + int(learner.counts().observed.sum())
        if rest and part.after + done != position:
            raise _differs(name, f"{position} events are known here, and {part.after + done} of this bandit")
        first = part.first + sum(isinstance(event, int) for event in part.events[:done])
        lines = _dry_run(name, known, learner, rest, first)
        experiment = existing if existing is not None else create(name, spec).act(tx)[0]
        _write(tx, experiment, lines, part)
        return experiment, existing is None or bool(lines)

    return Operation(act, (name,), tuple((name, imported_id(name, number)) for number in numbers))


def _already_imported(tx: Transaction, name: str, known: Known, part: HistoryPart) -> int:
    """The number of leading events of a part that already happened here, in the same order."""
    number, last = part.first, 0
    for index, event in enumerate(part.events):
        state = known(number if isinstance(event, int) else event[0])
        if state is None:
            return index
        if isinstance(event, int):
            if (state.event.number, state.event.arm) != (number, event):
                raise _differs(name, f"decision {number} is another one here")
            number, seq = number + 1, state.event.seq
        else:
            if state.reward is None:
                return index
            if state.reward != event[1]:
                raise _differs(name, f"decision {event[0]} has the reward {state.reward!r} here, not {event[1]!r}")
            seq = tx.last_event_of(state).seq
        if seq <= last:
            raise _differs(name, "the same events happened here in another order")
        last = seq
    return len(part.events)


def _dry_run(name: str, known: Known, learner: Learner, events: Sequence[PastEvent], first: int) -> list[Line]:
    """The events to be written, or the error that says why they cannot be: a copy of the learner repeats them before
    anything changes."""
    lines: list[Line] = []
    pulls: dict[int, tuple[int, int]] = {}
    observed: set[int] = set()
    number = first
    for event in events:
        if isinstance(event, int):
            if known(number) is not None:
                raise _differs(name, f"decision {number} was made here at another point")
            arm, rank = learner.decide()
            if arm != event:
                raise _differs(name, f"decision {number} was arm {event}, and here the policy chooses arm {arm}")
            pulls[number] = arm, rank
            lines.append((Kind.DECIDED, number, arm, rank, None))
            number += 1
            continue
        target, reward = event
        if target not in pulls:
            state = known(target)
            if state is None or state.status != PENDING:
                raise _differs(name, f"decision {target} is {'unknown' if state is None else state.status} here")
            pulls[target] = event_pull(state.event)[:2]
        if target in observed:
            raise _differs(name, f"decision {target} has two rewards")
        observed.add(target)
        arm, rank = pulls[target]
        learner.observe(arm, reward, rank, target)
        lines.append((Kind.OBSERVED, target, arm, rank, reward))
    return lines


def _write(tx: Transaction, experiment: Experiment, lines: list[Line], part: HistoryPart) -> None:
    if lines and part.more and not experiment.stopped:
        tx.write(experiment, Kind.STOPPED, extra=MOVED)
    for kind, number, arm, rank, reward in lines:
        id = imported_id(experiment.name, number)
        tx.write(experiment, kind, id=id, number=number, arm=arm, rank=rank, reward=reward, extra=MOVED)
    if lines and not part.more and experiment.moving:
        tx.write(experiment, Kind.RESUMED, extra=MOVED)


def _differs(name: str, why: str) -> ApiError:
    return ProblemType.HISTORY_DIFFERS.error(
        f"the history of {name!r} differs from this bandit's: {why}. Import it under another name."
    )
