from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated import Problem, theory
from belated.delays import Fixed
from belated.formatting import quantity
from belated.rewards import Bernoulli

FILE = """\
horizon = 5000

[problem]
rewards = {best = 0.6, gap = 0.2, arms = 3}
delays = {law = "Fixed", rounds = 100}

[[policies]]
policy = "UCB"
"""


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def written(text: str) -> Path:
    path = Path("asked.toml")
    path.write_text(text)
    return path


@pytest.mark.usefixtures("wide")
def test_the_table_has_the_numbers_of_the_theorems(call: Callable[..., Any]) -> None:
    shown = call("bounds", written(FILE))
    assert shown.exit_code == 0
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4), Bernoulli(0.4)], Fixed(100))
    for theorem in (
        theory.successive_elimination,
        theory.phased_elimination,
        theory.optimistic_pessimistic,
        theory.prefix_elimination,
        theory.prefix_ucb,
        theory.imputed,
        theory.optimistic_ucb,
        theory.joulani,
    ):
        bound = theorem(problem, 5000)
        assert quantity(bound.value) in shown.stdout
        assert bound.driver[1:] in shown.stdout
    assert "R_MAB + d = " in shown.stdout


@pytest.mark.usefixtures("wide")
def test_variant_without_theorem_has_no_bound(call: Callable[..., Any]) -> None:
    def lines(text: str, label: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith(f"{label}  ")]

    spread = '\n[[policies]]\npolicy = "PrefixUCB"\nspread = true\n'
    shown = call("bounds", written(FILE + spread + spread + "confidence = 1.0\n")).stdout
    (line,) = lines(shown, "Prefix-UCB spread")
    assert re.fullmatch(r"Prefix-UCB spread +- +- +- +- +no bound is proven for this variant *", line)
    assert len(lines(shown, "Prefix-UCB")) == 1
    assert "spread" not in call("bounds", written(FILE)).stdout


@pytest.mark.usefixtures("wide")
def test_horizon_option(call: Callable[..., Any]) -> None:
    shown = call("bounds", written(FILE), "--horizon", "1000000")
    assert "T = 1,000,000" in shown.stdout
    assert shown.stdout != call("bounds", "asked.toml").stdout


@pytest.mark.usefixtures("wide")
def test_theorems_that_do_not_apply_say_so(call: Callable[..., Any]) -> None:
    late = FILE.replace(
        'delays = {law = "Fixed", rounds = 100}',
        'delays.law = "ByReward"\ndelays.laws.0 = {law = "Never"}\ndelays.laws.1 = {law = "Fixed", rounds = 9}',
    )
    shown = call("bounds", written(late))
    assert shown.exit_code == 0
    assert shown.stdout.count("not for delays that depend on the reward") == 3
    assert "infinite" in shown.stdout  # failures are never heard of: more than a quarter of the gap


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("drawn", ["100", "{uniform = [50, 200]}"], ids=["a problem", "a family"])
def test_no_theorem_is_about_delays_that_depend_on_the_round(call: Callable[..., Any], drawn: str) -> None:
    shown = call("bounds", written(FILE.replace('"Fixed", rounds = 100', f'"Batch", size = {drawn}')))
    assert shown.exit_code == 2
    assert "bounds do not apply because the delay of arm 0 depends on the round (Batch(size=" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.usefixtures("wide")
def test_a_family_shows_its_first_problem(call: Callable[..., Any]) -> None:
    drawn = FILE.replace(
        "{best = 0.6, gap = 0.2, arms = 3}", '[{law = "Bernoulli", mean = {uniform = [0, 1]}, repeat = 3}]'
    )
    shown = call("bounds", written(drawn))
    assert shown.exit_code == 0
    assert "bounds for the first" in shown.stdout
    assert shown.stdout != call("bounds", "asked.toml", "--seed", "5").stdout


def test_a_mistake_names_the_file(call: Callable[..., Any]) -> None:
    shown = call("bounds", written(FILE.replace("arms = 3", "arms = 0")))
    assert shown.exit_code == 2
    assert "asked.toml" in shown.stderr


IN_EUROS = """\
horizon = 5000

[problem]
rewards = [
    {law = "Scaled", of = {law = "Bernoulli", mean = 0.6}, low = 0, high = 200},
    {law = "Scaled", of = {law = "Bernoulli", mean = 0.4}, low = 0, high = 200},
]
delays = {law = "Fixed", rounds = 100}

[[policies]]
policy = "UCB"
"""


@pytest.mark.usefixtures("wide")
def test_bounds_are_in_the_unit_of_the_rewards(call: Callable[..., Any]) -> None:
    shown = call("bounds", written(IN_EUROS))
    assert shown.exit_code == 0
    plain = Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(100))
    assert quantity(200 * theory.successive_elimination(plain, 5000).value) in shown.stdout
    assert quantity(5000 * 0.2 * 200) in shown.stdout


def test_clipped_rewards_have_no_bounds(call: Callable[..., Any]) -> None:
    law = '{law = "FromScipy", distribution = "norm", loc = 100, scale = 20}'
    text = IN_EUROS.replace('{law = "Scaled", of = {law = "Bernoulli", mean = 0.4}, low = 0, high = 200}', law)
    shown = call("bounds", written(text))
    assert shown.exit_code != 0
    assert "reward_range" in shown.stderr, "an unbounded law needs a range"
    shown = call("bounds", written(text.replace("delays =", "reward_range = [0, 200]\ndelays =")))
    assert shown.exit_code != 0
    assert "theorems assume bounded rewards" in " ".join(shown.stderr.split())
