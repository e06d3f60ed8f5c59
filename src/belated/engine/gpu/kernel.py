"""The kernel: one thread plays one run, by the loop of :mod:`belated.engine.run` compiled for the device.

The counts and scores of the arms, and the lists of active ones, are in shared memory if they fit, interleaved for the
threads of a block. All else is in global memory: working memory interleaved for the runs, outputs run by run.
Multiplications and additions are not fused, so that the bits are those of the CPU."""

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

from belated.engine.gpu.layout import THREADS, KernelVariant
from belated.engine.ring_buffer import RingBuffer
from belated.engine.run import begin_run, clear, end_run, play_run
from belated.engine.run_io import BAD_ARM, RunInput, RunOutput
from belated.engine.sources import DrawBitNow, DrawInRound, DrawNow, DrawRewardNow
from belated.engine.timing_wheel import TimingWheel
from belated.errors import MissingComponent
from belated.kernel.cache import cache_in, folder_for
from belated.kernel.code_key import module_digest
from belated.kernel.intrinsics import strided_view, table_view
from belated.kernel.jit import JIT, SIMULATED
from belated.kernel.law_table import LawTable
from belated.policies._base.changes import prepare_to_compile
from belated.policies._base.interface import has_nan
from belated.policies._base.policy import Policy
from belated.policies._base.state import REGISTERS, State

INSTALL = "pip install 'belated[cuda]'"


cuda: Any = None
"""numba's CUDA target, once :func:`device` has loaded it."""


@cache
def device() -> Any:
    """numba's CUDA target. Raises MissingComponent with the install command if it or the device is missing."""
    if SIMULATED and JIT:
        raise MissingComponent("numba's simulator of a GPU needs NUMBA_DISABLE_JIT=1 beside NUMBA_ENABLE_CUDASIM=1.")
    global cuda  # noqa: PLW0603  (the simulator looks for it among the module's names)
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")  # else launches of many streams wait for each other
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 still asks for it
        np.row_stack = np.vstack
    try:
        target: Any = import_module("numba.cuda")
    except ImportError as error:
        raise MissingComponent(f"device='cuda' needs numba-cuda: {INSTALL} ({error})") from None
    if not target.is_available():
        raise MissingComponent(
            f"device='cuda' finds no GPU, or no driver for it. Install the parts with {INSTALL}, and see that "
            "nvidia-smi lists a device; or use device='cpu'."
        )
    if not SIMULATED:
        settings: Any = import_module("numba.cuda.core.config")
        settings.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a few runs are played as well as many
    cuda = target
    return target


_compiling = threading.Lock()


@contextmanager
def exactly() -> Iterator[None]:
    """Compile without fusing multiplications and additions, and with pointers into strided arrays that the compiler can
    tell to be in shared memory: numba would add the offset to the pointer as an integer."""
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

    with _compiling:  # both are global
        plain = nvvm.compile_ir, cgutils.pointer_add
        modules[0].compile_ir, modules[1].pointer_add = compile_ir, pointer_add
        try:
            yield
        finally:
            modules[0].compile_ir, modules[1].pointer_add = plain


@cache
def kernel_for(variant: KernelVariant, policy_class: type[Policy]) -> Any:  # noqa: PLR0915
    """The kernel of this variant, compiled for a policy's class when it is first launched.

    Its arguments are the policy, the layout of a launch, and the device's memory as an array of each type of number."""
    device()
    uses_ring, binary, short, shared = variant.uses_ring, variant.binary, variant.short, variant.shared
    listed, bounded, whole = variant.listed, variant.bounded, shared and binary and not short
    by_round, shuffled = variant.by_round, variant.shuffled

    def play(policy: Any, at: Any, f8: Any, i8: Any, u8: Any, i4: Any, u4: Any) -> None:  # noqa: PLR0915
        run = cuda.grid(1)
        if run >= at.runs:
            return
        arms, runs = at.arms, at.runs

        # the policy's state
        if shared:
            reals, wholes, halves = (
                cuda.shared.array(0, float64),
                cuda.shared.array(0, int32),
                cuda.shared.array(0, uint16),
            )
            lane, half_lane = cuda.threadIdx.x, 2 * cuda.threadIdx.x
            stride, half_stride = THREADS, 2 * THREADS
        else:
            reals, wholes, halves = f8, i4, u4
            lane = half_lane = run
            stride = half_stride = runs
        score = strided_view(reals, at.score + lane, at.scores, stride)
        floor = strided_view(reals, at.floor + lane, arms, stride) if bounded else ()
        pulls = strided_view(wholes, at.pulls + lane, arms, stride)
        if short:
            observed = strided_view(halves, at.observed + half_lane, arms, half_stride)
            total = strided_view(halves, at.total + half_lane, arms, half_stride)
        else:
            observed = strided_view(wholes, at.observed + lane, arms, stride)
            if whole:
                total = strided_view(wholes, at.total + lane, arms, stride)
            else:
                total = strided_view(reals, at.total + lane, arms, stride)
        active = strided_view(halves, at.active + half_lane, arms if listed else 0, half_stride)
        sweep = strided_view(halves, at.sweep + half_lane, arms if listed else 0, half_stride)
        register = strided_view(wholes, at.register + lane, REGISTERS, stride)
        winner = strided_view(u4, at.winner + run, at.leaves, runs)
        own = at.own_eliminated_at if shuffled else at.eliminated_at  # what is not shuffled is an output as it is
        eliminated_at = strided_view(i4, own + run * arms, arms, 1)
        memory = table_view(f8, at.memory + run * (arms + 1) * at.cells, arms + 1, at.cells)
        key = strided_view(u8, at.key + run, 2, runs)
        state = State(
            arms, pulls, observed, total, score, floor, winner, active, sweep, eliminated_at, register, memory, key
        )

        # what is played, and what comes back
        laws = LawTable(
            kind=strided_view(i8, at.kind, at.rows, 1),
            x=strided_view(f8, at.x, at.rows, 1),
            y=strided_view(f8, at.y, at.rows, 1),
            i=strided_view(i8, at.i, at.rows, 1),
            j=strided_view(i8, at.j, at.rows, 1),
            k=strided_view(i8, at.k, at.rows, 1),
            real=strided_view(f8, at.real, at.reals, 1),
            whole=strided_view(i4, at.whole, at.wholes, 1),
        )
        run_input = RunInput(
            gap=table_view(f8, at.gap, at.problems, arms),
            fixed_delay=table_view(i8, at.fixed_delay, at.problems, arms),
            checkpoint=strided_view(i8, at.checkpoint, at.points, 1),
            seed=strided_view(u8, at.seed, 4, 1),
            horizon=at.horizon,
            first_run=at.first_run,
            stop=(),
            played=(),
            order=strided_view(u4, at.order + run, 2 * arms, runs) if shuffled else (),
        )
        output = RunOutput(
            curve=table_view(f8, at.curve, runs, at.points),
            final=strided_view(f8, at.final, runs, 1),
            pulls=table_view(i4, at.out_pulls, runs, arms),
            observed=table_view(i4, at.out_observed, runs, arms),
            lost=table_view(i4, at.lost, runs, arms),
            eliminated_at=table_view(i4, at.eliminated_at, runs, arms),
            pull_sums=table_view(
                u8, at.pull_sums + cuda.threadIdx.x % at.pull_tables * at.pull_rows * arms, at.pull_rows, arms
            ),
        )

        # the channel and the source
        channel: Any
        source: Any
        if uses_ring:
            slots = strided_view(u4, at.ring + run, at.delay + 1, runs)
            if binary:
                channel = RingBuffer(np.int32(at.delay), slots, ())
                source = DrawBitNow(laws)
            else:
                rewards = strided_view(f8, at.ring_reward + run, at.delay + 1, runs)
                channel = RingBuffer(np.int32(at.delay), slots, rewards)
                source = DrawRewardNow(laws)
        else:
            channel = TimingWheel(
                at.bits,
                at.levels,
                above=strided_view(i8, at.above + run, 3, runs),
                last=strided_view(u4, at.last + run, (at.levels << at.bits) + 1, runs),
                next=strided_view(u4, at.next + run, at.slots, runs),
                arm=strided_view(u4, at.arm + run, at.slots, runs),
                rank=strided_view(u4, at.rank + run, at.slots, runs),
                pulled_at=strided_view(u4, at.pulled_at + run, at.slots, runs),
                due=strided_view(u4, at.due + run, at.slots, runs),
                reward=strided_view(f8, at.reward + run, at.slots, runs),
            )
            lost = strided_view(i4, at.lost + run * arms, arms, 1)
            source = DrawInRound(laws, lost) if by_round else DrawNow(laws, lost)

        begin_run(run_input, state, source, run)
        clear(channel)
        status, _, _ = play_run(policy, run_input, output, run, state, channel, source, np.int32(1), np.int64(0))
        if status == BAD_ARM:
            output.final[run] = np.nan
        elif has_nan(policy, state):
            output.final[run] = np.inf
        else:
            end_run(run_input, output, state, source, run)

    if SIMULATED:
        return cuda.jit(play)
    if not policy_class.is_built_in:
        target = import_module("numba.cuda.descriptor").cuda_target
        prepare_to_compile(policy_class, target.typing_context)
    kernel = cuda.jit(play, lto=False)
    folder = folder_for(play, policy_class, also=(module_digest(__name__), version("numba-cuda")))
    if folder is not None:
        kernel._cache = cache_in(folder, play, import_module("numba.cuda.dispatcher").CUDACache)
    return kernel
