"""The arena: every policy meets every kind of delay, on named scenarios with paired runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from inspect import isabstract

import numpy as np

from belated.errors import ArenaInterrupted, ConfigurationError, InvalidParameter
from belated.formatting import unique_labels
from belated.policies import POLICIES, Policy
from belated.policies._base.policy import parameter_text
from belated.specs.tables import suggest
from belated.studies.arena.scenarios import Scenario, scenarios
from belated.studies.arena.scores import Scores
from belated.studies.arena.still_losing import checkpoints, still_losing
from belated.studies.runner import RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.studies.study import Cell, Study
from belated.validation import MAX_HORIZON, check_integer, fields_of

__all__ = ["Scenario", "Scores", "contestants", "labels_of", "play", "scenarios"]

FIRST_RUNS = 120
"""Runs of a scenario at first."""
SCENARIOS_ON_DEVICE = 32
"""Scenarios that a device plays at a time."""
PRECISION = 0.08
"""The standard error of a ratio, relative to the ratio, that is small enough."""


# ---- contestants: every registered policy, and a user's own ----


def contestants(names: Sequence[str] = (), own: Sequence[str] = ()) -> list[Policy]:
    """The policies of these names or labels, all if there are none, and the user's own classes, each given as
    ``package.module:MyPolicy``; with their default parameters, or those of their ``arena_variants``.

    >>> [policy.describe() for policy in contestants(["UCB", "Prefix-UCB"])]
    ['UCB', 'Prefix-UCB', 'Prefix-UCB(spread)']
    """
    registered = [policy for name in POLICIES for policy in variants(name, POLICIES[name])]
    chosen = [policy for name in names for policy in _named(name, registered)] if names else registered
    chosen += [policy for name in own for policy in variants(name, _own_class(name))]
    return list(dict.fromkeys(chosen))


def labels_of(policies: Sequence[Policy]) -> tuple[str, ...]:
    """A unique label for each policy: where classes or instances share one, with the parameters in which they differ,
    the name of a user's own class, and finally a number.

    >>> labels_of(contestants(["UCB", "PrefixUCB"]))
    ('UCB', 'Prefix-UCB', 'Prefix-UCB spread')
    """
    return tuple(unique_labels([_label(policy, policies) for policy in policies]))


def _label(policy: Policy, policies: Sequence[Policy]) -> str:
    cls = type(policy)
    namesakes = [other for other in policies if type(other).label == cls.label]
    parts = [cls.label]
    always = _variant_words(policy)
    if any(type(other) is not cls for other in namesakes) and ":" in POLICIES.name_of(cls):
        parts.append(f"({cls.__name__})")
    same_class = [other for other in namesakes if type(other) is cls]
    for field in fields(policy):
        value = getattr(policy, field.name)
        others = [
            getattr(other, field.name)
            for other in same_class
            if getattr(other, field.name) not in _variant_words(other)
        ]
        if value in always:
            parts.append(value)
        elif (
            value is not None
            and value is not False
            and (field.name in always or any(other != value for other in others))
        ):
            parts.append(parameter_text(field.name, value))
    return " ".join(parts)


def _variant_words(policy: Policy) -> list[str]:
    """The parameters, or their values, that a policy's own label names."""
    return policy.label.removeprefix(type(policy).label).split()


def variants(name: str, cls: type[Policy]) -> Iterator[Policy]:
    """The forms in which a class enters: those that it declares itself (and does not inherit)."""
    parameters = {parameter.name: parameter for parameter in fields_of(cls)}
    for values in cls.__dict__.get("arena_variants", ({},)):
        missing = [key for key, parameter in parameters.items() if parameter.required and key not in values]
        if missing:
            raise ConfigurationError(
                f"policy is {name!r}, which needs {', '.join(missing)}; give a class whose parameters all have "
                "defaults, or declare its arena_variants."
            )
        yield cls(**values)


def _named(name: str, registered: Sequence[Policy]) -> list[Policy]:
    labelled = zip(registered, labels_of(registered), strict=True)
    matching = [policy for policy, label in labelled if name in (type(policy).__name__, type(policy).label, label)]
    if not matching:
        classes = list(dict.fromkeys(type(policy).__name__ for policy in registered))
        raise ConfigurationError(
            f"policies is {name!r}, which is not a policy.{suggest(name, classes)} There are {', '.join(classes)}; "
            "give your own as --policy package.module:MyPolicy."
        )
    return matching


def _own_class(name: str) -> type[Policy]:
    cls = POLICIES[name]
    if not issubclass(cls, Policy):
        raise ConfigurationError(f"policy is {name!r}, which is not a policy; give a class decorated with @policy.")
    if isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise ConfigurationError(
            f"policy is {name!r}, which has no {missing}; add what is missing, as docs/howto/add-a-policy.md says."
        )
    return cls


# ---- playing ----


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
    """Play every policy on every scenario; within a scenario all meet the same rewards and delays, run by run. The arms
    are shuffled in each run, so that no policy gains from their order.

    ``runs`` is the number of runs of each scenario. Without it each policy plays until the standard error of its ratio
    to the best is at most 8 % of the ratio, or it has ``scenario.max_runs``. ``watch`` is called on the way,
    with a device from several threads, one after the other.

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
            raise InvalidParameter(f"policies[{number}] is {policy!r}; give a policy, such as UCB().")
    if runs is not None:
        check_integer("runs", runs, 2)
    labels = labels_of(policies)
    scores: dict[Scenario, Scores] = {}
    runner = StudyRunner(seed=seed, workers=workers, device=device, watch=watch, max_horizon_on_device=MAX_HORIZON)

    def play_one(scenario: Scenario) -> Scores:
        study = study_of(scenario, policies, labels, runs)
        return runner.run(study, _until_precise(scenario, study))

    ordered = scenarios if device == "cpu" else sorted(scenarios, key=lambda scenario: -scenario.horizon)
    try:
        with runner:
            runner.run_all(play_one, ordered, scores.__setitem__, on_device=SCENARIOS_ON_DEVICE)
    except KeyboardInterrupt:
        finished = [scores[scenario] for scenario in scenarios if scenario in scores]
        message = f"interrupted after {len(finished)} of {len(scenarios)} scenarios."
        raise ArenaInterrupted(message, Scores.joined(finished) if finished else None) from None
    return Scores.joined([scores[scenario] for scenario in scenarios])


def study_of(scenario: Scenario, policies: Sequence[Policy], labels: Sequence[str], runs: int | None) -> Study:
    """A scenario as a study: of that many runs, or of as many as it needs."""
    cell = Cell({}, scenario.problem, tuple(policies), scenario.horizon)
    least, most = runs or min(FIRST_RUNS, scenario.max_runs), runs or scenario.max_runs
    rounds = checkpoints(scenario.horizon)
    return Study(scenario.name, scenario.reason, (), tuple(labels), (cell,), least, most, rounds, shuffle=True)


def _until_precise(scenario: Scenario, study: Study) -> StoppingRule[Scores]:
    """Add runs to the policies whose ratio is not known to the precision, and to the best, by which they are divided;
    until all are known, or there are no more runs.

    Runs come in batches, in the same order for all policies, so that their first runs are paired."""
    problem, policies = study.cells[0].problem, len(study.labels)
    final, losing = [np.zeros(0)] * policies, [np.zeros(0, np.bool_)] * policies
    totals = [0, study.runs]  # runs up to the end of each batch
    players, batch = list(range(policies)), 0
    while True:
        earlier = totals[batch]
        results = yield RunBatch([0], totals[batch + 1] - earlier, batch, earlier, players)
        still = still_losing(problem, results[0])
        for row, number in enumerate(players):
            final[number] = np.concatenate([final[number], results[0].final[row]])
            losing[number] = np.concatenate([losing[number], still[row]])
        scores = Scores.of(scenario, study.labels, final, losing)
        runs, excess = scores.runs[0], scores.rel_error[0] / PRECISION
        short = np.flatnonzero((excess > 1.0) & (runs < study.max_runs))
        if not short.size:
            return scores
        best = int(scores.regret[0].argmin())
        earlier = int(runs[[*short, best]].min())  # those with the fewest runs first
        players = [number for number in range(policies) if runs[number] == earlier and number in (*short, best)]
        batch = totals.index(earlier)
        if batch + 1 == len(totals):
            total = int(1.1 * earlier * float(excess[short].max()) ** 2) + 1
            totals.append(min(total, 4 * earlier, study.max_runs))
