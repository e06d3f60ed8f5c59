"""The default policies, and the text that describes them.

They follow the page "Which policy?" (docs/which-policy.md), which is made from the arena's results. Policies are
imported when they are needed, so that a help text can quote from here without loading the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.policies._base.policy import Policy

DEFAULT_POLICY = (
    "Imputed-UCB with confidence anytime, for every kind of delay (see which-policy in the documentation for the cases "
    "in which to deviate). With silence it is Prefix-UCB with spread, as feedback is then replaced, which Imputed-UCB "
    "cannot."
)
"""The default policy in words, for users of the service."""


def default_policy(silence: bool = False) -> Policy:
    """The policy of an experiment, or a bandit, that names none.

    ImputedUCB(confidence="anytime") has the smallest mean ratio to the best policy over the scenarios of the arena, and
    over those that lose feedback (docs/which-policy.md).

    With ``silence``, where no feedback until a deadline counts as a reward, it is PrefixUCB with ``spread``: what was
    counted at the deadline is replaced by feedback that comes later, which ImputedUCB cannot.

    Parameters
    ----------
    silence
        Whether missing feedback counts as a reward after a deadline.

    Examples
    --------
    >>> default_policy().describe()
    'Imputed-UCB(confidence=anytime)'
    >>> default_policy(silence=True).describe()
    'Prefix-UCB(spread)'
    """
    from belated.policies import ImputedUCB, PrefixUCB

    return PrefixUCB(spread=True) if silence else ImputedUCB(confidence="anytime")


def default_policies() -> list[Policy]:
    """The policies that are compared where a file names none: the usual choices, and what docs/which-policy.md
    recommends instead.

    >>> [policy.describe() for policy in default_policies()]
    ['UCB', 'Thompson', 'Prefix-UCB(spread)', 'Imputed-UCB(confidence=anytime)']
    """
    from belated.policies import UCB, ThompsonSampling

    return [UCB(), ThompsonSampling(), default_policy(silence=True), default_policy()]
