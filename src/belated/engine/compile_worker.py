"""The main function of a process that compiles for another one; see :mod:`belated.engine.compile_pool`."""

from __future__ import annotations

import os
import pickle
import sys
import threading

import numpy as np

from belated.delays import Fixed, Uniform
from belated.engine.compile_pool import take
from belated.engine.encode import encode_problems
from belated.engine.runner import LOOPS, Chunk, Plan, compile_loop
from belated.problem import Problem
from belated.rewards import Bernoulli

HORIZON = 8


def main() -> None:
    """Read (name of a loop, policy) pairs and the queue from the standard input; compile those that are taken from the
    queue, unless the input is closed before."""
    tasks, queue = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_input, daemon=True).start()
    loops = {loop.__name__: loop for loop in LOOPS}
    for name, policy in take(tasks, queue):
        loop = loops[name]
        delay = Fixed(1) if LOOPS[loop].in_ring else Uniform(0, 2)
        problem = encode_problems([Problem([Bernoulli(0.5), Bernoulli(0.5)], delay)], HORIZON)
        plan = Plan(HORIZON, np.array([HORIZON]), 0, np.zeros(1, np.int64), shuffle=LOOPS[loop].shuffled)
        compile_loop(loop, policy, Chunk(0, 1, problem), plan)


def _end_with_input() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock the interpreter takes when it ends
        pass
    os._exit(1)
