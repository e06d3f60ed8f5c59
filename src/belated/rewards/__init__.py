"""Reward laws, one per file: distributions on [0, 1], and two for rewards in other units, Scaled and FromScipy.

Names are loaded when they are first used, so that importing this package does not load the compiler."""

from typing import TYPE_CHECKING

from belated.registry import lazy_exports

if TYPE_CHECKING:
    from belated.rewards._base import REWARDS as REWARDS
    from belated.rewards._base import RewardLaw as RewardLaw
    from belated.rewards._base import reward_law as reward_law
    from belated.rewards.bernoulli import Bernoulli as Bernoulli
    from belated.rewards.beta import Beta as Beta
    from belated.rewards.categorical import Categorical as Categorical
    from belated.rewards.constant import Constant as Constant
    from belated.rewards.from_scipy import FromScipy as FromScipy
    from belated.rewards.scaled import Scaled as Scaled
    from belated.rewards.uniform import Uniform as Uniform
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
