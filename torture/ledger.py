"""What callers asked for and were told, to be compared with what is there."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import to_builtins
from tally import Tally

from belated.service.api.experiments import experiment_view
from belated.service.core.experiment import decision_state, restore
from belated.service.core.verify import verify
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal, StoredExperiment


class Asked(NamedTuple):
    """One thing that a request wants to happen to a decision."""

    kind: str
    id: str
    reward: float | None = None


@dataclass
class Ledger:
    """Acknowledgements, and requests without one; several threads may write them down."""

    experiments: set[str] = field(default_factory=set)
    arms: dict[str, str] = field(default_factory=dict)
    """Of each decision that was acknowledged, its arm."""
    rewards: dict[str, float] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    """Answers that contradict one another."""
    unanswered: set[Asked] = field(default_factory=set)
    """What was asked for, and may have been done or not."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self.experiments) + len(self.arms) + len(self.rewards) + len(self.cancelled)

    def asks(self, things: Iterable[Asked]) -> None:
        """A request is on its way."""
        with self._lock:
            self.unanswered.update(things)

    def answered(self, things: Iterable[Asked]) -> None:
        """It was done, and written down as such; or it was refused, and will never be done."""
        with self._lock:
            self.unanswered.difference_update(things)

    def decided(self, id: str, arm: str) -> None:
        """A decision was acknowledged, for the first time or again."""
        with self._lock:
            if self.arms.setdefault(id, arm) != arm:
                self.wrong.append(f"decision {id} was {self.arms[id]}, and is {arm} when asked again")

    def observed(self, id: str, reward: float) -> None:
        """A feedback was acknowledged."""
        with self._lock:
            self.rewards[id] = reward

    def was_cancelled(self, id: str) -> None:
        """A cancellation was acknowledged."""
        with self._lock:
            self.cancelled.add(id)

    def knows(self, thing: Asked) -> bool:
        """Whether it was acknowledged, or asked for without an answer."""
        if thing in self.unanswered:
            return True
        if thing.kind == Kind.DECIDED:
            return thing.id in self.arms
        if thing.kind == Kind.CANCELLED:
            return thing.id in self.cancelled
        return thing.id in self.rewards and self.rewards[thing.id] == thing.reward


@dataclass
class Found:
    """What a database has of what was acknowledged."""

    lost: list[str] = field(default_factory=list)
    """Acknowledged, and not there."""
    wrong: list[str] = field(default_factory=list)
    """There, but not as it should be: damaged, done twice, asked for by nobody, another than was told."""
    events: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Of each experiment, what its events add up to."""

    @property
    def fine(self) -> bool:
        """Whether nothing is lost and nothing is wrong."""
        return not self.lost and not self.wrong

    def __str__(self) -> str:
        said = [f"lost: {text}" for text in self.lost] + [f"wrong: {text}" for text in self.wrong]
        return "; ".join(said[:5]) + (f"; and {len(said) - 5} more" if len(said) > 5 else "")


def compare(journal: Journal, ledger: Ledger) -> Found:
    """Look for all that was acknowledged, for whatever nobody asked for, and live everything again."""
    found = Found(wrong=list(ledger.wrong))
    stored = {experiment.id: experiment for experiment in journal.experiments()}
    found.lost += [f"experiment {name}" for name in ledger.experiments - {each.name for each in stored.values()}]
    tallies = {number: _tally(journal, experiment, ledger, found) for number, experiment in stored.items()}
    events = journal.events_of_decisions([*ledger.arms])
    for id, arm in ledger.arms.items():
        decision = decision_state(events[id])
        if decision is None:
            found.lost.append(f"decision {id}")
            continue
        assert decision.event.arm is not None
        there = tallies[decision.experiment].names[decision.event.arm]
        if there != arm:
            found.wrong.append(f"decision {id} was acknowledged as {arm}, and is {there}")
        if id in ledger.cancelled and decision.status != Kind.CANCELLED:
            found.lost.append(f"the cancellation of {id}")
        reward = ledger.rewards.get(id)
        if reward is not None and decision.status != Kind.OBSERVED:
            found.lost.append(f"the reward of {id}")
        elif reward is not None and decision.reward != reward:
            found.wrong.append(f"decision {id} was given {reward}, and has {decision.reward}")
    _relive(journal, stored.values(), found)
    return found


def _tally(journal: Journal, stored: StoredExperiment, ledger: Ledger, found: Found) -> Tally:
    """Add up the events of an experiment; each of them was asked for by somebody, or came of silence."""
    tally = found.tallies[stored.name] = Tally(stored.spec)
    for event in journal.events(stored.id):
        tally.add(event)
        if event.id is None or event.kind == Kind.IMPUTED:
            continue
        kind = Kind.OBSERVED if event.kind == Kind.REPLACED else event.kind
        if not ledger.knows(Asked(kind, event.id, event.reward if kind == Kind.OBSERVED else None)):
            reward = "" if event.reward is None else f" with {event.reward}"
            found.wrong.append(f"{event.id} is {event.kind}{reward}, and nobody asked for that")
    return tally


def _relive(journal: Journal, stored: Iterable[StoredExperiment], found: Found) -> None:
    """The state is what the events make of it, and its counts are what they add up to."""
    for verified, each in zip(verify(journal), stored, strict=True):
        found.events += verified.events
        if verified.error is not None:
            found.wrong.append(f"experiment {verified.name}: {verified.error}")
        else:
            found.wrong += found.tallies[each.name].differences(to_builtins(experiment_view(restore(journal, each))))
