"""Policies, and what is needed to write one.

A policy is one file with its formula, its reference and a doctest that plays a game. To write your own::

    from belated.policies import Arm, ConfidencePolicy, IndexPolicy, policy, radius

- ``policy`` is the decorator that registers a class; ``POLICIES`` the registry.
- ``IndexPolicy``, ``EliminationPolicy`` (the loops), ``ConfidencePolicy``, ``PrefixPolicy`` (the bounds) and ``Policy``
  are the base classes; ``label_with`` labels a policy that a parameter makes another one.
- ``Arm`` and ``State`` are what formulas see; ``view(state, arm, now)`` is the one of the other.
- ``radius``, ``observed_mean`` and ``confidence_level`` are for formulas; ``interface`` has the functions that call the
  policy's own methods, such as ``interface.upper(policy, arm)``.
- ``inline`` is the decorator of helper functions; ``log`` and ``exp`` give the same bits on every machine;
  ``word`` and ``to_unit`` draw from the policy's own random stream.
- ``default_policy`` and ``default_policies`` are used where none is named.

Names are loaded when they are first used, so that importing this package does not load the compiler."""

from typing import TYPE_CHECKING

from belated.registry import lazy_exports

if TYPE_CHECKING:
    from belated.kernel.jit import inline as inline
    from belated.kernel.math import exp as exp
    from belated.kernel.math import log as log
    from belated.kernel.rng import to_unit as to_unit
    from belated.kernel.rng import word as word
    from belated.policies._base import interface as interface
    from belated.policies._base.defaults import default_policies as default_policies
    from belated.policies._base.defaults import default_policy as default_policy
    from belated.policies._base.elimination import EliminationPolicy as EliminationPolicy
    from belated.policies._base.index import IndexPolicy as IndexPolicy
    from belated.policies._base.interface import radius as radius
    from belated.policies._base.policy import POLICIES as POLICIES
    from belated.policies._base.policy import ConfidencePolicy as ConfidencePolicy
    from belated.policies._base.policy import Policy as Policy
    from belated.policies._base.policy import confidence_level as confidence_level
    from belated.policies._base.policy import label_with as label_with
    from belated.policies._base.policy import observed_mean as observed_mean
    from belated.policies._base.policy import policy as policy
    from belated.policies._base.prefix import PrefixPolicy as PrefixPolicy
    from belated.policies._base.state import Arm as Arm
    from belated.policies._base.state import State as State
    from belated.policies._base.state import view as view
    from belated.policies.imputed_ucb import ImputedUCB as ImputedUCB
    from belated.policies.optimistic_pessimistic_elimination import (
        OptimisticPessimisticElimination as OptimisticPessimisticElimination,
    )
    from belated.policies.optimistic_ucb import OptimisticUCB as OptimisticUCB
    from belated.policies.patient_bandits import PatientBandits as PatientBandits
    from belated.policies.pending_ucb import PendingUCB as PendingUCB
    from belated.policies.phased_elimination import PhasedElimination as PhasedElimination
    from belated.policies.prefix_elimination import PrefixElimination as PrefixElimination
    from belated.policies.prefix_ucb import PrefixUCB as PrefixUCB
    from belated.policies.safe_imputed_ucb import SafeImputedUCB as SafeImputedUCB
    from belated.policies.successive_elimination import SuccessiveElimination as SuccessiveElimination
    from belated.policies.thompson_sampling import ThompsonSampling as ThompsonSampling
    from belated.policies.ucb import UCB as UCB
    from belated.policies.uniform_choice import UniformChoice as UniformChoice
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
