"""Small rows, and scores that are made up, so that what follows from them can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from belated.studies.arena import Scenario, Scores
from belated.studies.arena.scenarios import scenarios as all_rows

SPEC = {
    "rewards": {"law": "Bernoulli", "mean": {"uniform": [0.25, 0.75]}, "repeat": 3},
    "delays": {"law": "Fixed", "rounds": 10},
}
KINDS = {"independent": (False, False), "reward-dependent": (True, False), "lost": (False, True)}


@pytest.fixture
def needs_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for a precision that the first batch of a short row does not have."""
    monkeypatch.setattr("belated.studies.arena.PRECISION", 0.05)


@pytest.fixture
def row() -> Callable[..., Scenario]:
    """Makes a row of three arms and 200 rounds, or as told."""

    def make(name: str, kind: str = "independent", **more: Any) -> Scenario:
        depends, loses = KINDS[kind]
        given = {
            "reason": "A test.",
            "horizon": 200,
            "held_out": False,
            "depends": depends,
            "loses": loses,
            "spec": SPEC,
        }
        return Scenario(name=name, **{**given, **more})

    return make


@pytest.fixture
def scores(row: Callable[..., Scenario]) -> Scores:
    """Five rows of all kinds, two of them held out; three policies. The ratios are

    ====================  ====  ====  ====
    row                      A     B     C
    ====================  ====  ====  ====
    one                      4     1     2
    two (held out)           1     1     2
    three                    8     1     2
    four (held out)       1.25     1     4
    five                     2     4     1
    ====================  ====  ====  ====
    """
    made = (
        row("one"),
        row("two", held_out=True),
        row("three", "reward-dependent"),
        row("four", "lost", held_out=True),
        row("five", "lost"),
    )
    regret = np.array([[8.0, 2.0, 4.0], [3.0, 3.0, 6.0], [40.0, 5.0, 10.0], [2.5, 2.0, 8.0], [14.0, 28.0, 7.0]])
    runs = np.repeat([[60], [61], [60], [3840], [100]], 3, axis=1)
    losing = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.25], [0.0, 0.0, 0.0], [0.0, 0.75, 0.0]])
    return Scores(made, ("A", "B", "C"), regret, regret / 7.0, regret / 300.0, losing, runs)


@pytest.fixture
def whole() -> Scores:
    """Scores of all rows of the package, for thirteen policies, by chance."""
    found = tuple(all_rows())
    rng = np.random.default_rng(0)
    regret = 100.0 * np.exp(rng.gamma(1.0, 1.0, size=(len(found), 13)))
    labels = tuple(f"Policy-{letter} of mine" for letter in "ABCDEFGHIJKLM")
    runs = rng.integers(60, 3841, regret.shape)
    return Scores(found, labels, regret, regret / 50.0, regret / 5000.0, rng.random(regret.shape), runs)
