"""Belated: bandits with delayed or missing feedback. Simulate, bound and run them.

Names are loaded when they are first used: ``import belated`` loads neither numba nor scipy, and a client never does."""

from typing import TYPE_CHECKING

from belated._version import __version__ as __version__
from belated.registry import lazy_exports

if TYPE_CHECKING:
    from belated.client.aio import AsyncClient as AsyncClient
    from belated.client.sync import Client as Client
    from belated.live.bandit import Bandit as Bandit
    from belated.live.types import ArmSummary as ArmSummary
    from belated.live.types import Decision as Decision
    from belated.problem import Problem as Problem
    from belated.simulation.result import Result as Result
    from belated.simulation.simulate import simulate as simulate
    from belated.studies.sweep import Sweep as Sweep
    from belated.studies.sweep import sweep as sweep
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
    __all__ += ["__version__"]
