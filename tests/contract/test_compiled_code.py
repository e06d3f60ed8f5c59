"""One source per policy: live bandit, compiled engine and plain Python give the same choices to the last bit."""

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
from belated.policies import EliminationPolicy
from support.policies import selected


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    """The transcript of this process."""
    return json.loads(json.dumps(transcript.transcript()))  # type: ignore[no-any-return]


def test_live_bandit_and_engine_choose_alike(compiled: dict[str, Any]) -> None:
    for name, game in compiled["told"].items():
        assert game["live"]["choices"] == game["simulated"]["choices"], name
        assert [at or -1 for *_, at in game["live"]["bounds"]] == game["simulated"]["eliminated_at"][0], name


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
