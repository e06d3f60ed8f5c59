"""A bandit that began elsewhere moves in: what happened to it is decided and answered again, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from belated.errors import ApiError
from belated.live.learner import Learner
from belated.service.core.decision import Decision
from belated.service.core.experiment import Experiment
from belated.service.core.operations import Told, create
from belated.service.core.spec import Spec
from belated.service.core.transaction import Operation, Transaction
from belated.service.storage.events import DECIDED, MOVED, OBSERVED, RESUMED, STOPPED

Happened = int | tuple[int, float]
"""The arm's place of the next decision, or (number of a decision, its reward)."""


class Part(NamedTuple):
    """Some of what happened to a bandit, in its order."""

    after: int
    """How many events are in the parts before."""
    first: int
    """How many of them are decisions."""
    events: Sequence[Happened]
    more: bool
    """Whether parts follow."""


class _Line(NamedTuple):
    """An event that will be written."""

    kind: str
    number: int
    arm: int
    rank: int
    reward: float | None


def id_of(name: str, number: int) -> str:
    """The id of a decision that a bandit knew by its number."""
    return f"{name}.{number}"


def move(name: str, spec: Spec, part: Part) -> Operation:
    """A part of what happened to a bandit happens here, unless it did already. Between two parts the experiment is
    stopped, so that nothing else is decided in it."""
    numbers = _numbers(part)

    def act(session: Transaction) -> Told:
        found = session.find(name)
        if found is None:
            learner = Learner(len(spec.arms), spec.make_policy(), spec.seed)
        else:
            create(name, spec).act(session)  # refused where it is another one
            learner = _copy(found.learner)
        known = _known(session, name, found, part)
        rest = part.events[known:]
        if rest and found is not None and found.stopped and not found.moving:
            raise ApiError(
                409, "experiment-stopped", f"{name!r} is stopped; resume it with POST /v1/experiments/{name}/resume."
            )
        if rest and part.after + known != _position(learner):
            raise _differs(name, f"{_position(learner)} events are known here, and {part.after + known} of this bandit")
        first = part.first + sum(isinstance(event, int) for event in part.events[:known])
        lines = _tried(session, name, found, learner, rest, first)
        experiment = found if found is not None else create(name, spec).act(session)[0]
        _write(session, experiment, lines, part)
        return experiment, found is None or bool(lines)

    return Operation(act, (name,), tuple(id_of(name, number) for number in numbers))


def _numbers(part: Part) -> list[int]:
    """The decisions that a part tells of."""
    made = sum(isinstance(event, int) for event in part.events)
    answered = {event[0] for event in part.events if not isinstance(event, int)}
    return sorted({*range(part.first, part.first + made), *answered})


def _copy(learner: Learner) -> Learner:
    found = Learner(learner.arms, learner.policy, learner.seed)
    found.load(learner.to_bytes())
    return found


def _position(learner: Learner) -> int:
    return learner.decisions + int(learner.state.observed[: learner.arms].sum())


def _known(session: Transaction, name: str, experiment: Experiment | None, part: Part) -> int:
    """How many of a part's events, from its first, have happened here already, in the same order."""
    number, last = part.first, 0
    for place, event in enumerate(part.events):
        here = _here(session, name, experiment, number if isinstance(event, int) else event[0])
        if here is None:
            return place
        if isinstance(event, int):
            if (here.event.number, here.event.arm) != (number, event):
                raise _differs(name, f"decision {number} is another one here")
            number, seq = number + 1, here.event.seq
        else:
            if here.reward is None:
                return place
            if here.reward != event[1]:
                raise _differs(name, f"decision {event[0]} has the reward {here.reward!r} here, not {event[1]!r}")
            seq = session.last_event_of(str(here.event.id)).seq
        if seq <= last:
            raise _differs(name, "the same happened here in another order")
        last = seq
    return len(part.events)


def _here(session: Transaction, name: str, experiment: Experiment | None, number: int) -> Decision | None:
    """A decision of the bandit's that is known here; an error if its id is another's."""
    found = session.decision(id_of(name, number))
    if found is not None and (experiment is None or found.experiment != experiment.id):
        raise ApiError(
            409, "id-in-use", f"the id {found.event.id!r} belongs to another experiment; choose another name."
        )
    return found


def _tried(
    session: Transaction,
    name: str,
    experiment: Experiment | None,
    learner: Learner,
    events: Sequence[Happened],
    first: int,
) -> list[_Line]:
    """What will be written, or why it cannot be: a learner lives it before anything is changed."""
    lines: list[_Line] = []
    made: dict[int, tuple[int, int]] = {}
    answered: set[int] = set()
    number = first
    for event in events:
        if isinstance(event, int):
            if _here(session, name, experiment, number) is not None:
                raise _differs(name, f"decision {number} was made here in another place")
            arm, rank = learner.decide()
            if arm != event:
                raise _differs(name, f"decision {number} was arm {event}, and here the policy decides for arm {arm}")
            made[number] = arm, rank
            lines.append(_Line(DECIDED, number, arm, rank, None))
            number += 1
            continue
        chosen, reward = event
        if chosen not in made:
            made[chosen] = _pending(_here(session, name, experiment, chosen), name, chosen)
        if chosen in answered:
            raise _differs(name, f"decision {chosen} is answered twice")
        answered.add(chosen)
        arm, rank = made[chosen]
        learner.answer(arm, reward, rank, chosen)
        lines.append(_Line(OBSERVED, chosen, arm, rank, reward))
    return lines


def _pending(found: Decision | None, name: str, number: int) -> tuple[int, int]:
    if found is None or found.status != "pending" or found.event.arm is None or found.event.rank is None:
        raise _differs(name, f"decision {number} is {'unknown' if found is None else found.status} here")
    return found.event.arm, found.event.rank


def _write(session: Transaction, experiment: Experiment, lines: list[_Line], part: Part) -> None:
    if lines and part.more and not experiment.stopped:
        session.write(experiment, STOPPED, extra=MOVED)
    for line in lines:
        session.write(
            experiment,
            line.kind,
            id=id_of(experiment.name, line.number),
            number=line.number,
            arm=line.arm,
            rank=line.rank,
            reward=line.reward,
            extra=MOVED,
        )
    if lines and not part.more and experiment.moving:
        session.write(experiment, RESUMED, extra=MOVED)


def _differs(name: str, why: str) -> ApiError:
    return ApiError(
        409, "history-differs", f"{name!r} has lived otherwise than this bandit: {why}. Move it under another name."
    )
