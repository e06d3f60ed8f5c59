"""An experiment in memory: its events folded, one after the other, into what the policy knows."""

from __future__ import annotations

import hashlib

import msgspec

from belated.errors import IncompatibleState, StateError
from belated.live.learner import Learner
from belated.service.core.spec import read_spec
from belated.service.storage.events import (
    ARM_ADDED,
    CANCELLED,
    DECIDED,
    IMPUTED,
    MOVED,
    OBSERVED,
    REPLACED,
    RESUMED,
    STOPPED,
    Event,
)
from belated.service.storage.journal import Journal, Stored


class Counts(msgspec.Struct):
    """What the learner does not count."""

    cancelled: int = 0
    imputed: int = 0
    """Answers that silence gave and that nothing replaced yet."""
    late: int = 0
    """True answers that came after silence had been taken for one."""


class Saved(msgspec.Struct):
    """A snapshot."""

    seq: int
    at: int
    stopped: bool
    moving: bool
    names: list[str]
    counts: Counts
    swept: int
    learner: bytes


class Experiment:
    """What is known after so many events. An event is taken in, live and in a replay (:meth:`take_in`); a decision that
    is made now comes before its event (:meth:`decide`, :meth:`decided`)."""

    def __init__(self, stored: Stored) -> None:
        self.id, self.name, self.created_at = stored.id, stored.name, stored.created_at
        self._mark = repr(stored).encode()
        self.spec = read_spec(stored.spec)
        self.names = list(self.spec.arms)
        self.learner = Learner(len(self.names), self.spec.make_policy(), self.spec.seed)
        self.seq = 0
        self.at = stored.created_at
        self.stopped = False
        self.counts = Counts()
        self.moving = False
        """Whether it is stopped because a bandit moves in."""
        self.swept = 0
        """Decisions whose deadline is not behind this time are answered."""
        self.saved = 0
        """The last event in the last snapshot."""

    @property
    def pending(self) -> int:
        """Decisions without an answer."""
        state, arms = self.learner.state, self.learner.arms
        return int(state.pulls[:arms].sum()) - int(state.observed[:arms].sum())

    def take_in(self, event: Event) -> None:
        """An event has happened."""
        if event.seq != self.seq + 1:
            raise StateError(f"{self.name}: event {event.seq} follows event {self.seq}; the journal is damaged.")
        kind = event.kind
        if event.arm is not None and not 0 <= event.arm < self.learner.arms:  # compiled code does not look
            raise StateError(f"{self.name}: event {event.seq} is of arm {event.arm}, which is none.")
        if kind == DECIDED:
            self._redecide(event)
        elif kind == OBSERVED:
            self._answer(event)
        elif kind == IMPUTED:
            self._answer(event)
            self.counts.imputed += 1
        elif kind == REPLACED:
            assert event.reward is not None
            self.learner.replace_answer(*_pull(event), self._silent_reward(), event.reward)
            self.counts.imputed -= 1
            self.counts.late += 1
        elif kind == CANCELLED:
            self._take_back(event)
        elif kind == ARM_ADDED:
            self.names.append(event.more()["name"])
            self.learner.add_arm()
        elif kind in (STOPPED, RESUMED):
            self.stopped = kind == STOPPED
            self.moving = self.stopped and event.extra == MOVED
        else:
            raise StateError(f"{self.name}: event {event.seq} is {kind!r}, which this version does not know.")
        self.decided(event)

    def decide(self) -> tuple[int, int, int]:
        """(number, arm, rank) of a new decision; the next event must tell of it."""
        return self.learner.decisions, *self.learner.decide()

    def _redecide(self, event: Event) -> None:
        if self.decide() != (event.number, event.arm, event.rank):
            raise StateError(
                f"{self.name}: decision {event.id!r} was arm {event.arm}, and this version of the policy decides "
                "otherwise: the journal is of another version, or is damaged."
            )

    def decided(self, event: Event) -> None:
        """The event of the decision that has just been made."""
        self.seq, self.at = event.seq, event.at
        if event.deadline is not None:  # a clock that was ahead may have swept further
            self.swept = min(self.swept, event.deadline - 1)

    def _answer(self, event: Event) -> None:
        assert event.reward is not None
        arm, rank, number = _pull(event)
        self.learner.answer(arm, event.reward, rank, number)

    def _take_back(self, event: Event) -> None:
        self.learner.take_back(*_pull(event), event.reward)
        if event.reward is not None:  # silence had been taken for an answer
            self.counts.imputed -= 1
        self.counts.cancelled += 1

    def _silent_reward(self) -> float:
        assert self.spec.silence is not None
        return self.spec.silence.reward

    # ---- snapshots ----

    def save(self) -> bytes:
        """All of it, to the bit."""
        data = Saved(
            seq=self.seq,
            at=self.at,
            stopped=self.stopped,
            moving=self.moving,
            names=self.names,
            counts=self.counts,
            swept=self.swept,
            learner=self.learner.to_bytes(),
        )
        body = msgspec.msgpack.encode(data)
        return self._digest(body) + body

    def _digest(self, body: bytes) -> bytes:
        return hashlib.sha256(self._mark + body).digest()

    def load(self, data: bytes) -> None:
        """Take in what :meth:`save` gave; an error if it is damaged, of another experiment, or of other code."""
        body = data[32:]
        if data[:32] != self._digest(body):
            raise StateError(f"{self.name}: the snapshot is damaged, or another experiment's.")
        try:
            saved = msgspec.msgpack.decode(body, type=Saved)
        except msgspec.ValidationError as error:
            raise IncompatibleState(f"{self.name}: the snapshot is of other code: {error}.") from error
        self.learner.load(saved.learner)
        self.seq, self.at, self.stopped, self.moving = saved.seq, saved.at, saved.stopped, saved.moving
        self.names, self.counts, self.swept, self.saved = saved.names, saved.counts, saved.swept, saved.seq

    def same_as(self, other: Experiment) -> bool:
        """Whether two know the same, to the bit; how far the search for silence went does not matter."""
        mine, theirs = (
            (each.seq, each.at, each.stopped, each.moving, each.names, each.counts) for each in (self, other)
        )
        return mine == theirs and self.learner.to_bytes() == other.learner.to_bytes()


def _pull(event: Event) -> tuple[int, int, int]:
    """(arm, rank, number) of the decision that an event is about."""
    assert event.arm is not None
    assert event.rank is not None
    assert event.number is not None
    return event.arm, event.rank, event.number


def restored(journal: Journal, stored: Stored, *, snapshot: bool = True) -> Experiment:
    """The experiment as the journal has it: the last snapshot, and what happened since."""
    experiment = Experiment(stored)
    found = journal.snapshot(stored.id) if snapshot else None
    if found is not None:
        try:
            experiment.load(found[1])
        except StateError:  # of other code, or damaged: the events are the truth
            experiment = Experiment(stored)
    for event in journal.events(stored.id, experiment.seq):
        experiment.take_in(event)
    return experiment
