"""Phased Successive Elimination: the paper's Algorithm 3."""

from __future__ import annotations

from typing import Any

from belated.kernel.math import power_of_two
from belated.policies import Arm, ConfidencePolicy, EliminationPolicy, confidence_level, policy
from belated.problem import Problem
from belated.theory import Bound, phased_elimination


@policy
class PhasedElimination(EliminationPolicy, ConfidencePolicy):
    """Successive elimination that waits in each phase l = 1, 2, ... until every active arm has 16 c 4^l feedbacks.

    In a phase, sweep over the arms that still lack feedback; after each sweep drop those with n >= 16 c 4^l; when none
    is left, eliminate as SE does, by the bounds S/n ± sqrt(2c/n), and begin the next phase. Its regret does not depend
    on the best arm's delay (Theorem 3): while feedback of the best arm is scarce, it is the only one pulled.

    Lancewicki, Segal, Koren, Mansour (2021), Algorithm 3.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PhasedElimination(confidence=0.1))
    >>> for _ in range(40):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 1.0 if decision.arm == "good" else 0.0)
    >>> [(arm.arm, arm.active, arm.eliminated_at) for arm in bandit.summary()]
    [('bad', False, 15), ('good', True, None)]
    """

    label = "PSE"
    formula = "SE in phases l = 1, 2, ...: sweep the arms with n < 16c 4^l, eliminate when none is left"

    @staticmethod
    def phase_done(policy: Any, arm: Arm, phase: Any) -> Any:
        c = confidence_level(policy, max(arm.observed, 1.0))
        return arm.observed >= 16.0 * c * power_of_two(2 * min(phase, 500))

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        applies = self.uses_theory(horizon) and not problem.reward_dependent
        return phased_elimination(problem, horizon) if applies else None
