"""Why arms were eliminated: the policy's bounds, computed again from the counts just before the decision."""

from __future__ import annotations

from belated.journal.database import Database
from belated.journal.summaries import decisions_numbered
from belated.learner import Learner
from belated.service.clock import shown
from belated.service.dashboard.contents import Elimination
from belated.service.dashboard.tally import Tally
from belated.service.dashboard.words import cut, grouped, told_apart
from belated.service.messages import ExperimentAnswer
from belated.service.spec import make_policy


def explained(database: Database, tally: Tally, experiment: ExperimentAnswer, until: int) -> list[Elimination]:
    """The reasons of the eliminations behind the tally and up to an event; the tally is taken along to the last of
    them."""
    gone = {place: arm.eliminated_at for place, arm in enumerate(experiment.arms) if arm.eliminated_at is not None}
    numbers = sorted({decision - 1 for decision in gone.values()})
    found = []
    for number, seq, at in decisions_numbered(database, tally.experiment, numbers, tally.seq, until):
        tally.advance(database, seq - 1)
        found += _at_once(tally, experiment, gone, number + 1, at)
    return found


def _at_once(
    tally: Tally, experiment: ExperimentAnswer, gone: dict[int, int], decision: int, at: int
) -> list[Elimination]:
    """The arms that a decision eliminated, each with its bound and the one that it fell below."""
    names = [arm.arm for arm in experiment.arms]
    learner = Learner(len(names), make_policy(experiment.policy), experiment.seed)
    for mine, counted in (
        (learner.state.pulls, tally.pulls),
        (learner.state.observed, tally.observed),
        (learner.state.total, tally.total),
    ):
        mine[: len(names)] = counted[: len(names)]
    learner.decisions = decision - 1
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
