"""Belated: bandits whose feedback comes late, or never. Simulate it, bound it, run it."""

from belated._version import __version__
from belated.online import ArmSummary, Bandit, Decision
from belated.problem import Problem
from belated.result import Result
from belated.simulate import simulate
from belated.sweep import Sweep, sweep

__all__ = ["ArmSummary", "Bandit", "Decision", "Problem", "Result", "Sweep", "__version__", "simulate", "sweep"]
