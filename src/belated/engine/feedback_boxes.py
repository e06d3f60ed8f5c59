"""Feedback in flight where rewards are 0 or 1 and arms are few: the answers of a round lie in one word.

A wheel of *boxes*, one for each due round of the near future. A box is a word of up to eight bytes, a byte an answer;
the youngest is the lowest. So an answer is put in by one shift, taken back by another, and all answers of several
rounds are laid out one behind the other without a question that the processor could guess wrong. The rare ninth answer
of a round waits in a list beside the boxes. Answers of a round are not told in the order of their pulls: sums of whole
numbers are the same in any order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.packed_feedback import MOST_ARMS, byte_of, due_of
from belated.kernel.jit import inline, outlined
from belated.kernel.packed_bytes import BYTE, FULL, length, write

LARGEST_BITS = 16
"""Bits of the longest delay that a wheel of boxes is made for."""
BESIDE = 256
"""How many answers may wait beside the boxes."""

_ONE = np.uint32(1)


class Boxes(NamedTuple):
    """Answers on their way, and those laid out to be told."""

    longest: Any  # the longest delay of an answer that can matter, or more; what comes later is put, as nothing, into
    # the box of that delay, which no other answer of an earlier round can be in
    mask: Any  # the number of boxes - 1: the longest delay and the rounds laid out at a time
    box: npt.NDArray[np.uint64]
    ready: npt.NDArray[np.uint32]  # the answers of pulls to come, each with its delay in one number
    beside: npt.NDArray[np.uint32]  # (BESIDE, 2) (due, answer) of those that found a box full, in the order of pulls
    waiting: npt.NDArray[np.int64]  # (1,) how many these are
    told: npt.NDArray[np.uint8]  # the answers of several rounds
    more: npt.NDArray[np.int64]  # (rounds,) how many answers of each round were beside its box


def suits(arms: int, longest: int, horizon: int) -> bool:
    """Whether so many arms fit into bytes, and delays so long into one wheel."""
    return arms <= MOST_ARMS and min(longest, horizon).bit_length() <= LARGEST_BITS


def allocate(longest: int, horizon: int, rounds: int, pulls: int) -> Boxes:
    """Boxes for delays up to ``longest`` that matter before ``horizon``, of which so many rounds are laid out at a
    time, with room for the answers of so many pulls to come; :func:`clear` makes them ready."""
    size = 1 << (min(longest, horizon) + rounds).bit_length()
    return Boxes(
        longest=np.uint32(size - 1 - rounds),
        mask=np.uint32(size - 1),
        box=np.zeros(size, np.uint64),
        ready=np.zeros(pulls, np.uint32),
        beside=np.zeros((BESIDE, 2), np.uint32),
        waiting=np.zeros(1, np.int64),
        told=np.zeros(8 * (rounds + 1) + BESIDE, np.uint8),
        more=np.zeros(rounds, np.int64),
    )


@inline
def clear(boxes: Boxes) -> None:
    """Nothing in flight."""
    for place in range(boxes.box.shape[0]):
        boxes.box[place] = np.uint64(0)
    boxes.waiting[0] = 0


@inline
def put(boxes: Boxes, now: Any, ready: Any) -> Any:
    """The answer of a pull in round ``now``, with its delay, takes off; False if there is no room for it."""
    due = due_of(ready, now)
    place = due & boxes.mask
    before = boxes.box[place]
    if before >> FULL != 0:
        return _put_beside(boxes, due, byte_of(ready))
    boxes.box[place] = (before << BYTE) | np.uint64(byte_of(ready))
    return True


@inline
def take_back(boxes: Boxes, now: Any, ready: Any) -> None:
    """The last answer that took off, that of round ``now``, does not, after all."""
    due = due_of(ready, now)
    waiting = boxes.waiting[0]
    if waiting > 0 and boxes.beside[waiting - 1, 0] == due:
        boxes.waiting[0] = waiting - 1
    else:
        boxes.box[due & boxes.mask] >>= BYTE


@outlined
def _put_beside(boxes: Boxes, due: Any, answer: Any) -> Any:
    waiting = boxes.waiting[0]
    if waiting == boxes.beside.shape[0]:
        return False
    boxes.beside[waiting, 0] = due
    boxes.beside[waiting, 1] = answer
    boxes.waiting[0] = waiting + 1
    return True


@inline
def lay_out(boxes: Boxes, first: Any, rounds: Any) -> Any:
    """Lay out all answers that are known at the end of round ``first`` and the next ones, so many rounds; how many
    they are."""
    if boxes.waiting[0] > 0:
        return _lay_out_all(boxes, first, rounds)
    end = np.int64(0)
    step = np.uint32(0)
    while step < rounds:
        end = _lay_out_box(boxes, first, step, end)
        step += _ONE
    return end


@inline
def _lay_out_box(boxes: Boxes, first: Any, step: Any, end: Any) -> Any:
    word = boxes.box[_place(boxes, first, step)]
    write(boxes.told, end, word)
    return end + length(word)


@inline
def _place(boxes: Boxes, first: Any, step: Any) -> Any:
    """Where the box of a round is, so many after ``first``."""
    return np.uint32(first + step) & boxes.mask


@outlined
def _lay_out_all(boxes: Boxes, first: Any, rounds: Any) -> Any:
    """``lay_out`` where answers wait beside the boxes."""
    end = np.int64(0)
    step = np.uint32(0)
    while step < rounds:
        end = _lay_out_box(boxes, first, step, end)
        boxes.more[step] = 0
        for number in range(boxes.waiting[0]):
            if boxes.beside[number, 0] == np.uint32(first + step):
                boxes.told[end] = boxes.beside[number, 1]
                boxes.more[step] += 1
                end += 1
        step += _ONE
    return end


@inline
def until_round_of(boxes: Boxes, first: Any, place: Any) -> Any:
    """(rounds, answers): of the rounds laid out, from ``first`` on, those up to the one with the answer at
    ``place``."""
    step = np.uint32(0)
    end = np.int64(0)
    while end <= place:
        end += length(boxes.box[_place(boxes, first, step)])
        if boxes.waiting[0] > 0:
            end += boxes.more[step]
        step += _ONE
    return step, end


@inline
def forget(boxes: Boxes, first: Any, rounds: Any) -> None:
    """The answers of round ``first`` and the next ones, so many rounds, are told."""
    place = _place(boxes, first, np.uint32(0))
    end = np.uint32(place + rounds)
    if end <= boxes.mask:  # side by side: with the mask in this loop too, the compiler would scatter, which is slow
        while place < end:
            boxes.box[place] = np.uint64(0)
            place += _ONE
    else:
        step = np.uint32(0)
        while step < rounds:
            boxes.box[_place(boxes, first, step)] = np.uint64(0)
            step += _ONE
    if boxes.waiting[0] > 0:
        _forget_beside(boxes, np.uint32(first + rounds))


@outlined
def _forget_beside(boxes: Boxes, until: Any) -> None:
    kept: Any = 0
    for number in range(boxes.waiting[0]):
        boxes.beside[kept, 0] = boxes.beside[number, 0]
        boxes.beside[kept, 1] = boxes.beside[number, 1]
        kept += np.int64(boxes.beside[number, 0] >= until)
    boxes.waiting[0] = kept
