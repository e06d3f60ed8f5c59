"""What a process does that compiles for another one (see :mod:`belated.engine.compile_pool`)."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import threading
from pathlib import Path

import numpy as np

from belated.delays import Fixed, Uniform
from belated.engine.compile_pool import LENGTH, claimed
from belated.engine.encode import encode_problems
from belated.engine.run import play_ring
from belated.engine.runner import Chunk, Plan, compile_policy
from belated.problem import Problem
from belated.rewards import Bernoulli

HORIZON = 8


def main() -> None:
    """Read a task from the standard input and do it: a function, policies, and the folder with the claims. Where the
    input ends before that is done, so does this process."""
    length = int.from_bytes(sys.stdin.buffer.read(LENGTH), "big")
    name, policies, claims = pickle.loads(sys.stdin.buffer.read(length))
    threading.Thread(target=_end_with_input, args=(claims,), daemon=True).start()
    delay = Fixed(1) if name == play_ring.__name__ else Uniform(0, 2)
    chunk = Chunk(0, 1, encode_problems([Problem([Bernoulli(0.5), Bernoulli(0.5)], delay)], HORIZON))
    plan = Plan(HORIZON, np.array([HORIZON]), 0, np.zeros(1, np.int64))
    for policy in reversed(policies):
        if claimed(Path(claims), policy):
            compile_policy(name, policy, chunk, plan)


def _end_with_input(claims: str) -> None:
    """End this process when the one that started it is gone, which could not clear up the claims itself."""
    while os.read(0, 1):  # not sys.stdin, whose lock Python would ask for when it ends
        pass
    shutil.rmtree(claims, ignore_errors=True)
    os._exit(1)
