"""The rows that there are: what they say of themselves is what their laws do, and each can be played."""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.engine.environment import Environment
from belated.errors import ConfigurationError
from belated.kernel.rng import family_generator
from belated.policies import UCB, PendingUCB, PrefixUCB
from belated.studies.arena import Scenario, scenarios
from belated.studies.arena.scenarios import FILES, KINDS
from failures import Failures

LONG = scenarios(long=True)
ROWS = scenarios()
ALL = [*ROWS, *LONG]
MODULE = sys.modules["belated.studies.arena.scenarios"]
NEVER = 1.0 - 1e-12
"""A delay that does not come at this level is one that may never come: no law here has so thin a tail otherwise."""
PULLS, RARELY_SEEN = 1000, {"best-loses-99-mirror": 40_000}
"""Pulls that show whether delays depend on rewards; more where hardly any feedback comes."""


def problem(row: Scenario, run: int = 0) -> Problem:
    made = row.problem
    return made if isinstance(made, Problem) else made(family_generator(0, run))


def test_there_are_enough_rows_and_each_has_a_name_and_a_reason() -> None:
    assert len(ROWS) >= 45
    assert max(Counter(row.name for row in ROWS).values()) == 1
    for row in ROWS:
        assert row.reason.endswith("."), row.name
        assert len(row.reason) > 10, row.name
        assert row.horizon >= 20_000, row.name


def test_pages_count_the_scenarios() -> None:
    docs = Path(__file__).parents[3] / "docs"
    held = sum(row.held_out for row in ROWS)
    assert f"on {len(ROWS)} named scenarios" in (docs / "howto" / "arena.md").read_text(encoding="utf-8")
    assert f"{held} of the {len(ROWS)} scenarios" in (docs / "notes" / "statistics.md").read_text(encoding="utf-8")


def test_a_third_is_held_out_of_all_and_of_each_kind() -> None:
    for part in (ROWS, ALL, *([row for row in rows if row.kind == kind] for rows in (ROWS, ALL) for kind in KINDS)):
        held = sum(row.held_out for row in part)
        assert len(part) / 3 <= held <= len(part) / 2


def names_in(file: str) -> list[str]:
    return list(tomllib.loads((files("belated.studies.arena") / "data" / file).read_text(encoding="utf-8")))


@pytest.mark.parametrize(("file", "kind"), list(zip(FILES, KINDS, strict=False)))
def test_the_rows_of_a_file_are_of_its_kind(file: str, kind: str) -> None:
    elsewhere = [*names_in("real.toml"), *names_in("long.toml")]
    assert names_in(file) == [row.name for row in ROWS if row.kind == kind and row.name not in elsewhere]


def test_measured_delays_say_what_a_round_is() -> None:
    real = [row for row in ALL if row.real]
    assert [row.name for row in real] == names_in("real.toml")
    for row in real:
        assert re.search(r"\b[Aa] round is (a|an|six|10) \w+|\bround is a \w+", row.reason), row.name


def test_long_rows_are_long_and_have_few_runs() -> None:
    assert [row.name for row in ALL if row.has_few_runs] == names_in("long.toml")
    assert {row.horizon for row in LONG} == {1_000_000}
    assert {row.horizon for row in ROWS if row.has_few_runs} == {100_000}
    by_name = {row.name: row for row in ROWS}
    for row in LONG:
        short = by_name[row.name.removesuffix("-long")]
        assert short.spec == row.spec


def test_long_rows_are_there_if_asked_for() -> None:
    assert not any(row.long for row in ROWS)
    assert all(row.long for row in LONG)
    assert [row.name for row in scenarios(["best-loses-99*"])] == ["best-loses-99", "best-loses-99-mirror"]
    assert [row.name for row in scenarios(["best-loses-99*"], long=True)] == ["best-loses-99-long"]
    assert [row.name for row in scenarios(["fixed-0", "best-loses-99-long"])] == ["fixed-0", "best-loses-99-long"]
    with pytest.raises(ConfigurationError, match=r"rows is 'fixed-\*', which matches no long scenario\."):
        scenarios(["fixed-*"], long=True)
    with pytest.raises(ConfigurationError, match=r"rows is '\*-long', which matches no scenario\."):
        scenarios(["*-long"])


WANTED = {
    "fixed-*": "Fixed",
    "lost-half": "PacketLoss",
    "lost-of-the-best": "PacketLoss",
    "lost-of-the-rest": "PacketLoss",
    "late-or-lost": "Never",
    "pareto-1": "Pareto",
    "pareto-0.2": "Pareto",
    "pareto-unequal": "Pareto",
    "geometric-*": "Geometric",
    "half-at-once": "Mixture",
    "spread-*": "Uniform",
    "best-late-*": "Fixed",
    "rest-late-*": "Fixed",
    "one-never": "Never",
    "close-gaps": "Fixed",
    "wide-gaps": "Fixed",
    "low-means": "Geometric",
    "bias-*": "ByReward",
    "reverse-bias-*": "ByReward",
    "conversions": "ByReward",
    "conversions-without-deadline": "Never",
    "failures-lost": "PacketLoss",
    "batch-*": "Batch",
    "successes-in-batches": "Batch",
    "drift-*": "drift",
    "outage": "ByRound",
    "theorem-6-first": "ByReward",
    "theorem-6-second": "ByReward",
}
"""What an arena must have, and a law that shows it."""


def test_every_kind_of_trouble_is_there() -> None:
    with Failures() as failures:
        for pattern, law in WANTED.items():
            with failures.case(pattern):
                matching = scenarios([pattern])
                assert matching
                assert all(law in str(row.spec["delays"]) for row in matching)


def test_fixed_delays_and_numbers_of_arms_span_what_they_should() -> None:
    fixed = [problem(row) for row in scenarios(["fixed-*"])]
    assert {0, 5000} <= {one.delay_quantile(0, 1.0) for one in fixed}
    assert {2, 100} <= {one.arms for one in fixed}
    biased = [problem(row) for row in scenarios(["bias-*"])]
    assert len({one.arms for one in biased}) >= 3
    assert len({one.delay_quantile(0, 1.0) for one in biased}) >= 3


def test_what_a_scenario_says_of_its_delays_is_what_they_do() -> None:
    with Failures() as failures:
        for row in ALL:
            with failures.case(row.name):
                drawn = problem(row)
                in_rounds = (1, 2000, row.horizon)
                laws = {drawn.delay_law(arm).at(now) for arm in range(drawn.arms) for now in in_rounds}
                lost = any(law.quantile(NEVER) == math.inf for law in laws)
                assert row.loses == lost
                assert row.depends == any(_depends(row, drawn, arm) for arm in {0, drawn.arms - 1})
                assert row.kind == ("lost" if lost else "reward-dependent" if row.depends else "independent")


def _depends(row: Scenario, drawn: Problem, arm: int) -> bool:
    """Whether delays of high and of low rewards differ, by what is drawn; the same draws every time."""
    draws = Environment(drawn, horizon=1_000_000, seed=3, run=0)
    pairs = [draws.pull(arm, rank, 1 + rank) for rank in range(RARELY_SEEN.get(row.name, PULLS))]
    rewards = np.array([reward for reward, _ in pairs])
    delays = np.array([np.inf if delay is None else delay for _, delay in pairs])
    high = rewards > np.median(rewards) if len(set(rewards)) > 2 else rewards == 1.0
    one, other = np.sort(delays[high]), np.sort(delays[~high])
    at = np.unique(delays)
    apart = np.searchsorted(one, at, "right") / one.size - np.searchsorted(other, at, "right") / other.size
    limit = 2.3 * np.sqrt(1.0 / one.size + 1.0 / other.size)  # Kolmogorov and Smirnov's at about 5e-5
    return bool(np.abs(apart).max() > limit)


def test_a_scenario_is_a_family_drawn_for_each_run_or_one_problem() -> None:
    with Failures() as failures:
        for row in ROWS:
            with failures.case(row.name):
                first, again, second = problem(row, 0), problem(row, 0), problem(row, 1)
                assert first == again
                assert (first != second) == ("uniform" in str(row.spec))
                assert first.arms == second.arms > 1
                assert np.count_nonzero(first.gaps) == first.arms - 1  # one arm is best


def test_every_scenario_can_be_played() -> None:
    policies = [UCB(confidence=1.0), PrefixUCB(confidence=1.0, spread=True), PendingUCB(confidence=1.0)]
    with Failures() as failures:
        for row in ALL:
            with failures.case(row.name):
                result = simulate(row.problem, policies, horizon=400, runs=1, workers=1, progress=False)
                assert np.all(result.final > 0.0)
                assert np.all(result.pulls.sum(axis=2) == 400)


def test_patterns_pick_rows_in_their_order_and_each_once() -> None:
    assert [row.name for row in scenarios(["geometric-*", "fixed-0"])] == [
        "fixed-0",
        "geometric-100",
        "geometric-1000",
        "geometric-unequal",
    ]
    assert scenarios(["fixed-*", "fixed-0", "*"]) == ROWS
    assert scenarios(["*-late-*"]) == [row for row in ROWS if fnmatchcase(row.name, "*-late-*")] != []


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [("pareto-07", "Did you mean 'pareto-0."), ("Fixed-500", "Did you mean 'fixed-500'?"), ("zzz*", "There are fix")],
)
def test_a_pattern_that_is_no_rows_name_is_refused_with_a_hint(pattern: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        scenarios(["fixed-0", pattern])
    assert f"rows is {pattern!r}, which matches no scenario." in str(caught.value)
    assert hint in str(caught.value)
    assert "* stands for anything" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizont": 5}, "odd.horizont is not known. Did you mean 'horizon'?"),
        ({"max_runs": 1}, "odd.max_runs is 1; give a whole number from 2 to 15,360"),
        ({"twin": 5}, "odd.twin is 5; give"),
        ({"horizon": 0}, "odd.horizon is 0; give a whole number from 1 to"),
        ({"problem": {"rewards": {"best": 2.0, "gap": 0.1, "arms": 2}, "delays": {"law": "Never"}}}, "odd.problem"),
    ],
)
def test_a_row_with_a_mistake_is_refused_by_its_name(change: dict[str, Any], message: str) -> None:
    good = {"reason": "A test.", "horizon": 10, "problem": dict(ROWS[0].spec)}
    assert MODULE.read_scenario("odd", good).kind == "independent"
    with pytest.raises(ConfigurationError) as caught:
        MODULE.read_scenario("odd", good | change)
    assert message in str(caught.value)
