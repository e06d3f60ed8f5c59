"""KL-UCB under delayed feedback: the KL upper confidence bound of the feedback that has arrived."""

from __future__ import annotations

from typing import Any

from belated.policies import Arm, ConfidencePolicy, IndexPolicy, confidence_level, log, observed_mean, policy

HALVINGS = 30
"""Of an interval of at most 1, which leave less than 1e-9."""


def cross_entropy(p: Any, q: Any) -> Any:
    """-p ln q - (1 - p) ln(1 - q), for 0 <= p < 1 and 0 < q < 1; kl(p, q) is this less that of p and p."""
    return -(p * log(q) if p > 0.0 else 0.0) - (1.0 - p) * log(1.0 - q)


@policy
class DelayedKLUCB(IndexPolicy, ConfidencePolicy):
    """KL-UCB that waits for nothing: feedback counts when it arrives, pending pulls do not count.

    Each arm once in index order, then the arm with the largest u in [S/n, 1] that has n kl(S/n, u) <= 4c, ties to the
    lowest index; n counts the arm's feedbacks (at least 1), S is their sum. kl(p, u) >= 2 (u - p)^2 makes the index at
    most UCB's, S/n + sqrt(2c/n); it is much smaller where means are near 0 or 1.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], DelayedKLUCB(confidence=1.0))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> bandit.summary()[1].pulls > 90
    True
    """

    label = "Delayed KL-UCB"
    formula = "argmax max { u : n kl(S/n, u) <= 4c }"

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        if arm.observed < 1.0:
            return 1.0
        mean = observed_mean(arm)
        if mean >= 1.0:
            return 1.0
        most = cross_entropy(mean, mean) + 4.0 * confidence_level(policy, arm.observed) / arm.observed
        low, high = mean, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if cross_entropy(mean, middle) > most:
                high = middle
            else:
                low = middle
        return low
