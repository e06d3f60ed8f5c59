"""The bounds that a plot of a result draws, and a warning about the policies that have none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from belated.errors import BelatedWarning, InvalidParameter
from belated.policies import ConfidencePolicy, Policy
from belated.problem import Problem
from belated.theory import bound_of

if TYPE_CHECKING:
    from belated.simulation.result import Result


def bounds_of_result(result: Result, shown: Iterable[int]) -> dict[str, tuple[float, str]]:
    """By label, the bound at the horizon and its source, of the policies with these numbers. One warning names those
    whose bound cannot be drawn, and says why."""
    problem, policies = result.problem, result.policies
    if not isinstance(problem, Problem):
        raise InvalidParameter(
            "bounds are for one problem, but here each run has its own; plot without bounds, or use belated.theory for "
            "the bounds of a problem."
        )
    bounds: dict[str, tuple[float, str]] = {}
    missing: dict[str, list[str]] = {}
    for number in shown:
        label, policy = result.labels[number], policies[number]
        bound = bound_of(policy, problem, result.horizon)
        if bound is None:
            missing.setdefault(_why_none(policy, problem, result.horizon), []).append(label)
        elif not 0.0 < bound.value < math.inf:
            missing.setdefault(bound.driver, []).append(label)
        else:
            bounds[label] = bound.value, "order" if bound.order else bound.source.split(",")[0]
    if missing:
        reasons = "; ".join(f"{', '.join(labels)} ({reason})" for reason, labels in missing.items())
        BelatedWarning.issue(f"no bound is drawn for {reasons}.")
    return bounds


def _why_none(policy: Policy, problem: Problem, horizon: int) -> str:
    """Why no theorem is about this policy on this problem, and what to do if that helps."""
    if isinstance(policy, ConfidencePolicy):
        in_theory = replace(policy, confidence="theory", horizon=None)
        if bound_of(in_theory, problem, horizon) is not None:
            if policy.confidence == "theory":
                return f"its horizon is {policy.horizon:,}, not {horizon:,}; leave it out"
            return f'the theorems are for confidence="theory", not for {policy.confidence:g}'
    if problem.reward_dependent and type(policy).regret_bound is not Policy.regret_bound:
        return "its theorem assumes delays that do not depend on the reward"
    return "belated has no theorem about it"
