"""An experiment in memory: the fold of its events, and the state of single decisions."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import structlog

from belated.errors import IncompatibleState, StateError
from belated.live.learner import Learner, pack_events
from belated.policies._base.entry_points import ARM_BITS, CANCELLED, DECIDED, NO_REWARD, OBSERVED, REPLACED
from belated.service.core.spec import make_policy, read_spec
from belated.service.storage.events import MOVED, Event, Kind
from belated.service.storage.journal import Journal, StoredExperiment

log = structlog.get_logger()

PENDING = "pending"
_IMPUTED = REPLACED + 1
_CODES = {
    Kind.DECIDED: DECIDED << ARM_BITS,
    Kind.OBSERVED: OBSERVED << ARM_BITS,
    Kind.IMPUTED: _IMPUTED << ARM_BITS,
    Kind.CANCELLED: CANCELLED << ARM_BITS,
    Kind.REPLACED: REPLACED << ARM_BITS,
}
"""How events are packed that a learner repeats."""
_OTHER = (_IMPUTED + 1) << ARM_BITS
FEW = 200
"""Events that are replayed one at a time."""
BLOCK = 200_000
"""Events that are replayed at a time otherwise."""


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


class Snapshot(msgspec.Struct, kw_only=True):
    """A serialized experiment. What is added later needs a default, so that older snapshots can be read."""

    seq: int
    at: int
    stopped: bool
    moving: bool
    names: list[str]
    counts: EventCounts
    swept: int
    policy_version: int = 1
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
        self.policy_version = 1
        """The version of the policy that made the last decisions, as far as the journal says."""
        self.differs_at: int | None = None
        """The first decision replayed in this process for which the policy chooses another arm, although this is the
        version that decided."""
        self.saved = 0
        """The last event in the last snapshot."""

    @property
    def pending(self) -> int:
        """Decisions without feedback."""
        counts = self.learner.counts()
        return int(counts.pulls.sum()) - int(counts.observed.sum())

    @property
    def decided_by_another_version(self) -> bool:
        """Whether the last decisions were made by another version of the policy."""
        return self.policy_version != self.learner.policy.version

    def apply(self, event: Event) -> None:
        """Fold in an event. The arm of a decision is the event's, whatever the policy would choose; see
        ``differs_at``."""
        if event.seq != self.seq + 1:
            raise StateError(f"{self.name}: event {event.seq} follows event {self.seq}; the journal is damaged.")
        if event.arm is not None and not 0 <= event.arm < self.learner.arms:  # compiled code does not check
            raise StateError(f"{self.name}: event {event.seq} has the arm {event.arm}, which does not exist.")
        kind = event.kind
        if kind == Kind.DECIDED:
            arm, rank, number = event_pull(event)
            done, other = self.learner.replay(pack_events(DECIDED, arm, number, rank, NO_REWARD))
            if not done:
                raise StateError(
                    f"{self.name}: decision {event.id!r} is number {number}, and pull {rank} of arm {arm}, after "
                    f"{self.learner.decisions} decisions and {self.learner.counts().pulls[arm]} pulls of the arm; the "
                    "journal is damaged."
                )
            if other is not None:
                self._note_difference(event.seq)
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
        elif kind == Kind.UPGRADED:
            self.policy_version = int(event.extras()["version"])
        else:
            raise StateError(f"{self.name}: event {event.seq} is {kind!r}, which this version does not know.")
        self.record(event)

    def _note_difference(self, seq: int) -> None:
        """This version of the policy chooses another arm than the decision at this event had."""
        if self.differs_at is None and not self.decided_by_another_version:
            self.differs_at = seq

    def _apply_packed(self, events: npt.NDArray[np.float64]) -> int:
        """Fold in the events that follow, as far as the learner can repeat them; how many these are."""
        kinds = events[:, 0].astype(np.int64) >> ARM_BITS
        imputed = kinds == _IMPUTED
        repeated = events
        if imputed.any():
            repeated = events.copy()
            repeated[imputed, 0] -= float((_IMPUTED - OBSERVED) << ARM_BITS)
        silence = self.spec.silence
        done, other = self.learner.replay(repeated, imputed=None if silence is None else silence.reward)
        if other is not None:
            self._note_difference(self.seq + 1 + other)
        cancelled, replaced = kinds[:done] == CANCELLED, int(np.count_nonzero(kinds[:done] == REPLACED))
        had_reward = int(np.count_nonzero(cancelled & (events[:done, 3] != NO_REWARD)))
        self.counts.imputed += int(np.count_nonzero(imputed[:done])) - replaced - had_reward
        self.counts.late += replaced
        self.counts.cancelled += int(np.count_nonzero(cancelled))
        self.seq += done
        return done

    def catch_up(self, journal: Journal) -> None:
        """Fold in the events of the journal that are not known yet: few one at a time, many in compiled code."""
        events = journal.events_after(self.id, self.seq, FEW + 1)
        for event in events[:FEW]:
            self.apply(event)
        if len(events) <= FEW:
            return
        begin, last = self.seq, journal.last(self.id)
        while self.seq < last:
            until = min(self.seq + BLOCK, last)
            block = journal.packed_events(self.id, self.seq, until, _CODES, _OTHER)
            first = self.seq
            while self.seq < until:
                if until - first == len(block):
                    self._apply_packed(block[self.seq - first :])
                if self.seq < until:  # an event that is not the learner's, or cannot follow: that error says why
                    self.apply(*journal.events(self.id, self.seq, 1))
        self.at = next(journal.events(self.id, last - 1, 1)).at
        earliest = journal.earliest_deadline(self.id, begin) if self.swept > 0 else None
        if earliest is not None:
            self.swept = min(self.swept, earliest - 1)

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
    experiment.catch_up(journal)
    return experiment


def log_differences(experiment: Experiment) -> None:
    """Say in the log where an experiment that was restored goes on differently from how it was decided."""
    policy = experiment.learner.policy
    if experiment.decided_by_another_version and experiment.learner.decisions:
        log.warning(
            "policy changed",
            experiment=experiment.name,
            detail=f"version {experiment.policy_version} of {policy.label} made the last decisions, and version "
            f"{policy.version} goes on from them",
        )
    if experiment.differs_at is not None:
        log.warning(
            "decides differently",
            experiment=experiment.name,
            seq=experiment.differs_at,
            detail=f"{policy.label} chooses another arm here than this decision had; the decisions of the journal are "
            "kept, and it goes on from them. Run belated verify",
        )
