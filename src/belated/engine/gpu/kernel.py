"""The kernel: one thread a run, the CPU's own functions compiled for the device.

The counts and scores of the arms, and the lists of the active ones, lie in shared memory where they fit, side by side
for the threads of a block. Everything else lies in global memory: what a run works on side by side for the runs, what
it gives back one run after the other. Multiplications and additions are not fused, so that the bits are those of the
CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, uint16

from belated.engine import timing_wheel
from belated.engine.gpu.layout import THREADS, Kind
from belated.engine.ring_buffer import Ring
from belated.engine.ring_loop import play_ring
from belated.engine.run_io import BAD_ARM, Game, Sink, regret_of
from belated.engine.wheel_loop import play_wheel
from belated.errors import MissingComponent
from belated.kernel.cache import cache_in, folder_for
from belated.kernel.function_table import every, grid
from belated.kernel.jit import JIT, SIMULATED
from belated.kernel.law_table import LawTable
from belated.kernel.rng import run_key
from belated.policies._base.policy import Policy
from belated.policies._base.state import REGISTERS, State, reset

INSTALL = "pip install 'belated[cuda]'"


cuda: Any = None
"""numba's CUDA target, once :func:`device` has found it."""


@cache
def device() -> Any:
    """numba's CUDA target; an error with the install line where it is missing, or there is no device."""
    if SIMULATED and JIT:
        raise MissingComponent("numba's simulator of a GPU needs NUMBA_DISABLE_JIT=1 beside NUMBA_ENABLE_CUDASIM=1.")
    global cuda  # noqa: PLW0603  (the simulator looks for it among the module's names)
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # else launches of many streams wait for each other
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 still asks for it
        np.row_stack = np.vstack
    try:
        found: Any = import_module("numba.cuda")
    except ImportError as error:
        raise MissingComponent(f"device='cuda' needs numba-cuda: {INSTALL} ({error})") from None
    if not found.is_available():
        raise MissingComponent(
            f"device='cuda' finds no GPU, or no driver for it. Install the parts with {INSTALL}, and see that "
            "nvidia-smi lists a device; or use device='cpu'."
        )
    if not SIMULATED:
        settings: Any = import_module("numba.cuda.core.config")
        settings.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a few runs are played as well as many
    cuda = found
    return found


_compiling = threading.Lock()


@contextmanager
def exactly() -> Iterator[None]:
    """A context in which the compiler does not fuse multiplications with additions, and knows of a place in an array
    with strides whether it is in shared memory: numba would add the distance to the pointer as a whole number."""
    if SIMULATED:
        with _compiling:  # one kernel at a time
            yield
        return
    nvvm, cgutils = (import_module(f"numba.cuda.{name}") for name in ("cudadrv.nvvm", "cgutils"))
    modules: tuple[Any, Any] = (nvvm, cgutils)
    plain: tuple[Any, Any]

    def compile_ir(code: Any, **options: Any) -> Any:
        return plain[0](code, **{**options, "fma": False})

    def pointer_add(builder: Any, pointer: Any, offset: Any, return_type: Any = None) -> Any:
        distance = ir.IntType(64)(offset) if isinstance(offset, int) else offset
        start = builder.bitcast(pointer, ir.IntType(8).as_pointer(pointer.type.addrspace))
        return builder.bitcast(builder.gep(start, [distance]), return_type or pointer.type)

    with _compiling:  # both are settings of all threads
        plain = nvvm.compile_ir, cgutils.pointer_add
        modules[0].compile_ir, modules[1].pointer_add = compile_ir, pointer_add
        try:
            yield
        finally:
            modules[0].compile_ir, modules[1].pointer_add = plain


@cache
def kernel_for(kind: Kind, policy_class: type[Policy]) -> Any:  # noqa: PLR0915
    """The kernel of this kind, compiled for a policy's class when it is first launched.

    It sees the device's memory as one array for each type of number."""
    device()
    is_ring, binary, short, shared, scored, listed, bounded = kind
    side, twice = THREADS, 2 * THREADS

    def play(policy: Any, at: Any, f8: Any, i8: Any, u8: Any, i4: Any, u4: Any) -> None:  # noqa: PLR0915
        run = cuda.grid(1)
        if run >= at.runs:
            return
        arms, runs = at.arms, at.runs
        if shared:
            place = cuda.threadIdx.x
            reals = cuda.shared.array(0, float64)
            wholes = cuda.shared.array(0, int32)
            halves = cuda.shared.array(0, uint16)
            score = every(reals, place, arms + 2 if scored else arms if bounded else 0, side)
            place += (arms + 2 if scored else arms if bounded else 0) * side
            if bounded:
                floor = every(reals, place, arms, side)
                place += arms * side
            else:
                floor = ()
            if not binary:
                total = every(reals, place, arms, side)
                place += arms * side
            place = 2 * (place - cuda.threadIdx.x) + cuda.threadIdx.x
            pulls = every(wholes, place, arms, side)
            place += arms * side
            if short:
                observed = every(halves, 2 * place, arms, twice)
                total = every(halves, 2 * place + 1, arms, twice)
                place += arms * side
            else:
                observed = every(wholes, place, arms, side)
                place += arms * side
                if binary:
                    total = every(wholes, place, arms, side)
                    place += arms * side
            active = every(halves, 2 * place, arms if listed else 0, twice)
            sweep = every(halves, 2 * place + 1, arms if listed else 0, twice)
            place += arms * side if listed else 0
            register = every(wholes, place, REGISTERS, side)
        else:
            score = every(f8, at.score + run, arms + 2 if scored else arms if bounded else 0, runs)
            floor = every(f8, at.floor + run, arms, runs) if bounded else ()
            total = every(f8, at.total + run, arms, runs)
            pulls = every(i4, at.pulls + run, arms, runs)
            observed = every(i4, at.observed + run, arms, runs)
            active = every(u4, at.active + run, arms if listed else 0, runs)
            sweep = every(u4, at.sweep + run, arms if listed else 0, runs)
            register = every(i4, at.register + run, REGISTERS, runs)
        winner = every(u4, at.winner + run, at.leaves, runs)
        gone = every(i4, at.eliminated_at + run * arms, arms, 1)
        key = every(u8, at.key + run, 2, runs)
        memory = grid(f8, at.own + run * (arms + 1) * at.memory, arms + 1, at.memory)
        state = State(arms, pulls, observed, total, score, floor, winner, active, sweep, gone, register, memory, key)
        reset(state)
        seed = every(u8, at.seed, 4, 1)
        key[0], key[1] = run_key(seed[2], seed[3], at.first + run)
        key_a, key_b = run_key(seed[0], seed[1], at.first + run)
        laws = LawTable(
            kind=every(i8, at.kind, at.rows, 1),
            x=every(f8, at.x, at.rows, 1),
            y=every(f8, at.y, at.rows, 1),
            i=every(i8, at.i, at.rows, 1),
            j=every(i8, at.j, at.rows, 1),
            k=every(i8, at.k, at.rows, 1),
            real=every(f8, at.real, at.reals, 1),
            whole=every(i4, at.whole, at.wholes, 1),
        )
        problem = (run if at.problems > 1 else 0) * arms
        gap = every(f8, at.gap + problem, arms, 1)
        checkpoint = every(i8, at.checkpoint, at.points, 1)
        rows, stop = at.problems * arms + problem, every(i8, at.stop, 1, 1)
        game = Game(laws, gap, checkpoint, at.horizon, problem, rows, key_a, key_b, (), 0, stop)
        sink = Sink(
            every(f8, at.curve + run * at.points, at.points, 1),
            every(i4, at.out_observed + run * arms, arms, 1),
            every(i4, at.lost + run * arms, arms, 1),
        )
        for arm in range(arms):
            sink.observed[arm] = 0
            sink.lost[arm] = 0
        if is_ring:
            places = (at.delay + 1) * runs
            rewards = () if binary else every(f8, at.ring_reward, places, 1)
            ring = Ring(at.delay, every(u4, at.ring, places, 1), rewards, run, runs)
            ended = play_ring(policy, game, state, ring, sink)
            for arm in range(arms):
                sink.observed[arm] = observed[arm]
        else:
            slots, buckets = at.slots, at.levels << at.bits
            flight = timing_wheel.TimingWheel(
                at.bits,
                at.levels,
                every(i8, at.above + run, 3, runs),
                every(u4, at.last + run, buckets + 1, runs),
                every(u4, at.next + run, slots, runs),
                every(u4, at.arm + run, slots, runs),
                every(u4, at.rank + run, slots, runs),
                every(u4, at.pulled_at + run, slots, runs),
                every(u4, at.due + run, slots, runs),
                every(f8, at.reward + run, slots, runs),
            )
            ended = play_wheel(policy, game, state, flight, sink)
        f8[at.final + run] = regret_of(game.gap, state) if ended != BAD_ARM else np.nan
        for arm in range(arms):
            i4[at.out_pulls + run * arms + arm] = pulls[arm]

    if SIMULATED:
        return cuda.jit(play)
    kernel = cuda.jit(play, lto=False)
    folder = folder_for(play, policy_class, also=(exactly, version("numba-cuda")))
    if folder is not None:
        kernel._cache = cache_in(folder, play, import_module("numba.cuda.dispatcher").CUDACache)
    return kernel
