"""What callers were told, to be compared with what is there."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from belated.journal.events import CANCELLED, OBSERVED
from belated.journal.journal import Journal
from belated.service.decision import decision_of
from belated.service.verify import verify


@dataclass
class Ledger:
    """Acknowledgements; several threads may write them down."""

    experiments: set[str] = field(default_factory=set)
    arms: dict[str, str] = field(default_factory=dict)
    """Of each decision that was acknowledged, its arm."""
    rewards: dict[str, float] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    """Answers that contradict one another."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self.experiments) + len(self.arms) + len(self.rewards) + len(self.cancelled)

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


@dataclass
class Found:
    """What a database has of what was acknowledged."""

    lost: list[str] = field(default_factory=list)
    """Acknowledged, and not there."""
    wrong: list[str] = field(default_factory=list)
    """There, but not as it should be: damaged, doubled, another than was told."""
    events: int = 0

    @property
    def fine(self) -> bool:
        """Whether nothing is lost and nothing is wrong."""
        return not self.lost and not self.wrong

    def __str__(self) -> str:
        said = [f"lost: {text}" for text in self.lost] + [f"wrong: {text}" for text in self.wrong]
        return "; ".join(said[:5]) + (f"; and {len(said) - 5} more" if len(said) > 5 else "")


def compare(journal: Journal, ledger: Ledger) -> Found:
    """Look for all that was acknowledged, and live everything again from its first event."""
    found = Found(wrong=list(ledger.wrong))
    stored = {experiment.id: experiment for experiment in journal.experiments()}
    names = {number: _arms(journal, number, experiment.spec) for number, experiment in stored.items()}
    found.lost += [f"experiment {name}" for name in ledger.experiments - {each.name for each in stored.values()}]
    events = journal.of_decisions([*ledger.arms])
    for id, arm in ledger.arms.items():
        decision = decision_of(events[id])
        if decision is None:
            found.lost.append(f"decision {id}")
            continue
        assert decision.event.arm is not None
        there = names[decision.experiment][decision.event.arm]
        if there != arm:
            found.wrong.append(f"decision {id} was acknowledged as {arm}, and is {there}")
        if id in ledger.cancelled and decision.status != CANCELLED:
            found.lost.append(f"the cancellation of {id}")
        reward = ledger.rewards.get(id)
        if reward is not None and decision.status != OBSERVED:
            found.lost.append(f"the reward of {id}")
        elif reward is not None and decision.reward != reward:
            found.wrong.append(f"decision {id} was given {reward}, and has {decision.reward}")
    _count(journal, [*stored], found)
    return found


def _arms(journal: Journal, number: int, spec: str) -> list[str]:
    from belated.service.spec import read_spec

    added = [event.more()["name"] for event in journal.events(number) if event.kind == "arm-added"]
    return [*read_spec(spec).arms, *added]


def _count(journal: Journal, numbers: list[int], found: Found) -> None:
    """Nothing is there twice, and the state is what the events make of it."""
    happened = Counter((event.id, event.kind) for number in numbers for event in journal.events(number) if event.id)
    found.wrong += [f"{id} is {kind} {times} times" for (id, kind), times in happened.items() if times > 1]
    for verified in verify(journal):
        found.events += verified.events
        if verified.error is not None:
            found.wrong.append(f"experiment {verified.name}: {verified.error}")
