"""One source per policy: live bandit, compiled engine and plain Python give the same choices to the last bit, by the
function that users call for their own policies, and in a process of its own without the compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import transcript
from belated.kernel.jit import JIT
from belated.policies import EliminationPolicy, Policy
from belated.testing import check_policy
from support.policies import every_variant, selected


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """The transcript of this process."""
    return json.loads(json.dumps(transcript.transcript()))  # type: ignore[no-any-return]


@pytest.mark.parametrize("policy", every_variant(), ids=lambda policy: policy.describe())
def test_every_policy_keeps_the_contract(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.slow
def test_games_are_worth_playing(compiled: dict[str, Any]) -> None:
    """Policies differ, arms are eliminated, answers are pending and lost: otherwise agreement would mean little."""
    games = [game for name, game in compiled["told"].items() if name.startswith("game 0")]
    assert len({tuple(game["live"]["choices"]) for game in games}) == len(games)
    for policy in (cls.__name__ for cls in selected() if issubclass(cls, EliminationPolicy)):
        gone = [game["simulated"]["eliminated_at"] for name, game in compiled["told"].items() if policy in name]
        assert any(at > 0 for runs in gone for run in runs for at in run), policy
    for count in ("observed", "in_flight", "lost"):
        assert all(any(map(any, game["simulated"][count])) for game in games)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="this process is the plain one")
def test_plain_python_gives_the_same_bits(compiled: dict[str, Any]) -> None:
    script = Path(transcript.__file__)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "error::RuntimeWarning"}
    plain = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert plain.returncode == 0, plain.stderr
    found = json.loads(plain.stdout)
    for part in ("told", "untold"):
        assert found[part].keys() == compiled[part].keys()
        for name, game in compiled[part].items():
            assert found[part][name] == game, name
