"""What was tried: the task's UCB with eight runs in the innermost loop, compiled by numba.

Each lane plays a run of its own; the state lies in [arm][lane]. Small arrays on the stack tell LLVM that nothing
overlaps, without which it leaves most loops as they are; the argmax over the arms is written in vector instructions,
which LLVM does not find by itself. The bits are those of ``simulate``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np import arrayobj

from belated.engine.encode import encode_problems
from belated.kernel.rng import run_key, seed_words, word

LANES = 8
ONE, TWELVE = np.uint32(1), np.uint64(12)


@intrinsic(prefer_literal=True)
def stacked(typing: Any, size: Any, like: Any) -> Any:
    """Return an array on the stack."""
    made, count = types.Array(like.dtype, 1, "C"), size.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_data_type(like.dtype)
        with builder.goto_entry_block():
            room = builder.alloca(ir.ArrayType(kind, count))
            room.align = 64
        array = context.make_array(made)(context, builder)
        item = context.get_constant(types.intp, context.get_abi_sizeof(kind))
        arrayobj.populate_array(
            array,
            data=builder.bitcast(room, array.data.type),
            shape=[context.get_constant(types.intp, count)],
            strides=[item],
            itemsize=item,
            meminfo=None,
        )
        return array._getvalue()

    return made(size, like), generate


@intrinsic
def leaders(typing: Any, score: Any, found: Any, arms: Any) -> Any:
    """Write the arm of the largest score of each lane, the first of equals."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        reals, wholes = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(whole, LANES)
        scores, wanted = (
            context.make_array(kind)(context, builder, given).data
            for kind, given in zip(signature.args[:2], arguments[:2], strict=True)
        )
        rows = builder.bitcast(scores, reals.as_pointer())
        first, before = builder.load(rows, align=8), builder.block
        loop, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        arm, best, at = builder.phi(whole), builder.phi(reals), builder.phi(wholes)
        row = builder.load(builder.gep(rows, [arm]), align=8)
        above = builder.fcmp_ordered(">", row, best)
        here = builder.insert_element(ir.Constant(wholes, ir.Undefined), arm, ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        here = builder.shuffle_vector(here, ir.Constant(wholes, ir.Undefined), mask)
        then = builder.add(arm, whole(1)), builder.select(above, row, best), builder.select(above, here, at)
        begin = whole(1), first, ir.Constant(wholes, [0] * LANES)
        for phi, start, value in zip((arm, best, at), begin, then, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", then[0], arguments[2]), loop, after)
        builder.position_at_end(after)
        builder.store(then[2], builder.bitcast(wanted, wholes.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(score, found, types.int64), generate


@njit(error_model="numpy", _nrt=False)
def play(task: Any, seed: Any, first: Any, ring: Any, state: Any, regret: Any) -> None:
    """Play the runs from ``first`` on, one a lane."""
    table, below, gap, horizon, delay = task
    pulls, observed, total, score = state
    arms = below.shape[0]
    key_a, key_b = stacked(LANES, np.uint64), stacked(LANES, np.uint64)
    n, s, index = stacked(LANES, np.float64), stacked(LANES, np.float64), stacked(LANES, np.float64)
    cell, rank, arm = stacked(LANES, np.uint32), stacked(LANES, np.uint32), stacked(LANES, np.int64)
    for place in range(arms * LANES):
        pulls[place] = observed[place] = total[place] = 0
        score[place] = np.inf
    for lane in range(LANES):
        key_a[lane], key_b[lane] = run_key(seed[0], seed[1], first + lane)
    for now in range(1, horizon + 1):
        slot = (now % (delay + 1)) * LANES
        if now > delay + 1:
            for lane in range(LANES):
                place = np.uint32((ring[slot + lane] >> ONE) * np.uint32(LANES) + np.uint32(lane))
                observed[place] += 1.0
                total[place] += float(ring[slot + lane] & ONE)
                n[lane], s[lane], cell[lane] = observed[place], total[place], place
            for lane in range(LANES):
                index[lane] = s[lane] / n[lane] + table[np.uint32(n[lane])]
            for lane in range(LANES):
                score[cell[lane]] = index[lane]
        leaders(score, arm, np.int64(arms))
        for lane in range(LANES):
            place = np.uint32(arm[lane] * LANES + lane)
            rank[lane] = pulls[place]
            pulls[place] += 1
            if rank[lane] == 0:
                score[place] = table[1]
        for lane in range(LANES):
            z = word(key_a[lane], key_b[lane], np.uint32(arm[lane]), rank[lane])
            ring[slot + lane] = (np.uint32(arm[lane]) << ONE) | np.uint32(np.int64(z >> TWELVE) < below[arm[lane]])
    for lane in range(LANES):
        for number in range(arms):
            regret[lane] += gap[number] * pulls[number * LANES + lane]


def simulate_in_lanes(problem: Any, horizon: int, delay: int, runs: int, seed: int = 0) -> np.ndarray:
    """Return the regret of each run."""
    laws, _, gaps = encode_problems([problem], horizon)
    arms = gaps.shape[1]
    table = np.append(0.0, np.sqrt(2.0 / np.arange(1, horizon + 2)))
    state = (np.zeros(arms * LANES, np.int64), *(np.zeros(arms * LANES) for _ in range(3)))
    ring = np.zeros((delay + 1) * LANES, np.uint32)
    regret = np.zeros(-(-runs // LANES) * LANES)
    for first in range(0, runs, LANES):
        lanes = regret[first : first + LANES]
        play((table, laws.i[:arms], gaps[0], horizon, delay), seed_words(seed), first, ring, state, lanes)
    return regret[:runs]
