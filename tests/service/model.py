"""What the service should do, in plain dictionaries: the model that the tests compare it with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PENDING, OBSERVED, IMPUTED, CANCELLED = "pending", "observed", "imputed", "cancelled"


@dataclass
class Made:
    """A decision."""

    experiment: str
    arm: str
    asked: dict[str, Any]
    deadline: int | None
    status: str = PENDING
    reward: float | None = None
    late: bool = False


@dataclass
class Model:
    """Experiments and decisions, by what was acknowledged."""

    arms: dict[str, list[str]] = field(default_factory=dict)
    silence: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    made: dict[tuple[str, str], Made] = field(default_factory=dict)
    """By experiment and id."""
    order: dict[str, list[str]] = field(default_factory=dict)
    """The ids of an experiment's decisions, in their order."""

    def of(self, name: str) -> list[Made]:
        """The decisions of an experiment."""
        return [self.made[name, id] for id in self.order[name]]

    def with_id(self, id: str, name: str | None) -> list[Made]:
        """The decisions with an id, in an experiment or in all."""
        return [each for (of, its), each in self.made.items() if its == id and name in (None, of)]

    def impute(self, name: str, time: int) -> int:
        """Silence becomes an answer in an experiment where its time has come; how often it did."""
        found = 0
        rule = self.silence[name]
        for each in self.of(name):
            if each.status == PENDING and rule is not None and each.deadline is not None and each.deadline <= time:
                each.status, each.reward = IMPUTED, rule[1]
                found += 1
        return found

    def counts(self, name: str) -> dict[str, int]:
        """What an experiment's view counts."""
        all_ = self.of(name)
        shown = [each for each in all_ if each.status != CANCELLED]
        return {
            "decisions": len(all_),
            "pulls": len(shown),
            "observed": sum(each.status in (OBSERVED, IMPUTED) for each in shown),
            "pending": sum(each.status == PENDING for each in shown),
            "cancelled": len(all_) - len(shown),
            "imputed": sum(each.status == IMPUTED for each in shown),
            "late": sum(each.late for each in shown),
        }

    def arm_counts(self, name: str) -> list[tuple[str, int, int, float]]:
        """(arm, pulls, observed, sum of rewards) of each arm."""
        found = []
        for arm in self.arms[name]:
            mine = [each for each in self.of(name) if each.arm == arm and each.status != CANCELLED]
            rewards = [each.reward for each in mine if each.reward is not None]
            found.append((arm, len(mine), len(rewards), sum(rewards)))
        return found
