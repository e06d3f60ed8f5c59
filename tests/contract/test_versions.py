"""A policy that decides otherwise has another version, and a state of another form another format: the journals and
snapshots of services rely on it.

``versions.json`` holds digests of games of each version of each policy. Before a release, and when a version is raised,
this adds what is missing, and changes nothing::

    python tests/contract/test_versions.py
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from belated.live.learner import STATE_FORMAT, Learner, state_key
from belated.policies import POLICIES, Policy
from support.policies import SELECTED, variants_of

RECORD = Path(__file__).with_name("versions.json")
DECISIONS, ARMS = 400, (3, 70)


def play(policy: Policy, arms: int) -> tuple[str, str]:
    """(digest of the decisions, digest of the state) of a game with late feedback, some of it lost, and retracted
    decisions."""
    learner = Learner(arms, policy, 5)
    chosen, waiting = [], {}
    for number in range(DECISIONS):
        arm, rank = learner.decide()
        chosen.append(arm)
        waiting[number] = arm, rank
        if number % 11 == 7 and learner.supports_retraction:
            earlier = min(waiting)
            learner.retract(*waiting.pop(earlier), earlier)
        late = number - number * 7 % 13
        if late in waiting and late % 5:
            arm, rank = waiting.pop(late)
            learner.observe(arm, (arm + late) % 4 / 3, rank, late)
    state = b"".join(array.tobytes() for array in learner._arrays())
    return digest(bytes(chosen)), digest(state)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def played(cls: type[Policy]) -> dict[str, Any]:
    """What is recorded of a policy."""
    games = [play(policy, arms) for policy in variants_of(cls) for arms in ARMS]
    return {"decisions": [game[0] for game in games], f"state, format {STATE_FORMAT}": [game[1] for game in games]}


def record() -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())
    return known


@pytest.mark.parametrize("name", SELECTED)
def test_a_policy_with_other_decisions_or_another_state_says_so(name: str) -> None:
    cls, versions = POLICIES[name], record()
    if name not in versions and cls.version == 1:
        return  # a new policy, of which no release knows
    known = versions.get(name, {}).get(str(cls.version), {})
    assert known, f"{name} has a new version: run python tests/contract/test_versions.py"
    found = played(cls)
    assert found["decisions"] == known["decisions"], f"{name} decides otherwise: raise {name}.version"
    assert found == {key: known.get(key) for key in found}, f"the state of {name} is another: raise STATE_FORMAT"


def test_a_saved_state_is_for_a_policy_a_version_and_a_format() -> None:
    keys = {state_key(POLICIES[name]) for name in SELECTED}
    assert len(keys) == len(SELECTED)
    assert all(key.endswith(f"format {STATE_FORMAT}") for key in keys)


if __name__ == "__main__":
    versions = record() if RECORD.exists() else {}
    for each in sorted(POLICIES):
        now = versions.setdefault(each, {}).setdefault(str(POLICIES[each].version), {})
        for part, values in played(POLICIES[each]).items():
            now.setdefault(part, values)
    RECORD.write_text(json.dumps(versions, indent=1) + "\n")
