"""Files with a policy of one's own, and the error that a mistake in it must give."""

from __future__ import annotations

from pathlib import Path

from belated.errors import PolicyError

HEAD = """
import math, random, time
import numba
from typing import NamedTuple
import numpy as np
from numpy.random import randint
from belated.policies import ConfidencePolicy, IndexPolicy, Policy, log, policy, view
WEIGHTS = [0.5, 1.0]
GENERATOR = np.random.default_rng(0)
COUNT = np.zeros(2)

def squares(values):
    return [value * value for value in values]

def maybe(x):
    if x > 0.0:
        return x

@numba.njit
def bump(memory, arm):
    memory[arm, 5] += 1.0

def put(row, place):
    row[place] = 2.0

@policy
class Mine({base}):
    label = "mine"
"""
CHOOSE = "@staticmethod\ndef choose(policy, state, now):\n"
INDEX = "@staticmethod\ndef index(policy, arm):\n"
FEEDBACK = "@staticmethod\ndef on_feedback(policy, state, arm, reward, rank, pulled_at, now):\n"


def assert_found(error: PolicyError, line: str, message: str, advice: str) -> None:
    """One error of at most ten lines that names the user's file and line, and what to write instead."""
    lines = str(error).splitlines()
    assert message in lines[0], lines
    assert "written_" in lines[1], lines
    number = int(lines[1].partition(", line ")[2].partition(",")[0])
    source = Path(lines[1].split('"')[1]).read_text().splitlines()[number - 1].strip()
    assert source == line == lines[2].strip()
    assert advice in lines[3]
    assert len(lines) <= 10
    assert error.__cause__ is None
    assert error.__suppress_context__
