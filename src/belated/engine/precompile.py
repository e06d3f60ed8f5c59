"""What a process does that compiles for another one (see :mod:`belated.engine.compilers`)."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np

from belated.delays import Fixed, Uniform
from belated.engine.circle import play_rings
from belated.engine.compilers import claimed
from belated.engine.encode import board
from belated.engine.runner import Chunk, Plan, compile_policy
from belated.problem import Problem
from belated.rewards import Bernoulli

HORIZON = 8


def main() -> None:
    """Read a task from the standard input and do it: a function, policies, and the folder with the claims."""
    name, policies, claims = pickle.load(sys.stdin.buffer)
    delay = Fixed(1) if name == play_rings.__name__ else Uniform(0, 2)
    chunk = Chunk(0, 1, board([Problem([Bernoulli(0.5), Bernoulli(0.5)], delay)], HORIZON))
    plan = Plan(HORIZON, np.array([HORIZON]), 0, np.zeros(1, np.int64))
    for policy in reversed(policies):
        if claimed(Path(claims), policy):
            compile_policy(policy, chunk, plan)
