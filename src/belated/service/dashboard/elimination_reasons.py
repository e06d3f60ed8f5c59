"""Why arms were eliminated: the policy's bounds, computed again from what was known just before the decision."""

from __future__ import annotations

from belated.live.learner import Learner
from belated.policies._base.policy import Policy
from belated.service.api.messages import ExperimentAnswer
from belated.service.core.experiment import Experiment
from belated.service.core.spec import make_policy
from belated.service.core.timestamps import shown
from belated.service.dashboard.counters import Tally
from belated.service.dashboard.formatting import cut, grouped, told_apart
from belated.service.dashboard.schemas import Elimination
from belated.service.storage.database import Database
from belated.service.storage.journal import Journal
from belated.service.storage.summaries import decisions_numbered


def explained(database: Database, tally: Tally, experiment: ExperimentAnswer, until: int) -> list[Elimination]:
    """The reasons of the eliminations behind the tally and up to an event; the tally is taken along to the last of
    them. Of a policy that knows more than counts, its life is lived again up to that event."""
    policy = make_policy(experiment.policy)
    gone = {place: arm.eliminated_at for place, arm in enumerate(experiment.arms) if arm.eliminated_at is not None}
    numbers = sorted({decision - 1 for decision in gone.values()})
    found = []
    for number, seq, at in decisions_numbered(database, tally.experiment, numbers, tally.seq, until):
        tally.advance(database, seq - 1)
        if policy.memory:
            learner = _lived_again(database, tally, seq - 1)
        else:
            learner = _counted(tally, policy, len(experiment.arms), experiment.seed, number)
        found += _at_once(learner, [arm.arm for arm in experiment.arms], gone, at)
    if policy.memory and policy.shape().eliminates and _more(tally, gone, len(experiment.arms)):
        _lived_again(database, tally, until)  # a part at each look: the next reason is not far then
    return found


def _more(tally: Tally, gone: dict[int, int], arms: int) -> bool:
    """Whether there are, or may be, eliminations ahead of the life that is lived again."""
    made = tally.again.learner.decisions if tally.again is not None else 0
    return len(gone) + 1 < arms or any(decision > made for decision in gone.values())


def _lived_again(database: Database, tally: Tally, until: int) -> Learner:
    """The learner after an event, by the events themselves."""
    journal = Journal(database)
    if tally.again is None:
        tally.again = Experiment(journal.experiment_of(tally.experiment))
    if until > tally.again.seq:
        for event in journal.events(tally.experiment, tally.again.seq, until - tally.again.seq):
            tally.again.take_in(event)
    return tally.again.learner


def _counted(tally: Tally, policy: Policy, arms: int, seed: int, decisions: int) -> Learner:
    """A learner that has the tally's counts, which are all that its policy asks for."""
    learner = Learner(arms, policy, seed)
    for mine, counted in (
        (learner.state.pulls, tally.pulls),
        (learner.state.observed, tally.observed),
        (learner.state.total, tally.total),
    ):
        mine[:arms] = counted[:arms]
    learner.decisions = decisions
    return learner


def _at_once(learner: Learner, names: list[str], gone: dict[int, int], at: int) -> list[Elimination]:
    """The arms that the next decision eliminates, each with its bound and the one that it falls below."""
    decision = learner.decisions + 1
    there = [place for place in range(len(names)) if gone.get(place, decision) >= decision]
    bounds = {place: learner.bounds(place) for place in there}
    best = max(there, key=lambda place: bounds[place][0])
    lower = bounds[best][0]
    found = []
    for place in there:
        if gone.get(place) == decision:
            upper = bounds[place][1]
            high, low = told_apart(upper, lower)
            sentence = (
                f"At decision {grouped(decision)} its upper bound, {high}, was below the lower bound of "
                f"{cut(names[best])}, {low}."
            )
            found.append(Elimination(names[place], place, decision, shown(at), upper, names[best], lower, sentence))
    return found
