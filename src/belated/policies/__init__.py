"""Policies: one a file, each with its formula, its reference and a doctest that plays a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belated.policies._base.policy import POLICIES
from belated.registry import load_plugins

if TYPE_CHECKING:
    from belated.policies.optimistic_pessimistic_elimination import (
        OptimisticPessimisticElimination as OptimisticPessimisticElimination,
    )
    from belated.policies.optimistic_ucb import OptimisticUCB as OptimisticUCB
    from belated.policies.patient_bandits import PatientBandits as PatientBandits
    from belated.policies.pending_ucb import PendingUCB as PendingUCB
    from belated.policies.phased_elimination import PhasedElimination as PhasedElimination
    from belated.policies.prefix_elimination import PrefixElimination as PrefixElimination
    from belated.policies.prefix_ucb import PrefixUCB as PrefixUCB
    from belated.policies.successive_elimination import SuccessiveElimination as SuccessiveElimination
    from belated.policies.thompson_sampling import ThompsonSampling as ThompsonSampling
    from belated.policies.ucb import UCB as UCB
    from belated.policies.uniform_choice import UniformChoice as UniformChoice

load_plugins(__name__, list(__path__), POLICIES, globals().__setitem__)

__all__ = sorted(POLICIES)  # noqa: PLE0605
