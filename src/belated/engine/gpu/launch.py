"""Launches on a GPU: how many runs at a time, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine.compile_errors import cannot_compile
from belated.engine.encode import EncodedProblem
from belated.engine.gpu.kernel import device, exactly, kernel_for
from belated.engine.gpu.layout import THREADS, Kind, Launch, bytes_of_thread, plan_launch
from belated.engine.gpu.memory import ROOMS, Buffer
from belated.engine.run import Outcome
from belated.engine.runner import Chunk, Plan
from belated.errors import InvalidParameter
from belated.kernel.jit import SIMULATED
from belated.policies._base.entry_points import no_such_arm
from belated.policies._base.policy import Policy, encode_policy

CHUNK_SHARE = 0.1
"""Of the memory that may be lent, how much the launches of a chunk may take; several chunks are on the device at a
time."""
MOST_RUNS = 1 << 16
"""Runs of a launch at the most."""
MOST_THREADS = 64
"""Chunks of all simulations that are played at a time, at the most."""


_compiled: set[tuple[Kind, type[Policy]]] = set()
"""Kernels that were launched before: these launches need not wait for each other."""


@cache
def threads() -> ThreadPoolExecutor:
    """Threads that play chunks; they stay, as one that is new to the device must first be made known to it."""
    return ThreadPoolExecutor(MOST_THREADS)


def check_available() -> None:
    """An error if there is no device."""
    device()


def launch_runs(policies: Sequence[Policy], board: EncodedProblem, plan: Plan, step: int) -> int:
    """How many runs of such problems go into one launch of all policies: a multiple of ``step``."""
    small, large = (
        sum(plan_launch(policy, Chunk(0, runs, board), plan).region.bytes for policy in policies)
        for runs in (step, 2 * step)
    )
    if small > ROOMS.all:
        raise InvalidParameter(
            f"{step} runs of this horizon with such delays take {small / 1e9:.1f} GB of the device's memory at a time, "
            f"and it has {ROOMS.all / 1e9:.1f}; use device='cpu'."
        )
    steps = 1 + min(max(ROOMS.all * CHUNK_SHARE - small, 0.0) / max(large - small, 1), MOST_RUNS)
    return step * max(min(int(steps), MOST_RUNS // step), 1)


@contextmanager
def played_on_device(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> Iterator[list[Outcome]]:
    """The outcome of each policy on the chunk's runs, all played on the device at the same time. They lie in memory
    that others use after this context."""
    launches = [plan_launch(policy, chunk, plan) for policy in policies]
    with ROOMS.lent([(launch.region.bytes, _host_bytes(launch)) for launch in launches]) as rooms:
        pairs = list(zip(launches, rooms, strict=True))
        for pair in pairs:
            start(*pair)
        yield [finish(*pair) for pair in pairs]


def _host_bytes(launch: Launch) -> int:
    """Bytes of what is copied there, or back, whichever is more."""
    places = launch.region.places
    return max(places["total"][0], launch.region.bytes - places["curve"][0])


def start(launch: Launch, room: Buffer) -> None:
    """Copy, launch and copy back, without waiting."""
    places = launch.region.places
    there, back, end = places["total"][0], places["curve"][0], launch.region.bytes
    for name, array in launch.given.items():
        place = places[name][0]
        room.back[place : place + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    room.bytes[:there].copy_to_device(room.back[:there], stream=room.stream)
    call(launch, room)
    room.bytes[back:end].copy_to_host(room.back[: end - back], stream=room.stream)


def call(launch: Launch, room: Buffer) -> None:
    """Launch the kernel."""
    numbers, kind = launch.numbers, launch.kind
    policy = encode_policy(launch.policy, numbers.arms)._replace(table=())
    shared = bytes_of_thread(kind, numbers.arms) * THREADS if kind.shared else 0
    key = kind, type(launch.policy)
    try:
        with nullcontext() if key in _compiled else exactly():
            kernel = kernel_for(*key)
            kernel[-(-numbers.runs // THREADS), THREADS, room.stream, shared](policy, numbers, *room.views)
        if not SIMULATED:
            _compiled.add(key)
    except Exception as error:
        if not type(error).__module__.endswith("core.errors"):  # numba's own, which come from compiling
            raise
        raise cannot_compile(launch.policy, error) from error


def finish(launch: Launch, room: Buffer) -> Outcome:
    """Wait for the outcome, which lies in the room."""
    room.stream.synchronize()
    places = launch.region.places
    first = places["curve"][0]

    def array(name: str) -> npt.NDArray[Any]:
        place, kind, shape = places[name]
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        found: npt.NDArray[Any] = room.back[place - first : place - first + size].view(kind).reshape(shape)
        return found

    if np.isnan(array("final")).any():
        raise no_such_arm(launch.policy, launch.numbers.arms)
    return Outcome(
        curve=array("curve"),
        final=array("final"),
        pulls=array("out_pulls"),
        observed=array("out_observed"),
        lost=array("lost"),
        eliminated_at=array("eliminated_at"),
    )
