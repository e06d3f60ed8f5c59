"""Twins look alike and have different best arms; their limits are the least that any number of pulls can give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.errors import ConfigurationError, InvalidParameter
from belated.policies import UCB, PendingUCB
from belated.studies.arena import Scenario, scenarios
from belated.studies.arena.scenarios import check_twins, read_scenario
from belated.studies.arena.twins import TwinLimit, mean_ranges, pairs, problem_at, rounds_alike, twin_limit
from failures import Failures

ROWS = [*scenarios(), *scenarios(long=True)]
PAIRS = [(ROWS[first], ROWS[second]) for first, second in pairs(ROWS)]
POSITIONS = (0.0, 0.2, 0.5, 0.9, 1.0)
MEASURED = {"violations", "rossi", "rossi-one-a-day"}
"""Arms as they were measured."""
VARIANTS = {"silent-beside-pareto", "best-loses-or-late"}
"""Of scenarios that have twins."""
NOT_ALIKE = {
    ("pareto-best-heavy", "pareto-rest-heavy"),
    ("lost-of-the-rest", "lost-of-the-rest-mirror"),
    ("violations-best-slow", "violations-best-quick"),
    ("successes-late", "failures-late"),
    ("reverse-bias-2000", "reverse-bias-2000-mirror"),
}
"""Twins that the first feedback tells apart; docs/notes/statistics.md says why."""


def limit_of(first: str, second: str) -> TwinLimit:
    return twin_limit(*scenarios([first]), *scenarios([second]))


# ---- the scenarios ----


def test_every_scenario_whose_arms_have_different_delays_has_a_twin() -> None:
    """Except those whose delays are drawn, so that no arm is meant, and the longest, whose shorter forms have one or
    are variants."""
    found = set()
    for row in ROWS:
        laws = row.spec["delays"]
        if isinstance(laws, list) and any(law != laws[0] for law in laws) and not (row.twin or row.long):
            found.add(row.name)
    assert found == MEASURED | VARIANTS


def test_twins_look_alike_except_those_that_are_listed() -> None:
    found = {(first.name, second.name) for first, second in PAIRS if rounds_alike(first, second) < 10}
    assert found == NOT_ALIKE


def observed(problem: Problem, arm: int, rounds: int) -> list[float]:
    """P(reward 0, delay <= g) and P(reward 1, delay <= g) for g < rounds: a second text, law by law."""
    mean, law = float(problem.means[arm]), problem.delays[arm]
    by_reward: Any = getattr(law, "laws", None)
    laws = {float(key): part for key, part in by_reward.items()} if isinstance(by_reward, dict) else None
    delays = range(0, rounds, max(rounds // 200, 1))
    result = []
    for value, share in ((0.0, 1.0 - mean), (1.0, mean)):
        part = law if laws is None else laws[value]
        result += [share * float(part.cdf(delay)) for delay in [*delays, rounds - 1]]
    return result


def test_twins_look_alike_for_as_long_as_they_say_wherever_numbers_are_drawn() -> None:
    """A number that is drawn may be written the other way round: as a gap in one, as a mean in the other."""
    with Failures() as failures:
        for first, second in PAIRS:
            rounds = rounds_alike(first, second)
            for position in POSITIONS if rounds > 10 else ():
                with failures.case(f"{first.name} at {position}"):
                    one = problem_at(first, position)
                    candidates = [problem_at(second, other) for other in (position, 1.0 - position)]
                    seen = [observed(one, arm, rounds - 1) for arm in range(one.arms)]
                    assert any(
                        np.allclose(seen, [observed(other, arm, rounds - 1) for arm in range(one.arms)], atol=1e-9)
                        for other in candidates
                    )
                    assert one.best not in {other.best for other in candidates}


def test_twins_differ_in_the_round_after() -> None:
    for first, second in PAIRS:
        rounds = rounds_alike(first, second)
        if 10 < rounds < first.horizon:
            one, other = problem_at(first, 0.5), problem_at(second, 0.5)
            seen = [[observed(problem, arm, rounds) for arm in range(one.arms)] for problem in (one, other)]
            assert not np.allclose(*seen, atol=1e-9), first.name


def test_families_look_alike_only_as_long_as_they_do_at_the_ends_of_their_ranges(row: Callable[..., Scenario]) -> None:
    def late(rounds: Any, mean: Any = 0.5, other: Any = 0.4) -> Scenario:
        rewards = [{"law": "Bernoulli", "mean": mean}, {"law": "Bernoulli", "mean": other}]
        return row("late", spec={"rewards": rewards, "delays": [{"law": "Fixed", "rounds": rounds}] * 2})

    drawn = late({"uniform": [10, 50]})
    assert rounds_alike(drawn, late({"uniform": [10, 50]}, mean=0.3)) == 11  # 31 in the middle
    assert rounds_alike(drawn, late(30)) == 11  # the same in the middle
    wide, narrow = ({"uniform": ends} for ends in ([0.3, 0.7], [0.4, 0.6]))
    assert rounds_alike(late(0, wide), late(0, narrow)) == 1  # the same in the middle
    assert rounds_alike(late(0, wide), late(0, wide)) == 200
    gaps = row("gaps", spec={**late(0).spec, "rewards": {"best": 0.7, "gap": {"uniform": [0.0, 0.4]}, "arms": 2}})
    assert rounds_alike(late(0, 0.7, wide), gaps) == 200  # a mean of 0.3 is a gap of 0.4
    assert rounds_alike(late(0, wide, wide), gaps) == 1


def test_known_pairs() -> None:
    assert limit_of("one-never", "one-never-mirror") == TwinLimit(20_000, pytest.approx(0.2), pytest.approx(0.2))
    late = limit_of("best-late-2000", "best-late-2000-mirror")
    assert late == TwinLimit(2001, pytest.approx(0.15), pytest.approx(0.15))  # a delay of 2,000 is seen in round 2,002
    theorem = limit_of("theorem-6-first", "theorem-6-second")
    assert theorem == TwinLimit(2001, pytest.approx(0.1), pytest.approx(0.1))
    assert limit_of("successes-late", "failures-late").regret == 0.0  # the same arm is the best
    assert limit_of("lost-of-the-rest", "lost-of-the-rest-mirror").rounds == 1


def test_choices_are_the_same_as_long_as_twins_look_alike() -> None:
    """Fixed problems: with the same seed the same rewards are drawn, as far as they are seen."""
    first, second = scenarios(["one-never", "one-never-mirror"])
    for policy in (UCB(), PendingUCB()):
        pulls = [
            simulate(row.problem, policy, horizon=2000, runs=2, workers=1, progress=False).pulls
            for row in (first, second)
        ]
        assert np.array_equal(*pulls)


def test_ranges_of_means_are_those_of_what_can_be_drawn() -> None:
    (row,) = scenarios(["best-late-2000"])
    low, high = mean_ranges(row)
    assert low == pytest.approx([0.6] + [0.35] * 9)
    assert high == pytest.approx([0.6] + [0.45] * 9)


# ---- the limits, against all numbers of pulls ----


@pytest.mark.parametrize(
    ("limit", "best"),
    [
        (TwinLimit(1000, 0.2, 0.3), (20.0, 30.0)),
        (TwinLimit(1000, 0.2, 0.3), (5.0, 100.0)),
        (TwinLimit(1000, 0.4, 0.1), (3.0, 3.0)),
        (TwinLimit(1000, 0.2, 0.2), (150.0, 90.0)),  # there is an N at which neither is above its best
        (TwinLimit(1000, 0.2, 0.2), (90.0, 90.0)),
        (TwinLimit(1000, 0.2, 0.2), (500.0, 0.1)),  # one is never above its best
        (TwinLimit(1), (10.0, 20.0)),
        (TwinLimit(1000, 0.1, 0.0), (10.0, 20.0)),
    ],
)
def test_limits_are_the_least_over_all_numbers_of_pulls(limit: TwinLimit, best: tuple[float, float]) -> None:
    pulls = np.linspace(0.0, limit.rounds, 400_001)
    first, second = limit.first_gap * (limit.rounds - pulls), limit.second_gap * pulls
    ratios = np.sqrt(np.maximum(first / best[0], 1.0) * np.maximum(second / best[1], 1.0))
    assert limit.ratio(*best) == pytest.approx(float(ratios.min()), rel=1e-3)
    assert limit.regret == pytest.approx(float(np.maximum(first, second).min()), rel=1e-3)


def test_no_policy_is_below_the_limit() -> None:
    """Whoever always, never or half of the time pulls the arm in question."""
    limit = TwinLimit(1000, 0.2, 0.3)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        regrets = 0.2 * 1000 * (1.0 - share), 0.3 * 1000 * share
        assert max(regrets) >= limit.regret
        for best in ((20.0, 30.0), (1.0, 200.0)):
            ratios = [max(regret / least, 1.0) for regret, least in zip(regrets, best, strict=True)]
            assert math.sqrt(ratios[0] * ratios[1]) >= limit.ratio(*best) - 1e-12


def test_a_limit_does_not_depend_on_which_twin_is_first() -> None:
    for first, second in PAIRS:
        one, other = twin_limit(first, second), twin_limit(second, first)
        assert one.regret == pytest.approx(other.regret)
        assert one.ratio(7.0, 11.0) == pytest.approx(other.ratio(11.0, 7.0))


# ---- mistakes ----


def test_twins_that_do_not_fit_are_refused(row: Callable[..., Scenario]) -> None:
    one, two, three = row("one", twin="two"), row("two", twin="one"), row("three")
    check_twins([one, two, three])
    wide = {**two.spec, "rewards": {"law": "Bernoulli", "mean": 0.5, "repeat": 4}}
    for others, message in (
        ([three], "one.twin is 'two', which is not another scenario"),
        ([replace(two, twin="three"), three], "one.twin is 'two', whose twin is 'three'; give two the twin 'one'"),
        ([replace(two, horizon=300)], "one and its twin two have 200 and 300 rounds, 3 and 3 arms"),
        ([replace(two, spec=wide)], "one and its twin two have 200 and 200 rounds, 3 and 4 arms"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            check_twins([one, *others])
        assert message in str(caught.value)
    with pytest.raises(ConfigurationError, match="which is not another scenario"):
        check_twins([row("one", twin="one")])


def test_graded_rewards_have_no_limit() -> None:
    spec = {"rewards": [{"law": "Beta", "a": 1, "b": 2}] * 2, "delays": {"law": "Fixed", "rounds": 3}}
    graded = read_scenario("graded", {"reason": "A test.", "horizon": 10, "problem": spec})
    with pytest.raises(InvalidParameter, match="twins need rewards of few values"):
        rounds_alike(graded, graded)
