"""Reward laws: one a file, each a distribution inside [0, 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belated.registry import load_plugins
from belated.rewards._base import REWARDS
from belated.rewards._base import RewardLaw as RewardLaw

if TYPE_CHECKING:
    from belated.rewards.bernoulli import Bernoulli as Bernoulli
    from belated.rewards.beta import Beta as Beta
    from belated.rewards.categorical import Categorical as Categorical
    from belated.rewards.constant import Constant as Constant
    from belated.rewards.uniform import Uniform as Uniform

load_plugins(__name__, list(__path__), REWARDS, globals().__setitem__)

__all__ = [*sorted(REWARDS), "RewardLaw"]  # noqa: PLE0604
