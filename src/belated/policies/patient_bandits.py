"""PatientBandits: the baseline of the paper's Figures 2 and 5.

Each pull lowers the index of its arm, so the leader changes in nearly every round, and the next choice waits for the
index of the arm that was just pulled: it is computed before the pull."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from belated.policies import Arm, IndexPolicy, State, exp, inline, log, policy, radius
from belated.policies._base.index import clear_score, scanned_leader, store_score
from belated.policies._base.policy import ignores_pull_id
from belated.validation import Positive, PositiveProbability

AHEAD = 0
"""Column of an arm's memory: its index after its next pull, if no feedback comes before."""


@inline
def index_at(policy: Any, state: State, arm: Any, m: Any) -> Any:
    """The index of an arm with m pulls and the feedback that it has."""
    return state.total[arm] / m + radius(policy, m)


@inline
def update(policy: Any, state: State, arm: Any) -> None:
    """Compute the index of an arm now and after its next pull."""
    m = max(float(state.pulls[arm]), 1.0)  # the dummy arm has none
    store_score(state, arm, index_at(policy, state, arm, m))
    state.memory[arm, AHEAD] = index_at(policy, state, arm, m + 1.0)


@policy
class PatientBandits(IndexPolicy):
    """UCB that divides by pulls, for delays whose tail is at least as light as a Pareto law's with exponent ``alpha``.

    Each arm once in index order, then the arm with the largest S/m + sqrt(constant L / m) + 2 m^(-min(alpha, 1/2)),
    ties to the lowest index, with L = ln(2 K T^3) for K arms and a horizon T; m counts the arm's pulls, S is the sum of
    its feedback. Missing rewards count as 0, and the last term compensates for it. The printed ``constant`` is 2; with
    1/2 every sentence of the paper about Figures 2 and 5 holds. Without a horizon L = ln(pi^2 K m^2 / (3 delta)): by
    Hoeffding's inequality the second term with constant 1/2 then bounds the error of an arm's mean over m pulls, apart
    from the missing rewards, for all arms and all m at once, with probability 1 - delta.

    Gael, Vernade, Carpentier, Valko (2020), Algorithm 1.

    Parameters
    ----------
    alpha
        The exponent of the delays' tail: P(D > g) falls at least as fast as g^-alpha.
    constant
        The factor of L in the index: 2 as printed, 1/2 for what the paper's figures show.
    delta
        Only without a horizon: the probability that the bound on some arm's error fails at some time is at most
        ``delta``.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PatientBandits(alpha=1.0, horizon=100))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [21, 79]
    """

    label = "PatientBandits"
    formula = "argmax S/m + sqrt(constant ln(2KT^3)/m) + 2 m^-min(alpha, 1/2)"
    arena_variants = ({"alpha": 1.0, "constant": 0.5},)

    memory = 1

    alpha: Positive
    constant: Positive = 2.0
    delta: PositiveProbability = 0.05

    class KernelParams(NamedTuple):
        """constant L = level + growth ln m; the exponent of the last term."""

        level: float
        growth: float
        exponent: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        exponent = min(self.alpha, 0.5)
        if self.horizon is not None:
            return self.constant * (math.log(2.0 * arms) + 3.0 * math.log(self.horizon)), 0.0, exponent
        return self.constant * math.log(math.pi**2 * arms / (3.0 * self.delta)), 2.0 * self.constant, exponent

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        level = policy.level + policy.growth * log(x)
        return math.sqrt(level / x) + 2.0 * exp(-policy.exponent * log(x))

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return scanned_leader(state)

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        if rank == 0:
            update(policy, state, arm)
        else:
            store_score(state, arm, state.memory[arm, AHEAD])
            state.memory[arm, AHEAD] = index_at(policy, state, arm, float(state.pulls[arm]) + 1.0)

    @staticmethod
    @ignores_pull_id
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        update(policy, state, arm)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        pass  # the index after the next pull is computed from the counts

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        if state.pulls[arm] > 0:
            update(policy, state, arm)
        else:
            clear_score(state, arm)
            state.memory[arm, AHEAD] = 0.0

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m - radius(policy, m)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m + radius(policy, m)
