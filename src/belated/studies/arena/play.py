"""Plays scenarios with policies, until each ratio is known well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from belated.errors import ArenaInterrupted, InvalidParameter
from belated.policies import Policy
from belated.studies.arena.contestants import labels_of
from belated.studies.arena.scenarios import Scenario
from belated.studies.arena.scores import Scores, check_regrets, max_rel_error
from belated.studies.runner import RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.validation import check_integer

FIRST_RUNS, MAX_RUNS = 120, 15_360
"""Runs of a scenario at first, and at most."""
SCENARIOS_ON_DEVICE = 32
"""Scenarios that a device plays at a time."""
PRECISION = 0.05
"""The standard error of a ratio, relative to the ratio, that is small enough."""


def play(
    scenarios: Sequence[Scenario],
    policies: Sequence[Policy],
    *,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    watch: Callable[[RunnerStep], None] | None = None,
) -> Scores:
    """Play every policy on every scenario; within a scenario all meet the same rewards and delays, run by run.

    ``runs`` is the number of runs of each scenario. Without it a scenario is played until the standard error of each
    policy's ratio to the best is at most a twentieth of the ratio, or there are 15,360 runs. ``watch`` is called on the
    way, with a device from several threads, one after the other.

    >>> from belated.studies.arena import contestants, scenarios
    >>> scores = play(scenarios(["fixed-500"]), contestants(["UCB", "ThompsonSampling"]), runs=8)
    >>> [round(float(ratio)) for ratio in scores.ratio[0]]
    [8, 1]
    """
    if not scenarios:
        raise InvalidParameter("scenarios is empty; give at least one, such as scenarios(['fixed-*']).")
    if len(policies) < 2:
        raise InvalidParameter(f"policies has {len(policies)}; give at least two, as they are compared.")
    for number, policy in enumerate(policies):
        if not isinstance(policy, Policy):
            raise InvalidParameter(f"policies[{number}] is {policy!r}; give a policy, such as UCB(confidence=1.0).")
    if runs is not None:
        check_integer("runs", runs, 2)
    labels = labels_of(policies)
    scores: dict[Scenario, Scores] = {}
    runner = StudyRunner(seed=seed, workers=workers, device=device, watch=watch)

    def play_one(scenario: Scenario) -> Scores:
        study = scenario.study(policies, labels, runs or FIRST_RUNS, runs or MAX_RUNS)
        return runner.run(study, _until_precise(scenario, labels, study.runs, study.max_runs))

    ordered = scenarios if device == "cpu" else sorted(scenarios, key=lambda scenario: -scenario.horizon)
    try:
        with runner:
            for scenario, result in runner.run_all(play_one, ordered, SCENARIOS_ON_DEVICE):
                scores[scenario] = result  # noqa: PERF403  (an interruption keeps those that are finished)
    except KeyboardInterrupt:
        finished = [scores[scenario] for scenario in scenarios if scenario in scores]
        message = f"interrupted after {len(finished)} of {len(scenarios)} scenarios."
        raise ArenaInterrupted(message, Scores.joined(finished) if finished else None) from None
    return Scores.joined([scores[scenario] for scenario in scenarios])


def _until_precise(scenario: Scenario, labels: Sequence[str], runs: int, max_runs: int) -> StoppingRule[Scores]:
    """Add batches of runs until each ratio is known to the precision, or there are no more runs."""
    results = yield RunBatch([0], runs)
    final = results[0].final
    check_regrets(scenario.name, labels, final)
    number = 1
    while (count := final.shape[1]) < max_runs and (excess := max_rel_error(final) / PRECISION) > 1.0:
        total = min(int(1.1 * count * excess**2) + 1, 4 * count, max_runs)
        results = yield RunBatch([0], total - count, number=number, earlier_runs=count)
        final = np.concatenate([final, results[0].final], axis=1)
        number += 1
    return Scores.of(scenario, labels, final)
