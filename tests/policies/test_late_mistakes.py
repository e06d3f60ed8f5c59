"""Mistakes that come later than the checked game: indices out of bounds and NaN, in compiled and in plain code."""

from __future__ import annotations

from typing import Any

import pytest

from belated import Bandit, Problem, simulate
from belated.delays import Fixed, Geometric
from belated.errors import PolicyError
from belated.kernel.code_key import code_key
from belated.policies import UCB, policy
from belated.policies._base import interface
from belated.policies._check.run_errors import SEARCHED
from belated.rewards import Bernoulli, Uniform
from written_policy import CHOOSE, FEEDBACK, INDEX, assert_found

COINS = Problem([Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.7)], Geometric(20))
AT_ONCE = Problem([Uniform(0.0, 0.5), Uniform(0.3, 0.9)], Fixed(0))
PULL = "@staticmethod\ndef on_pull(policy, state, arm, rank, now):\n"
TURNS = CHOOSE + "    return now % state.arms\n"

LATE_INDICES = {
    "state.memory[arm, now] = 1.0": PULL + "    state.memory[arm, now] = 1.0\n" + TURNS,
    "return int(state.memory[0, now]) % state.arms": CHOOSE + "    return int(state.memory[0, now]) % state.arms\n",
    "row[place] = 2.0": PULL + "    put(state.memory[arm], now)\n" + TURNS,
}
"""The line that leaves the memory, of 1,000 numbers, and the policy around it."""


def assert_late(error: PolicyError, line: str) -> None:
    assert_found(error, line, "Mine: an index is out of bounds in a later round", "size memory by the horizon")


@pytest.mark.parametrize("line", LATE_INDICES)
def test_an_index_that_leaves_the_array_after_the_check_names_its_line(line: str, written: Any) -> None:
    mine = written("Policy", "memory = 1000\n" + LATE_INDICES[line])
    with pytest.raises(PolicyError) as found:
        simulate(COINS, mine(), horizon=3000, runs=2)
    assert_late(found.value, line)
    with pytest.raises(PolicyError) as found:
        simulate(COINS, mine(), horizon=3000, runs=2, check=False)
    assert_late(found.value, line)


def test_a_live_bandit_raises_it(written: Any) -> None:
    line, body = next(iter(LATE_INDICES.items()))
    bandit = Bandit(["a", "b", "c"], written("Policy", "memory = 1000\n" + body)())
    for _ in range(999):
        bandit.choose()
    with pytest.raises(PolicyError) as found:
        bandit.choose()
    assert_late(found.value, line)
    assert len(bandit.to_dict()["decisions"]) == 999


def test_a_division_by_zero_after_the_check_names_the_lines_that_divide(written: Any) -> None:
    line = "y = 1.0 / (now - 1700.0)"
    mine = written("Policy", CHOOSE + f"    {line}\n    return 1 if y > 1e9 else now % state.arms\n")
    with pytest.raises(PolicyError) as found:
        simulate(COINS, mine(), horizon=3000, runs=2)
    assert_found(found.value, line, "Mine divides by zero in a later round: in this line, or line", "max(x, 1.0)")


def test_built_in_code_has_no_lines_in_its_key_and_own_code_counts_from_its_body() -> None:
    """So that code from the disk names the right line, and a docstring that changes compiles nothing again."""

    def defined(text: str) -> Any:
        space: dict[str, Any] = {"__name__": "somewhere", "policy": policy}
        exec(text, space)
        return space["choose"]

    first = defined("def choose(x):\n    y = x[0]\n    return y\n")
    moved = defined('\n\ndef choose(x):\n    """Doc.\n\n    """\n    y = x[0]\n    return y\n')
    longer = defined("def choose(x):\n    y = x[0]\n    # why\n    return y\n")
    assert code_key(first) == code_key(moved) != code_key(longer)
    space: dict[str, Any] = {"__name__": "belated.somewhere"}
    exec("def f(x):\n    y = x[0]\n    return y\n", space)
    before = code_key(space["f"])
    exec("def f(x):\n    y = x[0]\n    # why\n    return y\n", space)
    assert code_key(space["f"]) == before


NANS = {
    "an index": ("IndexPolicy", INDEX + "    return math.inf - 1e308 * 10.0 if arm.pulls > 700.0 else 0.5\n", "index"),
    "a feedback index": (
        "IndexPolicy",
        "reads_pulls = False\n"
        + INDEX
        + "    n = max(arm.observed, 1.0)\n    return arm.total / n + 0.0 * (math.inf if n > 700.0 else 1.0)\n",
        "index",
    ),
    "a number of the memory": (
        "Policy",
        "memory = 1\n" + FEEDBACK + "    state.memory[arm, 0] = 0.0 * (math.inf if now > 1000 else 1.0)\n" + TURNS,
        "on_feedback",
    ),
}


@pytest.mark.parametrize("problem", [COINS, AT_ONCE], ids=["wheel", "no delay"])
@pytest.mark.parametrize("kind", NANS)
def test_nan_that_comes_after_the_check_is_an_error(kind: str, problem: Problem, written: Any) -> None:
    base, body, hook = NANS[kind]
    mine = written(base, body)
    assert simulate(problem, mine(), horizon=600, runs=2).pulls.sum() == 1200
    with pytest.raises(PolicyError) as found:
        simulate(problem, mine(), horizon=3000, runs=2)
    lines = str(found.value).splitlines()
    assert "became NaN in a later round" in lines[0]
    assert hook in lines[1] or "choose" in lines[1]
    assert "check_policy" in lines[3]


def test_a_live_bandit_notices_an_index_that_is_nan(written: Any) -> None:
    mine = written(*NANS["an index"][:2])
    bandit = Bandit(["a"], mine())
    for _ in range(701):
        bandit.choose()
    with pytest.raises(PolicyError, match="became NaN in a later round"):
        bandit.choose()


@pytest.mark.parametrize("memory", [1, 1000])
def test_a_live_bandit_notices_nan_in_its_memory(memory: int, written: Any) -> None:
    """At once if the memory is small, otherwise when it is the turn of that number: the last of the 3 arms is
    written, of 4 rows of 1,000 numbers."""
    write = f"state.memory[arm, {memory - 1}] = 0.0 * (math.inf if now > 701 and arm == 2 else 1.0)"
    bandit = Bandit(["a", "b", "c"], written("Policy", f"memory = {memory}\n{FEEDBACK}    {write}\n{TURNS}")())

    def play(rounds: int) -> None:
        for _ in range(rounds):
            bandit.observe(bandit.choose().id, 1.0)

    play(701)
    with pytest.raises(PolicyError, match="became NaN in a later round"):
        play(1 + 3 + (memory * 4) // SEARCHED)
    assert bandit._learner.state.memory.flags.c_contiguous  # no part of it is copied


def test_built_in_policies_are_not_searched_for_nan() -> None:
    assert not interface.has_nan(UCB()._KernelArgs(1.0, 0.0, ()), None)  # which has no scores
