"""Launch kernels: how many runs at a time, copies to the device and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine.encode import EncodedProblem
from belated.engine.gpu.kernel import device, exactly, kernel_for
from belated.engine.gpu.layout import THREADS, KernelVariant, Launch, plan_launch
from belated.engine.gpu.memory import BUFFERS, Buffer
from belated.engine.run_io import RunOutput
from belated.engine.runner import Chunk, Plan
from belated.errors import InvalidParameter
from belated.kernel.jit import SIMULATED, compiling
from belated.policies._base.encode import encode_policy
from belated.policies._base.policy import Policy
from belated.policies._check.compile_errors import raise_cannot_compile
from belated.policies._check.run_errors import no_such_arm, not_a_number

CHUNK_SHARE = 0.1
"""Share of the device's memory that the launches of a chunk may take; several chunks are on the device at a time."""
MOST_RUNS = 1 << 16
"""Runs of a launch at most."""
MOST_THREADS = 64
"""Chunks of all simulations that are played at a time."""


_launched: set[tuple[KernelVariant, type[Policy]]] = set()
"""Kernels that are compiled: their launches need not wait for the compiler."""


@contextmanager
def _compiled(key: tuple[KernelVariant, type[Policy]]) -> Iterator[None]:
    """A context in which the first launch of a kernel compiles it."""
    with exactly(), compiling(key):
        yield


@cache
def threads() -> ThreadPoolExecutor:
    """Threads that play chunks; they are kept, since each new thread has to be registered with the device."""
    return ThreadPoolExecutor(MOST_THREADS)


def check_available() -> None:
    """Raise MissingComponent if there is no device."""
    device()


def launch_runs(policies: Sequence[Policy], problem: EncodedProblem, plan: Plan, step: int) -> int:
    """How many runs of such problems go into one launch of all policies: a multiple of ``step``."""
    small, large = (
        sum(plan_launch(policy, Chunk(0, runs, problem), plan).region.bytes for policy in policies)
        for runs in (step, 2 * step)
    )
    if small > BUFFERS.capacity:
        raise InvalidParameter(
            f"{step} runs of this horizon with such delays take {small / 1e9:.1f} GB of the device's memory at a time, "
            f"and it has {BUFFERS.capacity / 1e9:.1f}; use device='cpu'."
        )
    steps = 1 + min(max(BUFFERS.capacity * CHUNK_SHARE - small, 0.0) / max(large - small, 1), MOST_RUNS)
    return step * max(min(int(steps), MOST_RUNS // step), 1)


@contextmanager
def played_on_device(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> Iterator[list[RunOutput]]:
    """The output of each policy on the chunk's runs, all played on the device at the same time. Its memory is reused
    after this context."""
    launches = [plan_launch(policy, chunk, plan) for policy in policies]
    sizes = [(launch.region.bytes, _host_bytes(launch)) for launch in launches]
    with BUFFERS.borrow(sizes) as buffers:
        pairs = list(zip(launches, buffers, strict=True))
        for launch in launches:
            key = launch.variant, type(launch.policy)
            plan.compiling.add(key, launch.policy.label, partial(_launched.__contains__, key))
        for pair in pairs:
            start(*pair)
        outputs = []
        for pair in pairs:
            outputs.append(finish(*pair))
            chunk.played[0] += chunk.runs * plan.horizon
        yield outputs


def _host_bytes(launch: Launch) -> int:
    """Bytes of what is copied to the device or back, whichever are more."""
    back = sum(int(part.stop - part.start) for part in launch.copied_back)
    return max(launch.input_bytes, back)


def start(launch: Launch, buffer: Buffer) -> None:
    """Copy, launch and copy back, without waiting."""
    for name, array in launch.inputs.items():
        first = launch.region.start(name)
        buffer.host[first : first + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    inputs = slice(launch.input_bytes)
    buffer.bytes[inputs].copy_to_device(buffer.host[inputs], stream=buffer.stream)
    call(launch, buffer)
    first = 0
    for part in launch.copied_back:
        size = part.stop - part.start
        buffer.bytes[part].copy_to_host(buffer.host[first : first + size], stream=buffer.stream)
        first += size


def call(launch: Launch, buffer: Buffer) -> None:
    """Launch the kernel."""
    layout = launch.layout
    policy = encode_policy(launch.policy, layout.arms)._replace(table=())
    key = launch.variant, type(launch.policy)
    blocks = -(-layout.runs // THREADS)
    try:
        with nullcontext() if key in _launched else _compiled(key):
            kernel = kernel_for(*key)
            kernel[blocks, THREADS, buffer.stream, launch.shared_bytes](policy, layout, *buffer.views)
        if not SIMULATED:
            _launched.add(key)
    except Exception as error:
        if type(error).__module__.endswith("core.errors"):  # numba's own, which come from compiling
            raise_cannot_compile(launch.policy, error)
        raise


def finish(launch: Launch, buffer: Buffer) -> RunOutput:
    """Wait for the output, which is in the buffer."""
    buffer.stream.synchronize()

    sums, outputs = launch.copied_back

    def array(name: str) -> npt.NDArray[Any]:
        start, dtype, shape = launch.region.arrays[name]
        first = 0 if name == "pull_sums" else sums.stop - sums.start + start - outputs.start
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        output: npt.NDArray[Any] = buffer.host[first : first + size].view(dtype).reshape(shape)
        return output

    final = array("final")
    if np.isnan(final).any():
        raise no_such_arm(launch.policy, launch.layout.arms)
    if np.isinf(final).any():
        raise not_a_number(launch.policy)
    return RunOutput(
        curve=array("curve"),
        final=final,
        pulls=array("out_pulls"),
        observed=array("out_observed"),
        lost=array("lost"),
        eliminated_at=array("eliminated_at"),
        pull_sums=array("pull_sums").sum(axis=0).astype(np.int64),
    )
