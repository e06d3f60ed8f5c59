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

from belated.kernel import inner, outlined
from belated.words import BYTE, FULL, length, write

MOST_ARMS = 64
"""An arm and its reward fit into a byte, and 0 is no answer."""
LARGEST_BITS = 16
"""Bits of the longest delay that a wheel of boxes is made for."""
BESIDE = 256
"""How many answers may wait beside the boxes."""

_ONE, _PRESENT = np.uint32(1), np.uint32(2 * MOST_ARMS)


class Boxes(NamedTuple):
    """Answers on their way, and those laid out to be told."""

    longest: Any  # the longest delay of an answer that can matter, or more
    mask: Any  # the number of boxes - 1: the longest delay and the rounds laid out at a time
    box: npt.NDArray[np.uint64]
    beside: npt.NDArray[np.uint32]  # (BESIDE, 2) (due, answer) of those that found a box full, in the order of pulls
    waiting: npt.NDArray[np.int64]  # (1,) how many these are
    told: npt.NDArray[np.uint8]  # the answers of several rounds
    laid: npt.NDArray[np.uint64]  # (rounds,) the boxes they were in
    more: npt.NDArray[np.int64]  # (rounds,) how many answers of each round were beside its box


def suits(arms: int, longest: int, horizon: int) -> bool:
    """Whether so many arms fit into bytes, and delays so long into one wheel."""
    return arms <= MOST_ARMS and min(longest, horizon).bit_length() <= LARGEST_BITS


def allocate(longest: int, horizon: int, rounds: int) -> Boxes:
    """Boxes for delays up to ``longest`` that matter before ``horizon``, of which so many rounds are laid out at a
    time; :func:`clear` makes them ready."""
    size = 1 << (min(longest, horizon) + rounds).bit_length()
    return Boxes(
        longest=np.uint32(size - 1 - rounds),
        mask=np.uint32(size - 1),
        box=np.zeros(size, np.uint64),
        beside=np.zeros((BESIDE, 2), np.uint32),
        waiting=np.zeros(1, np.int64),
        told=np.zeros(8 * (rounds + 1) + BESIDE, np.uint8),
        laid=np.zeros(rounds, np.uint64),
        more=np.zeros(rounds, np.int64),
    )


@inner
def clear(boxes: Boxes) -> None:
    """Nothing in flight."""
    for place in range(boxes.box.shape[0]):
        boxes.box[place] = np.uint64(0)
    boxes.waiting[0] = 0


@inner
def answer_of(arm: Any, reward: Any) -> Any:
    """An arm and its reward, 0 or 1, in one number that is not 0."""
    return _PRESENT | np.uint32(arm << _ONE) | np.uint32(reward)


@inner
def arm_and_reward(answer: Any) -> Any:
    """What an answer says."""
    number = np.uint32(answer)
    return np.uint32((number >> _ONE) & np.uint32(MOST_ARMS - 1)), np.uint32(number & _ONE)


@inner
def put(boxes: Boxes, now: Any, delay: Any, answer: Any) -> Any:
    """The answer of a pull in round ``now`` takes off; False if there is no room for it."""
    delay = np.uint32(delay)
    due = _due(boxes, now, delay)
    place = due & boxes.mask
    before = boxes.box[place]
    if before >> FULL != 0:
        return _put_beside(boxes, due, answer)
    boxes.box[place] = (before << BYTE) | (np.uint64(answer) if delay <= boxes.longest else np.uint64(0))
    return True


@inner
def _due(boxes: Boxes, now: Any, delay: Any) -> Any:
    """The round at whose end an answer is known. One that comes too late to matter is put, as nothing, into the last
    box, which no other answer of an earlier round can be in."""
    return np.uint32(now + (delay if delay < boxes.longest else boxes.longest))


@inner
def take_back(boxes: Boxes, now: Any, delay: Any) -> None:
    """The last answer that took off, that of round ``now``, does not, after all."""
    due = _due(boxes, now, np.uint32(delay))
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


@inner
def lay_out(boxes: Boxes, first: Any, rounds: Any) -> Any:
    """Lay out all answers that are known at the end of round ``first`` and the next ones, so many rounds, and leave
    their boxes empty; how many they are."""
    if boxes.waiting[0] > 0:
        return _lay_out_all(boxes, first, rounds)
    end = np.int64(0)
    step = np.uint32(0)
    while step < rounds:
        end = _lay_out_box(boxes, first, step, end)
        step += _ONE
    return end


@inner
def _lay_out_box(boxes: Boxes, first: Any, step: Any, end: Any) -> Any:
    place = np.uint32(first + step) & boxes.mask
    word = boxes.box[place]
    boxes.box[place] = np.uint64(0)
    boxes.laid[step] = word
    write(boxes.told, end, word)
    return end + length(word)


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


@inner
def until_round_of(boxes: Boxes, place: Any) -> Any:
    """(rounds, answers): of the rounds laid out, those up to the one with the answer at ``place``."""
    step = np.uint32(0)
    end = np.int64(0)
    while end <= place:
        end += length(boxes.laid[step])
        if boxes.waiting[0] > 0:
            end += boxes.more[step]
        step += _ONE
    return step, end


@inner
def put_back(boxes: Boxes, first: Any, step: Any) -> None:
    """Answers of a round that were laid out go back into their box."""
    boxes.box[np.uint32(first + step) & boxes.mask] = boxes.laid[step]


@inner
def forget(boxes: Boxes, until: Any) -> None:
    """The answers of the rounds before ``until`` are told."""
    if boxes.waiting[0] > 0:
        _forget_beside(boxes, until)


@outlined
def _forget_beside(boxes: Boxes, until: Any) -> None:
    kept: Any = 0
    for number in range(boxes.waiting[0]):
        boxes.beside[kept, 0] = boxes.beside[number, 0]
        boxes.beside[kept, 1] = boxes.beside[number, 1]
        kept += np.int64(boxes.beside[number, 0] >= until)
    boxes.waiting[0] = kept
