"""What is used where nobody says what: the one place of all defaults that choose a policy.

They follow the page "Which policy?" (docs/which-policy.md), which is made from the arena's results."""

from __future__ import annotations

from belated.forms.base import Policy
from belated.policies import UCB, PendingUCB, PrefixUCB, ThompsonSampling

CONFIDENCE = 1.0
"""c of all of them, as in the paper's experiments."""


def usual_policy() -> Policy:
    """The policy of an experiment, and of a bandit, for which none is given.

    It follows docs/which-policy.md: where nothing is known of the delays, they may depend on the answers, which only
    prefix brackets stand. Where answers are lost for good and delays do not depend on them, PendingUCB is better.

    >>> usual_policy().describe()
    'Prefix-UCB(confidence=1, spread)'
    """
    return PrefixUCB(confidence=CONFIDENCE, spread=True)


def usual_policies() -> list[Policy]:
    """The policies that a file compares which names none: what most people use, and what docs/which-policy.md advises
    in its place.

    >>> [policy.describe() for policy in usual_policies()]
    ['UCB(confidence=1)', 'Thompson', 'Prefix-UCB(confidence=1, spread)', 'Pending-UCB(confidence=1)']
    """
    return [UCB(confidence=CONFIDENCE), ThompsonSampling(), usual_policy(), PendingUCB(confidence=CONFIDENCE)]
