"""Live bandits: how they are played, what is written down of them, and how they go on."""

from __future__ import annotations

import json
from typing import Any

from golden_rules import delay_of, hashed, reward_of

from belated import Bandit
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PatientBandits,
    PendingUCB,
    PhasedElimination,
    PrefixElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
    UniformChoice,
)

POLICIES: dict[str, Any] = {
    "the usual one": PendingUCB(confidence=1.0),  # of 0.1.0
    "UCB()": UCB(confidence="theory"),
    "UCB(confidence=1)": UCB(confidence=1.0),
    "UCB(horizon=1000)": UCB(confidence="theory", horizon=1000),
    "UCB(delta=0.5)": UCB(confidence="theory", delta=0.5),
    "OptimisticUCB()": OptimisticUCB(confidence="theory"),
    "OptimisticUCB(confidence=0.5)": OptimisticUCB(confidence=0.5),
    "PatientBandits(alpha=0.3)": PatientBandits(alpha=0.3),
    "PatientBandits(alpha=1, constant=0.5, horizon=1000)": PatientBandits(alpha=1.0, constant=0.5, horizon=1000),
    "SuccessiveElimination(confidence=0.05)": SuccessiveElimination(confidence=0.05),
    "SuccessiveElimination()": SuccessiveElimination(confidence="theory"),
    "PhasedElimination(confidence=0.01)": PhasedElimination(confidence=0.01),
    "PhasedElimination()": PhasedElimination(confidence="theory"),
    "OptimisticPessimisticElimination(confidence=0.05)": OptimisticPessimisticElimination(confidence=0.05),
    "OptimisticPessimisticElimination(horizon=1000)": OptimisticPessimisticElimination(
        confidence="theory", horizon=1000
    ),
    "PrefixElimination(confidence=0.05)": PrefixElimination(confidence=0.05),
    "PrefixElimination()": PrefixElimination(confidence="theory"),
    "PrefixUCB()": PrefixUCB(confidence="theory"),
    "PrefixUCB(confidence=0.5)": PrefixUCB(confidence=0.5),
    "PrefixUCB(confidence=0.5, spread=True)": PrefixUCB(confidence=0.5, spread=True),
    "PendingUCB()": PendingUCB(confidence="theory"),
    "PendingUCB(confidence=0.5)": PendingUCB(confidence=0.5),
    "PendingUCB(confidence=0.5, patience=25)": PendingUCB(confidence=0.5, patience=25),
    "ThompsonSampling()": ThompsonSampling(),
    "ThompsonSampling(successes=0.5, failures=3)": ThompsonSampling(successes=0.5, failures=3.0),
    "UniformChoice()": UniformChoice(confidence="theory"),
}
SEED = 2**40 + 7
SAVED = 120
"""Decisions of the bandits that are saved."""
MORE = 50
"""Decisions that they make when they go on."""
LONG = {"4 arms": (4, 1500, False), "4 arms, graded": (4, 1500, True), "70 arms": (70, 1500, False)}
"""Longer lives, of which only a hash is kept: arms, decisions, and whether rewards are graded."""


def new(name: str, arms: int = 4) -> Bandit:
    """A bandit that has not lived yet."""
    return Bandit([f"arm {number}" for number in range(arms)], POLICIES[name], seed=SEED)


def play(bandit: Bandit, decisions: int, graded: bool = False) -> list[int]:
    """So many decisions more, and the answers that are due meanwhile; the arms that were chosen. Every ninth and tenth
    decision are made together; two answers or more are told together."""
    answered = {number for _, number, _ in bandit.to_dict()["answers"]}
    arms = bandit.to_dict()["decisions"]
    due: dict[int, list[int]] = {}
    for number in range(bandit.decisions):
        delay = delay_of(number)
        if number not in answered and delay is not None:
            due.setdefault(max(number + 1 + delay, bandit.decisions), []).append(number)
    end = bandit.decisions + decisions
    before = bandit.decisions
    while bandit.decisions < end:
        now = bandit.decisions
        ready = [number for at in sorted(due) if at <= now for number in due.pop(at)]
        rewards = [(number, reward_of(arms[number], number, graded)) for number in ready]
        if len(rewards) > 1:
            bandit.observe_many(rewards)
        for number, reward in rewards:
            bandit.observe(number, reward)  # once more changes nothing
        together = 2 if now % 10 == 8 and now + 2 <= end else 1
        for decision in bandit.choose(together):
            arm = bandit.arms.index(decision.arm)
            arms.append(arm)
            delay = delay_of(decision.id)
            if delay is not None:
                due.setdefault(decision.id + 1 + delay, []).append(decision.id)
    return arms[before:]


def known(bandit: Bandit) -> list[list[Any]]:
    """What a bandit knows of its arms."""
    return [
        [
            arm.arm,
            arm.pulls,
            arm.observed,
            arm.pending,
            arm.mean,
            arm.lower,
            arm.upper,
            arm.active,
            arm.eliminated_at,
            arm.lower_from,
            arm.upper_from,
        ]
        for arm in bandit.summary()
    ]


def written(bandit: Bandit) -> dict[str, Any]:
    """The saved form, but for the version that wrote it."""
    data = json.loads(json.dumps(bandit.to_dict(), allow_nan=False))
    return {key: value for key, value in data.items() if key != "version"}


def completed(data: Any) -> Any:
    """Plain data of 0.1.0 as it is written now: a policy with ``delta`` and without ``confidence`` meant "theory", and
    says so; an arm has what policies say that correct means, of which there were none."""
    if isinstance(data, list):
        return [completed(value) for value in data]
    if not isinstance(data, dict):
        return data
    theory = {"confidence": "theory"} if "delta" in data and "alpha" not in data else {}
    added = dict.fromkeys(("corrected_mean", "dependence")) if "lower_from" in data else {}
    return theory | added | {key: completed(value) for key, value in data.items()}


def lived(name: str, arms: int, decisions: int, graded: bool) -> str:
    """A hash of a longer life."""
    bandit = new(name, arms)
    return hashed([play(bandit, decisions, graded), known(bandit)])


def recorded() -> dict[str, Any]:
    """Of each policy a saved bandit, what it knows, how it goes on, and hashes of longer lives."""
    found = {}
    for name in POLICIES:
        bandit = new(name)
        play(bandit, SAVED, graded=True)
        saved, knows = bandit.to_dict(), hashed(known(bandit))
        found[name] = {
            "saved": saved,
            "knows": knows,
            "next": play(bandit, MORE, graded=True),
            "knows then": hashed(known(bandit)),
            "longer": {which: lived(name, *life) for which, life in LONG.items()},
        }
    return found
