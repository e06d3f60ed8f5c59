"""Delays that change with the rounds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from belated.delays import DelayLaw, LawRow, LawTableBuilder, Mixture, delay_law
from belated.delays._base import RoundDependentLaw, check_round, what_law_is
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.validation import MAX_HORIZON, check_integer, is_bool

_EXAMPLE = "{1: Fixed(10), 5001: Pareto(0.5)}"


@delay_law
class ByRound(RoundDependentLaw):
    """Another law from given rounds on: ``{first round: law, ...}``, at once or by and by.

    A part may be any delay law: batches, mixtures, a law that depends on the reward, even another ``ByRound``.

    Parameters
    ----------
    laws : mapping of rounds to laws
        The law from each of these rounds on. Round 1 must be among them.
    drift
        Whether the law moves gradually from one to the next. In a round s between two of the rounds, a < s < b, the
        delay is then drawn from the law of b with probability (s - a) / (b - a), else from that of a; after the last
        of the rounds, from the last law.

    Examples
    --------
    >>> from belated.delays import Fixed, Pareto
    >>> outage = ByRound({1: Fixed(10), 5001: Pareto(0.5), 6001: Fixed(10)})
    >>> outage.at(5000), outage.at(5001), outage.at(9999)
    (Fixed(rounds=10), Pareto(alpha=0.5, scale=1.0), Fixed(rounds=10))
    >>> ByRound({1: Fixed(10), 101: Fixed(500)}, drift=True).at(26)
    Mixture(parts=((0.75, Fixed(rounds=10)), (0.25, Fixed(rounds=500))))
    """

    formula = "D ~ laws[last given round <= round]; with drift a mixture of it and the next"

    laws: Mapping[int, DelayLaw]
    drift: bool = False

    def _validate(self) -> None:
        if not isinstance(self.laws, Mapping) or not self.laws:
            raise InvalidParameter(
                f"ByRound: laws is {self.laws!r}; give {{first round: law, ...}}, such as {_EXAMPLE}."
            )
        checked = {
            check_integer("ByRound: a round", first, 1, MAX_HORIZON): _law(first, law)
            for first, law in self.laws.items()
        }
        if 1 not in checked:
            raise InvalidParameter(
                f"ByRound: the laws begin with round {min(checked):,}; give one for round 1 too, such as {_EXAMPLE}."
            )
        if not is_bool(self.drift):
            raise InvalidParameter(f"ByRound: drift is {self.drift!r}; give True or False.")
        object.__setattr__(self, "laws", dict(sorted(checked.items())))
        object.__setattr__(self, "drift", bool(self.drift))

    def __hash__(self) -> int:
        return hash((tuple(self.laws.items()), self.drift))

    @property
    def longest(self) -> float:
        return max(law.longest for law in self.laws.values())

    @property
    def never(self) -> float:
        """P(never), if it is the same in all rounds."""
        shares = {law.never for law in self.laws.values()}
        if len(shares) > 1:
            raise self._needs_round()
        return shares.pop()

    @property
    def depends_on_reward(self) -> bool:
        return any(law.depends_on_reward for law in self.laws.values())

    def given(self, reward: RewardLaw) -> DelayLaw:
        if not self.depends_on_reward:
            return self
        return ByRound({first: law.given(reward) for first, law in self.laws.items()}, self.drift)

    def at(self, now: int) -> DelayLaw:
        rounds = list(self.laws)
        number = bisect_right(rounds, check_round(now)) - 1
        first = rounds[number]
        law = self.laws[first].at(now)
        if not self.drift or now == first or number == len(rounds) - 1:
            return law
        end = rounds[number + 1]
        share = (end - now) / (end - first)
        return Mixture([(share, law), (1.0 - share, self.laws[end].at(now))])

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.by_round(self.laws, self.drift, reward)


def _law(first: Any, law: Any) -> DelayLaw:
    if not isinstance(law, DelayLaw):
        mistaken = f", {what_law_is(law)}" if isinstance(law, RewardLaw) else ""
        raise InvalidParameter(
            f"ByRound: the law from round {first!r} on is {law!r}{mistaken}; give a delay law, such as Fixed(10)."
        )
    return law
