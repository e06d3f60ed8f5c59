"""Memory of a device, lent to launches one after the other: no more than there is, and none of it thrown away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.gpu.kernel import device
from belated.errors import InvalidParameter

SHARE = 0.8
"""Of the memory that is free at first, how much is lent."""
SMALLEST = 1 << 22
"""Memory is taken in sizes that are powers of two from this on, so that it can be used again."""
VIEWS = (np.float64, np.int64, np.uint64, np.int32, np.uint32)
"""The types of number that the kernel sees the memory as, in the order of its arguments."""


class Buffer(NamedTuple):
    """Memory for one launch, with a stream of its own."""

    stream: Any
    bytes: Any  # the device's memory
    views: tuple[Any, ...]  # the same as each type of number
    back: npt.NDArray[np.uint8]  # the host's memory that results are copied to


class BufferPool:
    """All that is lent, and all that is there to be lent again."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._spare: list[Buffer] = []
        self._lent = 0
        self._all = 0

    @property
    def all(self) -> int:
        """How many bytes may be lent at a time."""
        if self._all == 0:
            free, _ = device().current_context().get_memory_info()
            self._all = int(min(free, 1 << 62) * SHARE)
        return self._all

    @contextmanager
    def lent(self, wanted: Sequence[tuple[int, int]]) -> Iterator[list[Buffer]]:
        """Rooms of so many bytes of the device and of the host, all of them at once; waits until there is enough."""
        sizes = [(_rounded(size), _rounded(back)) for size, back in wanted]
        total = sum(size for size, _ in sizes)
        with self._changed:
            self._changed.wait_for(lambda: self._lent == 0 or self._lent + total <= self.all)
            self._lent += total
        rooms: list[Buffer] = []
        try:
            for size, back in sizes:
                rooms.append(self._taken(size, back))
            yield rooms
        finally:
            for room in rooms:
                room.stream.synchronize()
            with self._changed:
                self._spare += rooms
                self._lent -= total
                self._changed.notify_all()

    def _taken(self, size: int, back: int) -> Buffer:
        """The smallest room that is there, or a new one."""
        with self._changed:
            fitting = [room for room in self._spare if size <= room.bytes.size <= 4 * size and room.back.size >= back]
            if fitting:
                found = min(fitting, key=lambda room: int(room.bytes.size))
                self._spare = [room for room in self._spare if room is not found]
                return found
        for spared in (True, False):
            try:
                return _made(size, back)
            except Exception as error:  # numba's has no class of its own
                if "MEMORY" not in str(error).upper():
                    raise
                if not spared:
                    raise InvalidParameter(
                        f"the device has no {size / 1e9:.2f} GB of memory left; see who else uses it, or use "
                        "device='cpu'."
                    ) from error
                with self._changed:
                    self._spare.clear()
        raise AssertionError


def _made(size: int, back: int) -> Buffer:
    cuda = device()
    whole = cuda.device_array(size, np.uint8)
    return Buffer(cuda.stream(), whole, tuple(whole.view(kind) for kind in VIEWS), cuda.pinned_array(back, np.uint8))


def _rounded(number: int) -> int:
    return 1 << max(number - 1, SMALLEST - 1).bit_length()


ROOMS = BufferPool()
"""Those of the one device that is used."""
