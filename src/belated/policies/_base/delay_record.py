"""What a policy keeps of the delays of an arm: a histogram of the delays seen, by reward, and one of the ages of its
pending pulls; and the estimates from both (Kaplan-Meier, Aalen-Johansen).

A feedback that was known in round ``now`` of a pull of round s is ``now - s`` rounds *late*: 1 + its delay. Octave l of
a row of memory holds eight numbers, which share a cache line:

- The sums of the rewards, and of 1 - reward, of the feedback that was 2^l to 2^(l+1) - 1 rounds late, in two bins each,
  parted at 2^(l + 1/2).
- The pending pulls of four blocks of 2^l rounds. A pull of round s is counted at the smallest level l at which its
  block s >> l is one of the last four; as rounds pass, counts move up a level. So a block is a quarter to a half as
  long as its pulls are old, and its rounds follow from its column and the round of the last update.

Nothing is done in a round in which an arm has neither a pull nor feedback."""

from __future__ import annotations

from typing import Any

from belated.kernel.jit import inline
from belated.policies._base.state import State

OCTAVES, BLOCKS = 31, 4
UPDATED, LONGEST = 0, 1
"""Columns of a row: the round of the last update of its ages; the most that its feedback was late."""
OWN = 2
"""The first of the columns that a policy may use itself."""
RECORD = 8
"""The first column of octave 0: BLOCKS counts of ages, then the bins: rewards, low and high; losses, low and high."""
WIDTH = 8
REWARDS, LOSSES = BLOCKS, BLOCKS + 2
MEMORY = RECORD + WIDTH * OCTAVES
HOPE, HALF_DOUBT = 4, 20.0
"""Nothing more is hoped for from a pull that is HOPE times as old as the latest feedback was late. After HALF_DOUBT
feedbacks, half of what Kaplan-Meier says will not come is believed."""


@inline
def octave_of(rounds: Any) -> Any:
    """The largest l with 2^l <= rounds; 0 for less than 1."""
    octave = 0
    for step in (16, 8, 4, 2, 1):
        if rounds >> (octave + step) > 0:
            octave += step
    return octave


@inline
def bin_column(late: Any) -> Any:
    """The column of the rewards of feedback that was this late; its losses are two columns further."""
    octave = octave_of(late)
    high = 1 if octave > 0 and late * late >= 1 << (2 * octave + 1) else 0
    return RECORD + WIDTH * octave + REWARDS + high


@inline
def bin_end(number: Any) -> Any:
    """The first lateness beyond bin ``number`` = 2 octave + half."""
    octave = number >> 1
    if number & 1 == 1 or octave == 0:
        return 2 << octave
    end = int((1 << octave) * 1.4142135623730951)
    return end + 1


@inline
def advance_ages(memory: Any, row: Any, now: Any) -> None:
    """Bring the ages of a row to round ``now``."""
    before = int(memory[row, UPDATED])
    if before == now:
        return
    for level in range(OCTAVES - 1):
        last, present = before >> level, now >> level
        if last == present:
            break
        column = RECORD + WIDTH * level
        for block in range(max(last - BLOCKS + 1, 0), min(last, present - BLOCKS) + 1):
            place = column + (block & (BLOCKS - 1))
            pulls = memory[row, place]
            memory[row, place] = 0.0
            memory[row, column + WIDTH + ((block >> 1) & (BLOCKS - 1))] += pulls
    memory[row, UPDATED] = now


@inline
def count_pending(memory: Any, row: Any, pulled_at: Any, pulls: Any) -> None:
    """Add ``pulls`` pending pulls of round ``pulled_at`` to ages that were advanced."""
    updated = int(memory[row, UPDATED])
    level = max(octave_of(updated - pulled_at) - 1, 0)
    if (pulled_at >> level) <= (updated >> level) - BLOCKS:
        level += 1
    memory[row, RECORD + WIDTH * level + ((pulled_at >> level) & (BLOCKS - 1))] += pulls


@inline
def count_late(memory: Any, row: Any, late: Any, reward: Any) -> None:
    """Add feedback that was this late."""
    column = bin_column(late)
    memory[row, column] += reward
    memory[row, column + LOSSES - REWARDS] += 1.0 - reward
    memory[row, LONGEST] = max(memory[row, LONGEST], float(late))


@inline
def younger_pulls(memory: Any, row: Any, rounds: Any) -> Any:
    """The number of pending pulls whose delay may still be at most ``rounds``, and those of the same blocks that are a
    little older."""
    updated = int(memory[row, UPDATED])
    pulls = 0.0
    for level in range(OCTAVES):
        present = updated >> level
        for part in range(BLOCKS):
            block = present - part
            if block < 0 or updated - ((block + 1) << level) > rounds:
                return pulls
            pulls += memory[row, RECORD + WIDTH * level + (block & (BLOCKS - 1))]
    return pulls


@inline
def estimate(memory: Any, row: Any, observed: Any, pending: Any, waiting: Any, half: Any, middle: Any) -> Any:
    """What became of the pulls of a row, by the time of its latest feedback, and what will become of those that are
    pending in the row ``waiting``, which was advanced to the same round.

    Returns (rewards, losses, left, spread, expected, young, hoped_for): the shares of pulls whose feedback was a reward
    and a loss (Aalen-Johansen), and that without feedback (Kaplan-Meier); the sum of (weight of a feedback)^2; how much
    feedback the waiting pulls should have had by now, how many of them are young enough to be hoped for, and how much
    feedback is. A pull that is pending leaves the estimate at the end of the last bin that it outlived, or, with
    ``half``, counts half in the next one. It is taken to be as old as the youngest pull of its block; with ``middle`` =
    1 as the block's middle, and the last bin ends with the latest feedback."""
    updated = int(memory[row, UPDATED])
    rewards, losses, spread, left = 0.0, 0.0, 0.0, 1.0
    younger, younger_before = 0.0, 0.0  # pending pulls of the row that did not outlive the bin
    later = observed  # feedback beyond the bin
    young, weighed, expected = 0.0, 0.0, 0.0
    level, part, top = 0, 0, octave_of(updated)
    doubt = observed / (observed + HALF_DOUBT)
    longest, number, start = int(memory[row, LONGEST]), 0, 1
    while start <= HOPE * longest:
        end = bin_end(number)
        end = longest + 1 if middle == 1 and start <= longest < end else end
        while level <= top:
            block = (updated >> level) - part
            if block >= 0:
                if updated - ((block + 1) << level) + ((middle << level) >> 1) + 2 >= end:  # it outlived the bin
                    break
                column = RECORD + WIDTH * level + (block & (BLOCKS - 1))
                younger += memory[row, column]
                pulls = memory[waiting, column]
                expected += pulls * (1.0 - left)
                if left > 0.0:
                    young += pulls
                    weighed += pulls / left
            part += 1
            if part == BLOCKS:
                level, part = level + 1, 0
        column = RECORD + WIDTH * (number >> 1) + (number & 1)
        reward, loss = memory[row, column + REWARDS], memory[row, column + LOSSES]
        came = reward + loss
        if came > 0.0:
            later -= came
            at_risk = came + max(later + (pending - younger), 0.0)
            if half:
                at_risk += 0.5 * (younger - younger_before)
            weight = left / at_risk
            rewards += weight * reward
            losses += weight * loss
            spread += weight * weight * came
            left *= max(1.0 - came / at_risk, 0.0)
        younger_before = younger
        number, start = number + 1, bin_end(number)
    while level <= top:  # blocks that outlived all bins
        block = (updated >> level) - part
        if block >= 0:
            pulls = memory[waiting, RECORD + WIDTH * level + (block & (BLOCKS - 1))]
            expected += pulls * (1.0 - left)
        part += 1
        if part == BLOCKS:
            level, part = level + 1, 0
    return rewards, losses, left, spread, expected, young, young - doubt * left * weighed


@inline
def pool(state: State, row: Any, now: Any) -> Any:
    """Sum up the records of all arms with feedback in ``row``; (feedback, pending pulls) of these arms."""
    memory = state.memory
    observed, pending, longest = 0.0, 0.0, 0.0
    columns = RECORD + WIDTH * (octave_of(now) + 1)
    for column in range(RECORD, columns):
        memory[row, column] = 0.0
    for arm in range(state.arms):
        if state.observed[arm] > 0.0:
            advance_ages(memory, arm, now)
            observed += state.observed[arm]
            pending += state.pulls[arm] - state.observed[arm]
            longest = max(longest, memory[arm, LONGEST])
            for column in range(RECORD, columns):
                memory[row, column] += memory[arm, column]
    memory[row, UPDATED], memory[row, LONGEST] = now, longest
    return observed, pending
