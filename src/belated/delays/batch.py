"""Feedback that comes in batches."""

from __future__ import annotations

from typing import Annotated

from belated.delays import DelayLaw, Fixed, LawRow, LawTableBuilder, delay_law
from belated.delays._base import RoundDependentLaw, check_round
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.validation import Domain, Rounds


@delay_law
class Batch(RoundDependentLaw):
    """Rounds are cut into batches, and all feedback of a batch is known when it is over: nightly loads, weekly reports.

    The last pull of a batch has delay 0, the first one ``size - 1``. Feedback is known from the first round of the next
    batch on. Where some of it is lost, the batch is a part of a mixture: ``Mixture([(0.9, Batch(1000)), (0.1,
    Never())])``.

    Parameters
    ----------
    size
        Rounds of a batch.
    offset
        Rounds of the first batch, if it is shorter than the others: it began before round 1. 0: it is as long.

    Examples
    --------
    >>> night = Batch(1000)
    >>> night.at(1), night.at(999), night.at(1000), night.at(1001)
    (Fixed(rounds=999), Fixed(rounds=1), Fixed(rounds=0), Fixed(rounds=999))
    >>> Batch(1000, offset=300).at(1), Batch(1000, offset=300).at(301)
    (Fixed(rounds=299), Fixed(rounds=999))
    """

    formula = "D = (last round of the batch) - (round); batches end with rounds offset, offset + size, ..."

    size: Annotated[int, Domain(1, 2**53, whole=True)]
    offset: Rounds = 0

    def _validate(self) -> None:
        if self.offset >= self.size:
            raise InvalidParameter(
                f"Batch: offset is {self.offset} and size is {self.size}; give whole numbers 0 <= offset < size."
            )

    @property
    def longest(self) -> float:
        return self.size - 1

    @property
    def never(self) -> float:
        return 0.0

    def at(self, now: int) -> DelayLaw:
        return Fixed((self.offset - check_round(now)) % self.size)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.batch(self.size, self.offset)
