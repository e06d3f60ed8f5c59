"""Delay laws, one per file: distributions on {0, 1, 2, ..., never}.

To write your own::

    from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds

``DelayLaw`` is the base class and ``delay_law`` the decorator that registers a law. ``encode`` gets a
``LawTableBuilder`` and returns a ``LawRow``; ``floor_rounds`` is for distribution functions. Parameters are annotated
with the domains of :mod:`belated.validation`, such as ``Rounds`` and ``Probability``.

Names are loaded when they are first used, so that importing this package does not load the compiler."""

from typing import TYPE_CHECKING

from belated.registry import lazy_exports

if TYPE_CHECKING:
    from belated.delays._base import DELAYS as DELAYS
    from belated.delays._base import DelayLaw as DelayLaw
    from belated.delays._base import delay_law as delay_law
    from belated.delays._base import floor_rounds as floor_rounds
    from belated.delays.batch import Batch as Batch
    from belated.delays.by_reward import ByReward as ByReward
    from belated.delays.by_round import ByRound as ByRound
    from belated.delays.empirical import Empirical as Empirical
    from belated.delays.fixed import Fixed as Fixed
    from belated.delays.from_scipy import FromScipy as FromScipy
    from belated.delays.geometric import Geometric as Geometric
    from belated.delays.log_normal import LogNormal as LogNormal
    from belated.delays.mixture import Mixture as Mixture
    from belated.delays.never import Never as Never
    from belated.delays.packet_loss import PacketLoss as PacketLoss
    from belated.delays.pareto import Pareto as Pareto
    from belated.delays.poisson import Poisson as Poisson
    from belated.delays.uniform import Uniform as Uniform
    from belated.kernel.law_table import LawRow as LawRow
    from belated.kernel.law_table import LawTableBuilder as LawTableBuilder
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
