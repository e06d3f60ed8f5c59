"""UCB whose means are corrected for feedback that is late depending on the reward."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from belated.policies import Arm, ConfidencePolicy, IndexPolicy, State, label_with, policy
from belated.policies._base import delay_record
from belated.policies._base.imputed_index import (
    correction_of,
    count_feedback,
    count_pull,
    count_retraction,
    list_after_feedback,
    list_after_retraction,
    list_if_due,
    mean_and_limit,
    refresh_due,
)
from belated.policies._base.index import LEADER, set_score
from belated.policies._base.kl_bound import kl_upper
from belated.validation import Domain


@policy
class ImputedUCB(IndexPolicy, ConfidencePolicy):
    """UCB for every kind of delay: it counts what is still to be expected of pending pulls, and corrects means where
    delays turn out to depend on rewards.

    Each arm once in index order, then the arm with the largest q such that x kl(mean, q) <= 4c, ties to the lowest
    index; kl is the relative entropy of two Bernoulli laws. From the delays of an arm's feedback and the ages of its
    pending pulls come the Kaplan-Meier estimate of its delays and the Aalen-Johansen estimate of its mean, both in bins
    of half an octave. With m pulls, n feedbacks and their sum S:

    - mean: p = (S + 1/2)/(n + 1) plus the difference d between the Aalen-Johansen mean and S/n, shrunk to
      d max(0, 1 - 4 V/d^2). V is the variance of d if delays do not depend on rewards (Hausman's test): then nearly
      nothing is corrected, and if they do, all of it.
    - x = n + what the pending pulls will bring: each counts with the probability that its feedback still comes, by
      Kaplan-Meier, where an arm with few feedbacks is given the benefit of the doubt.
    - A silent arm (n = 0) has x = m, and mean 1/2 + 1/(2 U) with U silent arms: at most one counts as perfect. It is
      doubted when more than 5 feedbacks should have come, if its delays were those of all other arms together. With w
      more, its mean is 1000/(1000 + w) of the average feedback, or of 1/2 if that is less; it is asked again in round t
      if it has at most t^0.6 pulls, so no arm is given up before its first feedback.
    - While all feedback of all arms are successes, but for 0.2 sqrt(N) of N, silence is taken for failure: mean is the
      Aalen-Johansen estimate of P(success), and x = m. Of a silent arm from which w feedbacks should have come it is
      5/(5 + w) of that of all arms together. While all feedback are failures, silence is taken for success, but a
      silent arm is doubted all the same: it may be dead.
    - With ``confidence="anytime"``, 4c is ln(1 + (t/K + 100) / (x h)) in round t; h >= 1 is how many pulls a feedback
      of this arm costs, at most the average over the arms. It needs no horizon. With a number c, as with UCB, an arm
      with feedback that was unlucky at first may be given up for good.

    An index is computed again when the arm's counts have grown by a thirty-second, and from time to time. The bounds in
    a summary are where y kl(mean, q) = 4c, or ln(t/K + 101) with "anytime"; y is n, less where the mean is corrected,
    and m while silence is taken for one kind of feedback. See docs/theory/imputed.md.

    Parameters
    ----------
    confidence
        c; or "anytime", a level that grows with the rounds and needs no horizon; or "theory", ln T with a horizon T.
    patience
        The longest plausible delay in rounds, if it is known: pending pulls count in full until they are as old, and a
        silent arm is doubted only then. Where feedback is lost, do not give more than you know: what is lost counts as
        pending for as long, and a run may keep to a worse arm until then. It has no effect while only successes are
        reported.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], ImputedUCB())
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = label_with("Imputed-UCB", "anytime")
    formula = "argmax q: x kl(corrected mean, q) <= 4c, x = n + feedback still to be expected"
    introduced_here = True
    memory = delay_record.MEMORY
    arena_variants = ({}, {"confidence": "anytime"})
    corrects_mean = True
    supports_replacement = False  # how late feedback was is not known any more when it is replaced

    confidence: Annotated[
        float | Literal["theory", "anytime"] | None, Domain(0, open_low=True, words=("theory", "anytime"))
    ] = 1.0  # type: ignore[assignment]
    patience: Annotated[float | None, Domain(0, open_low=True, optional=True)] = None

    class KernelParams(NamedTuple):
        """The confidence level; the longest plausible delay, 0 if it is not given; 1 for "anytime"."""

        c: float
        growth: float
        patience: float
        anytime: float

    @property
    def anytime(self) -> bool:
        """Whether its level grows with the rounds, without a horizon."""
        return self.confidence == "anytime"

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        level = (1.0, 0.0) if self.anytime else super().kernel_params(arms)
        return (*level, self.patience or 0.0, float(self.anytime))

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count_pull(state, arm, rank, now)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count_feedback(state, arm, reward, pulled_at, now)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        if pulls < 0.0:  # a pending pull is retracted
            count_retraction(state, arm, pulled_at)

    @staticmethod
    def keep_index(policy: Any, state: State, arm: Any, index: Any, now: Any) -> Any:
        set_score(state, arm, index)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        mean, limit = mean_and_limit(policy, arm)
        return 1.0 - kl_upper(1.0 - mean, limit) if arm.observed > 0.0 else 0.0

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        mean, limit = mean_and_limit(policy, arm)
        return kl_upper(mean, limit) if arm.observed > 0.0 else 1.0

    @staticmethod
    def correction(policy: Any, arm: Arm) -> Any:
        return correction_of(arm)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        refresh_due(policy, state, now)
        return state.register[LEADER]

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        list_if_due(state, arm)

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        list_after_feedback(state, arm)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        list_after_retraction(state, arm)
