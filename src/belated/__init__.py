"""Belated: bandits whose feedback comes late, or never. Simulate it, bound it, run it."""

from typing import TYPE_CHECKING, Any

from belated._version import __version__
from belated.live.bandit import ArmSummary, Bandit, Decision
from belated.problem import Problem
from belated.simulation.result import Result
from belated.simulation.simulate import simulate
from belated.studies.sweep import Sweep, sweep

if TYPE_CHECKING:
    from belated.client import AsyncClient as AsyncClient
    from belated.client import Client as Client

__all__ = [
    "ArmSummary",
    "AsyncClient",
    "Bandit",
    "Client",
    "Decision",
    "Problem",
    "Result",
    "Sweep",
    "__version__",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """The clients, when somebody asks for one."""
    if name in ("AsyncClient", "Client"):
        from belated import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
