"""Launches on a GPU: how many runs at a time, where their numbers lie, and what comes back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.cuda import device, exactly, kernel_for
from belated.engine.encode import Board
from belated.engine.episode import Outcome
from belated.engine.layout import THREADS, Launch, bytes_of_thread, planned
from belated.engine.runner import Chunk, Plan
from belated.errors import InvalidParameter
from belated.forms.base import Policy
from belated.forms.calls import code_folder, no_such_arm

MEMORY_SHARE = 0.125
"""Of the free memory, how much the launches of a chunk may take; several chunks are on the device at a time."""
MOST_RUNS = 1 << 16
"""Runs of a launch at the most."""
SMALLEST = 1 << 22
"""Memory is taken in sizes that are powers of two from this on, so that it can be used again."""
VIEWS = (np.float64, np.int64, np.uint64, np.int32, np.uint32)
"""The types of number that the kernel sees the memory as, in the order of its arguments."""


class Room(NamedTuple):
    """Memory that launches use one after the other, with a stream of their own."""

    stream: Any
    bytes: Any  # the device's memory
    views: tuple[Any, ...]  # the same as each type of number
    back: npt.NDArray[np.uint8]  # the host's memory that results are copied to


def check_available() -> None:
    """An error if there is no device."""
    device()


def launch_runs(policies: Sequence[Policy], board: Board, plan: Plan, step: int) -> int:
    """How many runs of such a problem go into one launch of all policies: a multiple of ``step``."""
    free, _ = device().current_context().get_memory_info()
    small, large = (
        sum(planned(policy, Chunk(0, runs, board), plan).region.bytes for policy in policies)
        for runs in (step, 2 * step)
    )
    if small > free * MEMORY_SHARE:
        raise InvalidParameter(
            f"the device has {free / 1e9:.1f} GB of free memory, and {step} runs of this horizon with such delays take "
            f"{small / 1e9:.1f} GB of it at a time; use device='cpu'."
        )
    steps = 1 + min((free * MEMORY_SHARE - small) / max(large - small, 1), MOST_RUNS)
    return step * max(min(int(steps), MOST_RUNS // step), 1)


@contextmanager
def played_on_device(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> Iterator[list[Outcome]]:
    """The outcome of each policy on the chunk's runs, all played on the device at the same time. They lie in memory
    that others use after this context."""
    launches = [planned(policy, chunk, plan) for policy in policies]
    rooms: list[Room] = []
    try:
        for launch in launches:
            rooms.append(_start(launch))  # noqa: PERF401  (one may fail)
        yield [_finish(launch, room) for launch, room in zip(launches, rooms, strict=True)]
    finally:
        for room in rooms:
            room.stream.synchronize()
        with _lending:
            _spare.extend(rooms)


_lending = threading.Lock()
_spare: list[Room] = []
"""Memory that is there already."""


def _borrowed(size: int, back: int) -> Room:
    """Memory of at least these many bytes: the smallest that is there, or new."""
    with _lending:
        fitting = [room for room in _spare if room.bytes.size >= size and room.back.size >= back]
        if fitting:
            room = min(fitting, key=lambda one: int(one.bytes.size))
            _spare.remove(room)
            return room
    try:
        return _new_room(size, back)
    except Exception as error:  # numba's has no class of its own
        if "MEMORY" not in str(error).upper():
            raise
        with _lending:
            _spare.clear()
        return _new_room(size, back)


def _new_room(size: int, back: int) -> Room:
    cuda = device()
    size, back = (1 << max(number - 1, SMALLEST - 1).bit_length() for number in (size, back))
    whole = cuda.device_array(size, np.uint8)
    return Room(cuda.stream(), whole, tuple(whole.view(kind) for kind in VIEWS), cuda.pinned_array(back, np.uint8))


def _start(launch: Launch) -> Room:
    """Copy, launch and copy back, without waiting."""
    places, numbers, kind = launch.region.places, launch.numbers, launch.kind
    first, start, end = places["total"][0], places["curve"][0], launch.region.bytes
    room = _borrowed(end, max(first, end - start))
    for name, array in launch.given.items():
        place = places[name][0]
        room.back[place : place + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    room.bytes[:first].copy_to_device(room.back[:first], stream=room.stream)
    policy = launch.policy.parameters(numbers.arms)._replace(table=())
    shared = bytes_of_thread(kind, numbers.arms) * THREADS if kind.shared else 0
    kernel = kernel_for(kind, code_folder(type(launch.policy)))
    with exactly():
        kernel[-(-numbers.runs // THREADS), THREADS, room.stream, shared](policy, numbers, *room.views)
    room.bytes[start:end].copy_to_host(room.back[: end - start], stream=room.stream)
    return room


def _finish(launch: Launch, room: Room) -> Outcome:
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
