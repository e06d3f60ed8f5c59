"""What an experiment's events add up to, counted without the service's own code."""

from __future__ import annotations

import json
from collections import Counter
from math import fsum
from typing import Any

from belated.service.storage.events import Event, Kind


class Tally:
    """Decisions and what became of them, event by event. Rewards have few digits, so that their sums are exact."""

    def __init__(self, spec: str) -> None:
        self.names: list[str] = list(json.loads(spec)["arms"])
        self._kinds: Counter[str] = Counter()
        self._arms: dict[str, int] = {}
        """Of each decision that was not cancelled, its arm."""
        self._rewards: dict[str, float] = {}
        """Of each that was answered, the last answer."""
        self._imputed: set[str] = set()

    def add(self, event: Event) -> None:
        """One more."""
        self._kinds[event.kind] += 1
        if event.kind == Kind.ARM_ADDED:
            self.names.append(event.extras()["name"])
        if event.id is None:
            return
        if event.kind == Kind.DECIDED:
            assert event.arm is not None
            self._arms[event.id] = event.arm
            return
        self._imputed.discard(event.id)
        if event.kind == Kind.CANCELLED:
            self._arms.pop(event.id, None)
            self._rewards.pop(event.id, None)
        else:
            assert event.reward is not None
            self._rewards[event.id] = event.reward
            if event.kind == Kind.IMPUTED:
                self._imputed.add(event.id)

    def counts(self) -> dict[str, int]:
        """What the experiment should count."""
        return {
            "decisions": self._kinds[Kind.DECIDED],
            "pulls": len(self._arms),
            "observed": len(self._rewards),
            "pending": len(self._arms) - len(self._rewards),
            "cancelled": self._kinds[Kind.CANCELLED],
            "imputed": len(self._imputed),
            "late": self._kinds[Kind.REPLACED],
            "last_event": self._kinds.total(),
        }

    def of_arms(self) -> list[tuple[str, int, int, float | None]]:
        """(arm, pulls, observed, mean) of each arm."""
        pulls = Counter(self._arms.values())
        rewards: dict[int, list[float]] = {arm: [] for arm in range(len(self.names))}
        for id, reward in self._rewards.items():
            rewards[self._arms[id]].append(reward)
        return [
            (self.names[arm], pulls[arm], len(mine), fsum(mine) / len(mine) if mine else None)
            for arm, mine in rewards.items()
        ]

    def differences(self, view: dict[str, Any]) -> list[str]:
        """All in which the experiment, as ``GET /v1/experiments/{name}`` tells of it, counts otherwise."""
        name = view["name"]
        found = [
            f"{key} of {name} is {view[key]}, and the events add up to {count}"
            for key, count in self.counts().items()
            if view[key] != count
        ]
        arms, mine = [(arm["arm"], arm["pulls"], arm["observed"], arm["mean"]) for arm in view["arms"]], self.of_arms()
        if arms != mine:
            found.append(f"(arm, pulls, observed, mean) of {name} are {arms}, and the events add up to {mine}")
        return found
