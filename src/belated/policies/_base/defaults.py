"""What is used where nobody says what: the one place of all defaults that choose a policy, and of what is said of them.

They follow the page "Which policy?" (docs/which-policy.md), which is made from the arena's results. Policies are
imported when they are asked for, so that a help text may quote from here without the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.policies._base.policy import Policy

CONFIDENCE = 1.0
"""c of all of them, as in the paper's experiments."""

USUAL = (
    "Pending-UCB with confidence 1, for delays that do not depend on the answer; if they may, name Prefix-UCB, with "
    "confidence 1, spread true (see which-policy in the documentation). With silence it is Prefix-UCB with confidence "
    "1 and spread, as failures are then known at the deadline and successes before."
)
"""The usual policy in words, for all who use the service."""


def default_policy(silence: bool = False) -> Policy:
    """The policy of an experiment, and of a bandit, for which none is given.

    PendingUCB has, over all rows of the arena, the smallest mean ratio to the best policy of the row. It is for
    delays that do not depend on the answer; if they may, name
    PrefixUCB(confidence=1.0, spread=True) (docs/which-policy.md).

    With ``silence``, where no answer means one after a deadline, it is PrefixUCB with its pulls spread: nothing is lost
    then, and delays depend on the answers.

    >>> usual_policy().describe()
    'Pending-UCB(confidence=1)'
    >>> usual_policy(silence=True).describe()
    'Prefix-UCB(confidence=1, spread)'
    """
    from belated.policies import PendingUCB, PrefixUCB

    return PrefixUCB(confidence=CONFIDENCE, spread=True) if silence else PendingUCB(confidence=CONFIDENCE)


def default_policies() -> list[Policy]:
    """The policies that a file compares which names none: what most people use, and what docs/which-policy.md advises
    in its place.

    >>> [policy.describe() for policy in usual_policies()]
    ['UCB(confidence=1)', 'Thompson', 'Prefix-UCB(confidence=1, spread)', 'Pending-UCB(confidence=1)']
    """
    from belated.policies import UCB, ThompsonSampling

    return [UCB(confidence=CONFIDENCE), ThompsonSampling(), default_policy(silence=True), default_policy()]
