"""A pool of device memory: lent to launches one after the other, within a limit, and reused."""

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
"""Share of the memory that is free at first that may be lent."""
SMALLEST = 1 << 22
"""Buffers have sizes that are powers of two, from this on, so that they can be reused."""
VIEWS = (np.float64, np.int64, np.uint64, np.int32, np.uint32)
"""The types of number as which the kernel sees the memory, in the order of its arguments."""


class Buffer(NamedTuple):
    """Memory for one launch, with its own stream."""

    stream: Any
    bytes: Any  # of the device
    views: tuple[Any, ...]  # the same as each type of number
    host: npt.NDArray[np.uint8]  # page-locked memory of the host, for copies


class BufferPool:
    """The buffers that are lent, and those that can be lent again."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._spare: list[Buffer] = []
        self._lent = 0
        self._capacity = 0

    @property
    def capacity(self) -> int:
        """Bytes of the device that may be lent at a time."""
        if self._capacity == 0:
            free, _ = device().current_context().get_memory_info()
            self._capacity = int(min(free, 1 << 62) * SHARE)
        return self._capacity

    @contextmanager
    def borrow(self, sizes: Sequence[tuple[int, int]]) -> Iterator[list[Buffer]]:
        """Buffers of at least (bytes of the device, bytes of the host), all of them at once; waits until there is
        enough memory."""
        sizes = [(_rounded(size), _rounded(host_size)) for size, host_size in sizes]
        total = sum(size for size, _ in sizes)
        with self._changed:
            self._changed.wait_for(lambda: self._lent == 0 or self._lent + total <= self.capacity)
            self._lent += total
        buffers: list[Buffer] = []
        try:
            for size, host_size in sizes:
                buffers.append(self._take(size, host_size))
            yield buffers
        finally:
            for buffer in buffers:
                buffer.stream.synchronize()
            with self._changed:
                self._spare += buffers
                self._lent -= total
                self._changed.notify_all()

    def _take(self, size: int, host_size: int) -> Buffer:
        """The smallest spare buffer that is large enough and not far too large, or a new one."""
        with self._changed:
            fitting = [
                buffer
                for buffer in self._spare
                if size <= buffer.bytes.size <= 4 * size and buffer.host.size >= host_size
            ]
            if fitting:
                smallest = min(fitting, key=lambda buffer: int(buffer.bytes.size))
                self._spare = [buffer for buffer in self._spare if buffer is not smallest]
                return smallest
        for can_free in (True, False):
            try:
                return _allocate(size, host_size)
            except Exception as error:  # numba raises no class of its own for this
                if "MEMORY" not in str(error).upper():
                    raise
                if not can_free:
                    raise InvalidParameter(
                        f"the device has no {size / 1e9:.2f} GB of memory left; see who else uses it, or use "
                        "device='cpu'."
                    ) from error
                with self._changed:
                    self._spare.clear()
        raise AssertionError


def _allocate(size: int, host_size: int) -> Buffer:
    cuda = device()
    memory = cuda.device_array(size, np.uint8)
    views = tuple(memory.view(dtype) for dtype in VIEWS)
    return Buffer(cuda.stream(), memory, views, cuda.pinned_array(host_size, np.uint8))


def _rounded(number: int) -> int:
    return 1 << max(number - 1, SMALLEST - 1).bit_length()


BUFFERS = BufferPool()
"""Those of the one device that is used."""
