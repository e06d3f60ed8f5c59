"""An experiment in memory: the fold of its events, and the state of single decisions."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from belated.errors import IncompatibleState, StateError
from belated.live.learner import Learner
from belated.service.core.spec import make_policy, read_spec
from belated.service.storage.events import MOVED, Event, Kind
from belated.service.storage.journal import Journal, StoredExperiment

PENDING = "pending"


class DecisionState(NamedTuple):
    """A decision: pending, then observed, imputed (and perhaps observed later), or cancelled."""

    experiment: int
    event: Event
    """The event that made it."""
    status: str
    """pending, observed, imputed or cancelled."""
    reward: float | None = None
    observed_at: int | None = None
    """When it was observed according to the caller; else when it was written."""
    late: bool = False
    """Whether the true reward arrived after one had been imputed."""


def decision_state(events: list[tuple[int, Event]]) -> DecisionState | None:
    """The state of a decision after its events; None if there are none."""
    if not events:
        return None
    experiment, first = events[0]
    assert first.kind == Kind.DECIDED
    state = DecisionState(experiment, first, PENDING)
    for _, event in events[1:]:
        if event.kind == Kind.CANCELLED:
            state = state._replace(status=Kind.CANCELLED, reward=None, observed_at=None, late=False)
        else:
            observed_at = event.extras().get("observed_at", event.at)
            status = Kind.IMPUTED if event.kind == Kind.IMPUTED else Kind.OBSERVED
            late = event.kind == Kind.REPLACED
            state = state._replace(status=status, reward=event.reward, observed_at=observed_at, late=late)
    return state


class EventCounts(msgspec.Struct):
    """What the learner does not count."""

    cancelled: int = 0
    imputed: int = 0
    """Imputed rewards that were not replaced."""
    late: int = 0
    """True rewards that replaced an imputed one."""


class Snapshot(msgspec.Struct):
    """A serialized experiment."""

    seq: int
    at: int
    stopped: bool
    moving: bool
    names: list[str]
    counts: EventCounts
    swept: int
    learner: bytes


_SAVED = Snapshot.__struct_fields__[:-1]
"""The fields of an experiment that a snapshot holds besides the learner."""


class Experiment:
    """The state after a number of events. :meth:`apply` folds in an event, live and in a replay; a new decision is made
    first (:meth:`decide`) and its event recorded afterwards (:meth:`record`)."""

    def __init__(self, stored: StoredExperiment) -> None:
        self.id, self.name, self.created_at = stored.id, stored.name, stored.created_at
        identity = f"id={stored.id!r}, name={stored.name!r}, spec={stored.spec!r}, created_at={stored.created_at!r}"
        self._identity = f"Stored({identity})".encode()
        """Goes into the digests of snapshots, so that its form cannot change."""
        self.spec = read_spec(stored.spec)
        self.open_confidence = self.spec.text() != stored.spec
        """Whether it was created by 0.1.0 without a confidence, so that it has been completed."""
        self.names = list(self.spec.arms)
        self.learner = Learner(len(self.names), make_policy(self.spec.policy), self.spec.seed)
        self.seq = 0
        self.at = stored.created_at
        self.stopped = False
        self.counts = EventCounts()
        self.moving = False
        """Whether it is stopped because the import of a bandit is not finished."""
        self.swept = 0
        """All deadlines up to this time were handled."""
        self.saved = 0
        """The last event in the last snapshot."""

    @property
    def pending(self) -> int:
        """Decisions without feedback."""
        counts = self.learner.counts()
        return int(counts.pulls.sum()) - int(counts.observed.sum())

    def apply(self, event: Event) -> None:
        """Fold in an event."""
        if event.seq != self.seq + 1:
            raise StateError(f"{self.name}: event {event.seq} follows event {self.seq}; the journal is damaged.")
        if event.arm is not None and not 0 <= event.arm < self.learner.arms:  # compiled code does not check
            raise StateError(f"{self.name}: event {event.seq} has the arm {event.arm}, which does not exist.")
        kind = event.kind
        if kind == Kind.DECIDED:
            if self.decide() != (event.number, event.arm, event.rank):
                raise StateError(
                    f"{self.name}: decision {event.id!r} was arm {event.arm}, and this version of the policy decides "
                    "differently: the journal was written by another version, or is damaged."
                )
        elif kind in (Kind.OBSERVED, Kind.IMPUTED):
            assert event.reward is not None
            arm, rank, number = event_pull(event)
            self.learner.observe(arm, event.reward, rank, number)
            self.counts.imputed += kind == Kind.IMPUTED
        elif kind == Kind.REPLACED:
            assert event.reward is not None
            assert self.spec.silence is not None
            self.learner.replace_reward(*event_pull(event), self.spec.silence.reward, event.reward)
            self.counts.imputed -= 1
            self.counts.late += 1
        elif kind == Kind.CANCELLED:
            self.learner.retract(*event_pull(event), event.reward)
            self.counts.imputed -= event.reward is not None  # the imputed reward
            self.counts.cancelled += 1
        elif kind == Kind.ARM_ADDED:
            self.names.append(event.extras()["name"])
            self.learner.add_arm()
        elif kind in (Kind.STOPPED, Kind.RESUMED):
            self.stopped = kind == Kind.STOPPED
            self.moving = self.stopped and event.extra == MOVED
        else:
            raise StateError(f"{self.name}: event {event.seq} is {kind!r}, which this version does not know.")
        self.record(event)

    def decide(self) -> tuple[int, int, int]:
        """Make a decision: (number, arm, rank). Its event must be recorded next."""
        return self.learner.decisions, *self.learner.decide()

    def record(self, event: Event) -> None:
        """Advance to an event that the learner already knows."""
        self.seq, self.at = event.seq, event.at
        if event.deadline is not None:  # a clock that was ahead may have swept too far
            self.swept = min(self.swept, event.deadline - 1)

    def save(self) -> bytes:
        """Serialize, to the bit."""
        fields = {name: getattr(self, name) for name in _SAVED}
        body = msgspec.msgpack.encode(Snapshot(**fields, learner=self.learner.to_bytes()))
        return self._digest(body) + body

    def _digest(self, body: bytes) -> bytes:
        return hashlib.sha256(self._identity + body).digest()

    def load(self, data: bytes) -> None:
        """Restore what :meth:`save` wrote; an error if it is damaged, of another experiment, or incompatible."""
        body = data[32:]
        if data[:32] != self._digest(body):
            raise StateError(f"{self.name}: the snapshot is damaged, or belongs to another experiment.")
        try:
            snapshot = msgspec.msgpack.decode(body, type=Snapshot)
        except msgspec.ValidationError as error:
            raise IncompatibleState(f"{self.name}: the snapshot was written by other code: {error}.") from error
        self.learner.load(snapshot.learner)
        for name in _SAVED:
            setattr(self, name, getattr(snapshot, name))
        self.saved = snapshot.seq

    def equals(self, other: Experiment) -> bool:
        """Whether two states are the same to the bit, apart from how far deadlines were swept."""
        same = all(getattr(self, name) == getattr(other, name) for name in _SAVED if name != "swept")
        return same and self.learner.to_bytes() == other.learner.to_bytes()


def event_pull(event: Event) -> tuple[int, int, int]:
    """(arm, rank, number) of the event's decision."""
    assert event.arm is not None
    assert event.rank is not None
    assert event.number is not None
    return event.arm, event.rank, event.number


def restore(journal: Journal, stored: StoredExperiment, *, snapshot: bool = True) -> Experiment:
    """Load an experiment from the journal: the last snapshot, and the events since."""
    experiment = Experiment(stored)
    saved = journal.snapshot(stored.id) if snapshot else None
    if saved is not None:
        try:
            experiment.load(saved[1])
        except StateError:  # incompatible or damaged: the events are the truth
            experiment = Experiment(stored)
    for event in journal.events(stored.id, experiment.seq):
        experiment.apply(event)
    return experiment
