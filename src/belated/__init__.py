"""Belated: bandits with delayed or missing feedback. Simulate, bound and run them.

Names are imported on first use (PEP 562): ``import belated`` loads neither numba nor scipy, and a client never does."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from belated._version import __version__

if TYPE_CHECKING:
    from belated.client import AsyncClient, Client
    from belated.live.bandit import Bandit
    from belated.live.types import ArmSummary, Decision
    from belated.problem import Problem
    from belated.simulation.result import Result
    from belated.simulation.simulate import simulate
    from belated.studies.sweep import Sweep, sweep

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

_MODULES = {
    "ArmSummary": "live.types",
    "AsyncClient": "client",
    "Bandit": "live.bandit",
    "Client": "client",
    "Decision": "live.types",
    "Problem": "problem",
    "Result": "simulation.result",
    "Sweep": "studies.sweep",
    "simulate": "simulation.simulate",
    "sweep": "studies.sweep",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"belated.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
