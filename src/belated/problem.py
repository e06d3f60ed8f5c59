"""Problems: arms with reward and delay laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays._base import DelayLaw, what_law_is
from belated.errors import InvalidParameter
from belated.formatting import brief, grouped, percentage, plural, shorten
from belated.html_table import cut, html_table, strong
from belated.registry import import_object
from belated.rewards._base import UNIT, RewardLaw, RewardOnScale
from belated.rewards._scipy import describe, is_distribution
from belated.validation import check_integer, check_range

MOST_CLIPPED = 0.01
"""The largest probability with which a reward of an arm may lie outside of the range that is stated."""


class Problem:
    """K arms, each with a reward law and a delay law.

    Policies meet rewards in [0, 1]: those of the problem, mapped through its ``scale``. Means, gaps and regret are in
    the unit of the rewards.

    Parameters
    ----------
    rewards
        A reward law for each arm.
    delays
        One delay law for all arms, or a list with one for each.
    reward_range
        (low, high), the scale. By default it is the smallest interval that holds the rewards of all arms. Unbounded
        laws need it; rewards outside of it are clipped before policies meet them.

    Examples
    --------
    >>> from belated.delays import Pareto
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem(rewards=[Bernoulli(0.4), Bernoulli(0.6)], delays=[Pareto(1.0), Pareto(0.2)])
    >>> problem.arms, problem.best, problem.gaps.round(3).tolist()
    (2, 1, [0.2, 0.0])
    >>> problem.delay_quantile(1, 0.5)
    31
    """

    def __init__(
        self,
        rewards: Sequence[RewardLaw],
        delays: DelayLaw | Sequence[DelayLaw],
        *,
        reward_range: tuple[float, float] | None = None,
    ) -> None:
        if isinstance(rewards, DelayLaw):
            raise InvalidParameter(
                f"Problem: rewards is {rewards!r}, {what_law_is(rewards)}; give a list with a reward law for each arm, "
                "such as [Bernoulli(0.4), Bernoulli(0.6)]."
            )
        if isinstance(rewards, RewardLaw):
            raise InvalidParameter(f"Problem: rewards is one law, {rewards!r}; give a list with one law for each arm.")
        self.rewards: tuple[RewardLaw, ...] = _check_laws("rewards", rewards, RewardLaw, "Bernoulli(0.5)")
        self.scale: tuple[float, float] = _scale_of(self.rewards, reward_range)
        """(low, high): policies meet the reward (r - low) / (high - low)."""
        if isinstance(delays, RewardLaw):
            raise InvalidParameter(
                f"Problem: delays is {delays!r}, {what_law_is(delays)}; give a delay law, such as Fixed(10)."
            )
        if is_distribution(delays):
            raise InvalidParameter(f"Problem: delays is {_needs_from_scipy(delays)}.")
        if isinstance(delays, DelayLaw):
            self.delays: tuple[DelayLaw, ...] = (delays,) * len(self.rewards)
        else:
            self.delays = _check_laws("delays", delays, DelayLaw, "Fixed(10)")
        if len(self.delays) != len(self.rewards):
            raise InvalidParameter(
                f"Problem: {len(self.rewards)} reward laws and {len(self.delays)} delay laws; give one delay law for "
                "all arms or one for each."
            )
        self._marginals = tuple(
            _marginal(arm, delay, reward)
            for arm, (delay, reward) in enumerate(zip(self.delays, self.rewards_on_scale, strict=True))
        )
        if reward_range is not None:
            self._check_clipping()

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return len(self.rewards)

    @cached_property
    def means(self) -> npt.NDArray[np.float64]:
        """The expected reward of each arm, (K,)."""
        return _frozen(np.array([law.mean for law in self.rewards]))

    @cached_property
    def gaps(self) -> npt.NDArray[np.float64]:
        """The best mean minus that of each arm, (K,)."""
        return _frozen(self.means.max() - self.means)

    @cached_property
    def rewards_on_scale(self) -> tuple[RewardLaw, ...]:
        """The laws of the rewards as policies meet them, clipped to the scale; in the unit of the rewards."""
        if self.scale == UNIT and all(law.support == UNIT for law in self.rewards):
            return self.rewards
        return tuple(RewardOnScale(law, *self.scale) for law in self.rewards)

    @cached_property
    def clipped(self) -> npt.NDArray[np.float64]:
        """The probability that a reward of each arm lies outside of the scale, and is clipped, (K,)."""
        laws = self.rewards_on_scale
        return _frozen(np.array([law.clipped if isinstance(law, RewardOnScale) else 0.0 for law in laws]))

    @cached_property
    def bounded(self) -> bool:
        """Whether the scale holds all rewards."""
        low, high = self.scale
        return all(low <= law.support[0] and law.support[1] <= high for law in self.rewards)

    @cached_property
    def best(self) -> int:
        """The arm with the largest mean; the first if several are equal."""
        return int(np.argmax(self.means))

    @property
    def reward_dependent(self) -> bool:
        """Whether some arm's delay depends on its reward."""
        return any(law.depends_on_reward for law in self.delays)

    @property
    def round_dependent(self) -> bool:
        """Whether some arm's delay depends on the round."""
        return any(law.depends_on_round for law in self._marginals)

    @cached_property
    def longest_delay(self) -> float:
        """The longest delay of any feedback that comes; ``math.inf`` if there is none."""
        return max(law.longest for law in set(self._marginals))

    def delay_law(self, arm: int) -> DelayLaw:
        """The marginal law of an arm's delay.

        Parameters
        ----------
        arm
            The number of the arm, from 0 on.
        """
        return self._marginals[self._arm(arm)]

    def delay_quantile(self, arm: int, q: float) -> float:
        """The paper's d_i(q) = min { g : P(D_i <= g) >= q } of the marginal law; ``math.inf`` if q is never reached.

        Parameters
        ----------
        arm
            The number of the arm, from 0 on.
        q
            The level, a number in [0, 1]; 0.5 gives the median.
        """
        return self._one_law(arm).quantile(q)

    def delay_cdf(self, arm: int, rounds: npt.ArrayLike) -> Any:
        """P(D_i <= rounds) of the marginal law; a float for a number, an array for an array.

        Parameters
        ----------
        arm
            The number of the arm, from 0 on.
        rounds
            A number of rounds, or an array of them.
        """
        probability = self._one_law(arm).cdf(rounds)
        return float(probability) if np.ndim(rounds) == 0 else probability

    def sample(
        self, arm: int, n: int, seed: int | None = None, *, round: int = 1
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """(rewards, delays) of ``n`` pulls of an arm; delays are inf for never. Without a seed, other ones each time.

        With a seed they are the arm's first pulls in run 0 of a simulation with this seed. Where delays depend on the
        round, the rewards still are, and all delays are those of one ``round``, 1 unless you say otherwise.

        Parameters
        ----------
        arm
            The number of the arm.
        n
            How many pulls.
        seed
            A whole number >= 0: the same seed gives the same draws.
        round
            The round in which all pulls are taken to happen, for delays that depend on it.
        """
        pairs: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] = import_object(
            "belated.engine.law_samples:sample_problem"
        )(self, arm, n, seed, round)
        return pairs

    def plot(self) -> Any:
        """A figure of all arms: their mean rewards, and how late their feedback comes."""
        return import_object("belated.simulation.law_figures:plot_problem")(self)

    def _check_clipping(self) -> None:
        """Refuse a range that leaves out many rewards, or changes the best arm."""
        if self.bounded:
            return
        low, high = self.scale
        worst = int(np.argmax(self.clipped))
        if self.clipped[worst] > MOST_CLIPPED:
            raise InvalidParameter(
                f"Problem: reward_range is ({low:g}, {high:g}), and {self.clipped[worst]:.2%} of the rewards of arm "
                f"{worst}, {self.rewards[worst]!r}, lie outside; give a range that holds at least 99% of them"
                f"{_such_as(self.rewards)}."
            )
        means = [law.mean for law in self.rewards_on_scale]
        seen = int(np.argmax(means))
        if self.gaps[seen] > 0.0 and means[seen] - means[self.best] > 1e-5 * (high - low):  # as far as it is computed
            raise InvalidParameter(
                f"Problem: with rewards clipped to reward_range, ({low:g}, {high:g}), arm {seen} has the largest mean, "
                f"and arm {self.best} has it in truth: policies would learn the wrong arm. Give a wider range"
                f"{_such_as(self.rewards)}."
            )

    def _one_law(self, arm: int) -> DelayLaw:
        """The marginal law of an arm's delay, the same in all rounds; raises if it is not."""
        law = self.delay_law(arm)
        if law.depends_on_round:
            raise InvalidParameter(
                f"the delay of arm {arm} depends on the round ({shorten(repr(law), 80)}): it has no single "
                f"distribution. Use problem.delay_law({arm}).at(round) for the law of one round."
            )
        return law

    def _arm(self, arm: int) -> int:
        return check_integer("arm", arm, 0, self.arms - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.rewards, self.delays, self.scale

    def __repr__(self) -> str:
        one = len(set(map(id, self.delays))) == 1
        listed = self.delays[0] if one else list(self.delays)
        stated = "" if self.scale == support_of(self.rewards) else f", reward_range={self.scale}"
        text = f"Problem(rewards={list(self.rewards[:8])!r}, delays={listed!r}{stated})"
        if self.arms <= 8 and len(text) <= 240:
            return text
        delays = brief(self.delays[0], 60) if one else f"{len(set(self.delays)):,} delay laws"
        means = f"means from {self.means.min():.4g} to {self.means.max():.4g}"
        return f"<Problem of {plural(self.arms, 'arm')}: {means}, {delays}>"

    def _repr_html_(self) -> str:
        shown, hidden = cut(self.arms)
        rows = []
        for arm in shown:
            law = self.delay_law(arm).at(1)
            median = law.quantile(0.5)
            name = str(arm)
            rows.append(
                [
                    strong(name) if arm == self.best else name,
                    brief(self.rewards[arm]),
                    brief(self.delays[arm]),
                    f"{self.means[arm]:.4g}",
                    f"{self.gaps[arm]:.4g}" if self.gaps[arm] else "0",
                    grouped(median) if math.isfinite(median) else "never",
                    percentage(law.never),
                ]
            )
        columns = ["arm", "rewards", "delays", "mean", "gap", "median delay", "never"]
        note = f"the best arm is {self.best}; delays are in rounds" + (
            ", here over all rewards: they depend on the reward" if self.reward_dependent else ""
        )
        if self.round_dependent:
            note += "; they depend on the round, and are those of round 1"
        title = f"Problem of {plural(self.arms, 'arm')}"
        return html_table(title, columns, rows, note=note, text_columns=3, hidden=hidden)


Family = Callable[[np.random.Generator], Problem]
"""A function that draws the problem of a run."""


def _check_laws(name: str, laws: Any, base: type[Any], example: str) -> tuple[Any, ...]:
    if isinstance(laws, str) or not isinstance(laws, Sequence | np.ndarray) or len(laws) == 0:
        raise InvalidParameter(f"Problem: {name} is {laws!r}; give a list of at least one law, such as [{example}].")
    for arm, law in enumerate(laws):
        if is_distribution(law):
            raise InvalidParameter(f"Problem: {name}[{arm}] is {_needs_from_scipy(law)}.")
        if not isinstance(law, base):
            mistaken = ", " + what_law_is(law) if isinstance(law, RewardLaw | DelayLaw) else ""
            raise InvalidParameter(f"Problem: {name}[{arm}] is {law!r}{mistaken}; give a law, such as {example}.")
    return tuple(laws)


def _needs_from_scipy(distribution: Any) -> str:
    """What is wrong with a distribution of scipy.stats in the place of a law."""
    text = describe(distribution)
    return f"{text}, a distribution of scipy.stats; give FromScipy({text}), from belated.delays or belated.rewards"


def support_of(rewards: Sequence[RewardLaw]) -> tuple[float, float]:
    """The smallest interval that holds the rewards of all laws; its ends may be infinite."""
    supports = {law.support for law in rewards}
    return min(low for low, _ in supports), max(high for _, high in supports)


def _scale_of(rewards: Sequence[RewardLaw], stated: Any) -> tuple[float, float]:
    """The scale of a problem: the range that is stated, or the support of its rewards if that is bounded."""
    if stated is not None:
        return check_range("Problem: reward_range", stated)
    low, high = support_of(rewards)
    if math.isinf(low) or math.isinf(high):
        arm = next(arm for arm, law in enumerate(rewards) if not all(map(math.isfinite, law.support)))
        raise InvalidParameter(
            f"Problem: the rewards of arm {arm}, {rewards[arm]!r}, are unbounded; state the range through which "
            f"policies meet them{_such_as(rewards)}."
        )
    if low == high:
        raise InvalidParameter(
            f"Problem: every reward is {low:g}; state a range that holds it, such as reward_range=({low - 1:g}, "
            f"{high + 1:g})."
        )
    return low, high


def _such_as(rewards: Sequence[RewardLaw]) -> str:
    """A range that holds nearly all rewards, as advice."""
    ends = [law.quantile_range(0.9999) for law in rewards]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    unit = 10.0 ** math.floor(math.log10(high - low) - 1.0) if low < high else 1.0
    low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return f", such as reward_range=({low:g}, {high:g}), which holds 99.99% of them"


def _marginal(arm: int, delay: DelayLaw, reward: RewardLaw) -> DelayLaw:
    try:
        return delay.given(reward)
    except InvalidParameter as error:
        raise InvalidParameter(f"Problem: arm {arm}: {error}") from None


def _frozen(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    values.flags.writeable = False
    return values
