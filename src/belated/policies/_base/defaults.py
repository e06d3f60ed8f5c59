"""The default policies, and the text that describes them.

They follow the page "Which policy?" (docs/which-policy.md), which is made from the arena's results. Policies are
imported when they are needed, so that a help text can quote from here without loading the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.policies._base.policy import Policy

DEFAULT_POLICY = (
    "Pending-UCB, for delays that do not depend on the reward; if they may, name Prefix-UCB with spread true (see "
    "which-policy in the documentation). With silence it is Prefix-UCB with spread, as failures are then known at the "
    "deadline and successes before."
)
"""The default policy in words, for users of the service."""


def default_policy(silence: bool = False) -> Policy:
    """The policy of an experiment, or a bandit, that names none.

    PendingUCB has the smallest mean ratio to the best policy over all scenarios of the arena. It is for delays that do
    not depend on the reward; if they may, use PrefixUCB(spread=True) (docs/which-policy.md).

    With ``silence``, where no feedback until a deadline counts as a reward, it is PrefixUCB with ``spread``: nothing is
    lost then, and delays depend on the rewards.

    Parameters
    ----------
    silence
        Whether missing feedback counts as a reward after a deadline.

    Examples
    --------
    >>> default_policy().describe()
    'Pending-UCB'
    >>> default_policy(silence=True).describe()
    'Prefix-UCB(spread)'
    """
    from belated.policies import PendingUCB, PrefixUCB

    return PrefixUCB(spread=True) if silence else PendingUCB()


def default_policies() -> list[Policy]:
    """The policies that are compared where a file names none: the usual choices, and what docs/which-policy.md
    recommends instead.

    >>> [policy.describe() for policy in default_policies()]
    ['UCB', 'Thompson', 'Prefix-UCB(spread)', 'Pending-UCB']
    """
    from belated.policies import UCB, ThompsonSampling

    return [UCB(), ThompsonSampling(), default_policy(silence=True), default_policy()]
