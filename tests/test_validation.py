"""Every invalid parameter raises InvalidParameter with a message that names the parameter, the value and what is
allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem, policies
from belated.delays import (
    ByReward,
    Empirical,
    Fixed,
    FromScipy,
    Mixture,
)
from belated.delays import Uniform as UniformDelay
from belated.delays._base import DELAYS
from belated.errors import BelatedError, ConfigurationError, InvalidParameter, UnsupportedSupport
from belated.policies import POLICIES
from belated.rewards import Bernoulli, Beta, Categorical, Uniform
from belated.rewards._base import REWARDS
from belated.specs.laws import read_policy
from belated.validation import (
    Domain,
    check_choice,
    check_integer,
    check_number,
    fields_of,
    is_bool,
    is_integer,
    is_number,
)
from support.laws import example_of
from support.policies import example_of as example_of_policy


def _fields(example: Any) -> dict[str, Any]:
    return {field.name: getattr(example, field.name) for field in fields(example)}


VALID: dict[type, dict[str, Any]] = {
    **{law: _fields(example_of(law)) for law in (*REWARDS.values(), *DELAYS.values())},
    **{policy: _fields(example_of_policy(policy)) for policy in POLICIES.values()},
}


def test_equal_parameters_make_equal_values() -> None:
    for cls, given in VALID.items():
        assert cls(**given) == cls(**given)


def outside(domain: Domain) -> list[Any]:
    """Values that a domain does not have."""
    values: list[Any] = [math.nan, math.inf, -math.inf, "0.5", True, np.bool_(False), [0.5], 1j, np.float64("nan")]
    if not domain.optional and not domain.words:
        values.append(None)
    if math.isfinite(domain.low):
        values += [domain.low - max(1, abs(domain.low)), np.float64(np.nextafter(domain.low, -np.inf))]
        if domain.open_low:
            values += [domain.low, -0.0]
    if math.isfinite(domain.high):
        values += [domain.high + max(1, abs(domain.high) if not domain.whole else 1)]
    if domain.whole:
        values += [1.5, np.float64(2.25)]
    if not (domain.whole and math.isinf(domain.high)):
        values += [10**400]
    return values


def refusal(make: Callable[[], Any]) -> str:
    """The message of the error, or that there was none."""
    try:
        make()
    except InvalidParameter as error:
        return str(error) if isinstance(error, BelatedError) and isinstance(error, ValueError) else "of another kind"
    return "accepted"


def test_values_outside_the_domain() -> None:
    failures = []
    checked = 0
    for cls, valid in VALID.items():
        for parameter in fields_of(cls):
            for value in outside(parameter.domain) if parameter.domain is not None else []:
                message = refusal(partial(cls, **{**valid, parameter.name: value}))
                plain = value.item() if isinstance(value, np.generic) else value
                named = cls.__name__ in message and parameter.name in message
                shown = repr(value) in message or repr(plain) in message
                if not (named and shown and f"give {parameter.domain.describe(plain)}" in message):  # type: ignore[union-attr]
                    failures.append(f"{cls.__name__}({parameter.name}={value!r}): {message}")
                checked += 1
    assert not failures, "\n".join(failures)
    assert checked > 500


@pytest.mark.parametrize("huge", [2**31, 2**62, 2**63, 10**30, 10**400], ids=["2^31", "2^62", "2^63", "1e30", "1e400"])
@pytest.mark.parametrize("make", [Fixed, lambda high: UniformDelay(high - 5, high), lambda one: Empirical([one, one])])
def test_delays_longer_than_any_machine_number(make: Any, huge: int) -> None:
    """A whole number of any size is a delay, or is refused by name; never an OverflowError, never another delay."""
    try:
        law = make(huge)
    except InvalidParameter as error:
        refusal = str(error)
    else:
        assert law.quantile(1.0) == pytest.approx(huge, rel=1e-9)
        assert plays_late(law)
        return
    assert any(word in refusal for word in ("rounds", "low", "high", "delays"))
    assert any(str(given)[:15] in refusal for given in (huge, huge - 5))


def plays_late(law: Any) -> bool:
    """Whether feedback under this law is in flight at the horizon."""
    from belated import simulate

    result = simulate(Problem([Bernoulli(0.5)] * 2, law), policies.UCB(), horizon=10, runs=1, workers=1)
    return bool(result.in_flight.sum() == 10 and result.lost.sum() == 0)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, np.float32(0.5), np.int64(1), 1, np.float64(0.25)])
def test_numbers_of_every_kind_are_taken(value: Any) -> None:
    law = Bernoulli(value)
    assert law.mean == float(value)
    assert type(law.mean) is float
    assert type(Fixed(np.int32(7)).rounds) is int
    assert Fixed(7.0) == Fixed(7)


REFUSED: list[tuple[str, Callable[[], Any], list[str]]] = [
    ("reward ends", lambda: Uniform(0.5, 0.5), ["low", "high", "0.5", "0 <= low < high <= 1"]),
    ("reward ends", lambda: Uniform(0.7, 0.2), ["0.7", "0.2"]),
    ("delay ends", lambda: UniformDelay(5, 4), ["low is 5", "high is 4", "low <= high"]),
    ("no values", lambda: Categorical([], []), ["values", "[]", "at least one"]),
    ("text", lambda: Categorical("01", [0.5, 0.5]), ["values", "'01'"]),
    ("a number", lambda: Categorical(0.5, [1.0]), ["values", "0.5"]),
    ("no number", lambda: Categorical([0.0, "a"], [0.5, 0.5]), ["values[1]", "'a'"]),
    ("NaN", lambda: Categorical([0.0, math.nan], [0.5, 0.5]), ["values[1]", "nan"]),
    ("lengths", lambda: Categorical([0.0, 1.0], [1.0]), ["2 values", "1 probabilities"]),
    ("twice", lambda: Categorical([0.5, 0.5], [0.5, 0.5]), ["values", "once"]),
    ("sum", lambda: Categorical([0.0, 1.0], [0.5, 0.6]), ["probabilities", "1.1", "sum 1"]),
    ("negative", lambda: Categorical([0.0, 1.0], [-0.5, 1.5]), ["probabilities", "-0.5", ">= 0"]),
    ("no parts", lambda: Mixture([]), ["parts", "[]", "at least one"]),
    ("no pair", lambda: Mixture([(1.0, Fixed(1)), Fixed(2)]), ["part 1", "Fixed(rounds=2)", "(weight, delay law)"]),
    ("no law", lambda: Mixture([(1.0, 3)]), ["part 0", "(1.0, 3)"]),
    ("class", lambda: Mixture([(1.0, Fixed)]), ["part 0", "Fixed"]),
    ("a reward law", lambda: Mixture([(1.0, Bernoulli(0.5))]), ["part 0", "Bernoulli"]),
    ("weight", lambda: Mixture([(-1.0, Fixed(1))]), ["weight of part 0", "-1.0", "give a number"]),
    ("weight", lambda: Mixture([(math.nan, Fixed(1))]), ["weight of part 0", "nan"]),
    ("weights", lambda: Mixture([(0, Fixed(1)), (0, Fixed(2))]), ["weights", "0"]),
    ("huge weights", lambda: Mixture([(1e308, Fixed(number)) for number in range(10)]), ["weight"]),
    ("no sample", lambda: Empirical([]), ["delays", "[]", "at least one"]),
    ("negative", lambda: Empirical([3, -1]), ["delays", "[3, -1]", ">= 0"]),
    ("half", lambda: Empirical([0.5]), ["delays", "[0.5]", "whole"]),
    ("NaN", lambda: Empirical([1, math.nan]), ["delays", "nan"]),
    ("infinite", lambda: Empirical([1, math.inf]), ["delays", "inf", "never"]),
    ("text", lambda: Empirical(["soon"]), ["delays", "soon"]),
    ("nothing", lambda: Empirical(None), ["delays", "None"]),  # type: ignore[arg-type]
    ("parameters missing", lambda: FromScipy(ss.gamma), ["parameters", "scipy.stats"]),
    ("several", lambda: FromScipy(ss.gamma(2, scale=[1, 2])), ["single distribution"]),
    ("negative support", lambda: FromScipy(ss.norm(3, 1)), ["support", "-inf", ">= 0"]),
    ("negative support", lambda: FromScipy(ss.uniform(-1, 3)), ["support", "-1", ">= 0"]),
    ("NaN support", lambda: FromScipy(ss.expon(scale=-1)), ["support", "nan"]),
    ("NaN support", lambda: FromScipy(ss.expon(scale=0)), ["support", "nan"]),
    ("no distribution", lambda: FromScipy(3), ["3", "scipy.stats"]),
    ("no laws", lambda: ByReward({}), ["mapping", "empty", "{reward: law"]),
    ("no mapping", lambda: ByReward(3), ["3", "mapping", "function"]),  # type: ignore[arg-type]
    ("value", lambda: ByReward({math.inf: Fixed(1)}), ["reward", "inf", "number"]),
    ("value", lambda: ByReward({"1": Fixed(1)}), ["reward", "'1'"]),
    ("no law", lambda: ByReward({1: 5}), ["reward 1", "5", "delay law"]),  # type: ignore[dict-item]
    ("nested", lambda: ByReward({1: ByReward({1: Fixed(1)})}), ["reward 1", "does not depend"]),
    ("function", lambda: Problem([Bernoulli(0.5)], ByReward(lambda r: 3)), ["arm 0", "3"]),
    ("missing", lambda: Problem([Bernoulli(0.5)], ByReward({1: Fixed(2)})), ["arm 0", "can be 0", "add one for 0"]),
    ("continuous", lambda: Problem([Beta(1, 1)], ByReward({1: Fixed(2)})), ["arm 0", "continuous", "Beta", "function"]),
    ("alone", lambda: ByReward({1: Fixed(2)}).cdf(3), ["rewards", "Problem.delay_cdf"]),
    ("alone", lambda: ByReward({1: Fixed(2)}).quantile(0.5), ["rewards", "Problem.delay_quantile"]),
    ("alone", lambda: ByReward({1: Fixed(2)}).never, ["rewards"]),
    ("no arms", lambda: Problem([], Fixed(1)), ["rewards", "[]", "at least one"]),
    ("one law", lambda: Problem(Bernoulli(0.5), Fixed(1)), ["rewards", "Bernoulli(mean=0.5)", "list"]),  # type: ignore[arg-type]
    ("a mean", lambda: Problem([0.5], Fixed(1)), ["rewards[0]", "0.5", "law"]),  # type: ignore[list-item]
    ("a delay", lambda: Problem([Bernoulli(0.5)], [5]), ["delays[0]", "5", "law"]),  # type: ignore[list-item]
    ("a delay", lambda: Problem([Bernoulli(0.5)], 5), ["delays", "5", "law"]),  # type: ignore[arg-type]
    ("swapped", lambda: Problem([Fixed(3)], Bernoulli(0.5)), ["rewards[0]", "Fixed(rounds=3)"]),  # type: ignore[list-item, arg-type]
    ("no truth", lambda: policies.PrefixUCB(spread=1), ["spread", "1", "True or False"]),  # type: ignore[arg-type]
    ("no truth", lambda: policies.PrefixUCB(spread="yes"), ["spread", "'yes'"]),  # type: ignore[arg-type]
    ("lengths", lambda: Problem([Bernoulli(0.5)] * 3, [Fixed(1)] * 2), ["3 reward laws", "2 delay laws"]),
]


def test_invalid_combinations() -> None:
    failures = []
    for name, make, fragments in REFUSED:
        message = refusal(make)
        missing = [fragment for fragment in fragments if fragment not in message]
        if missing:
            failures.append(f"{name}: {message!r} lacks {missing}")
    assert not failures, "\n".join(failures)


# ---- checks of single values ----


def test_integers() -> None:
    for value in (3, np.int64(3), np.uint8(3)):
        assert check_integer("n", value, 0, 5) == 3
        assert type(check_integer("n", value, 0)) is int
    for bad in (True, np.bool_(True), 3.0, np.float64(3.0), "3", None, -1, 6, math.nan, Fraction(3)):
        message = refusal(lambda bad=bad: check_integer("n", bad, 0, 5))
        assert message == f"n is {bad!r}; give a whole number from 0 to 5."
    assert refusal(lambda: check_integer("n", -1, 1000)) == "n is -1; give a whole number >= 1,000."
    assert check_integer("n", 2e4, 1, accept_whole_floats=True) == 20_000
    for bad in (2.5, math.inf, math.nan, True):
        with pytest.raises(ConfigurationError, match="n is <"):
            check_integer("n", bad, 1, accept_whole_floats=True, error=ConfigurationError, show=lambda one: f"<{one}>")


def test_numbers() -> None:
    domain = Domain(0, 1, open_low=True)
    for value in (1, 0.5, np.float32(0.5), np.int8(1)):
        assert check_number("q", value, domain) == float(value)
        assert type(check_number("q", value, domain)) is float
    for bad in (
        0,
        0.0,
        -0.0,
        1.5,
        math.nan,
        math.inf,
        True,
        np.bool_(True),
        "1",
        None,
        [1.0],
        1j,
        Fraction(1, 2),
        10**400,
    ):
        assert refusal(lambda bad=bad: check_number("q", bad, domain)).endswith("; give a number in (0, 1].")


@pytest.mark.parametrize("value", [1e308, math.inf, 10**308])
def test_the_limit_of_all_numbers_is_named(value: float) -> None:
    said = "ImputedUCB: patience is .*; give a number > 0 and below 8.9e307, or None.$"
    with pytest.raises(InvalidParameter, match=said):
        policies.ImputedUCB(patience=value)
    assert policies.ImputedUCB(patience=8.9e307).patience == 8.9e307
    with pytest.raises(InvalidParameter, match=r"give a number > 0, or None\.$"):
        policies.ImputedUCB(patience=-value)
    with pytest.raises(
        ConfigurationError, match=r"^policy.patience is .*; give a number > 0 and below 8.9e307, or leav"
    ):
        read_policy({"policy": "ImputedUCB", "patience": value})
    with pytest.raises(InvalidParameter, match=r"give a number from -8.9e307 to 8.9e307\.$"):
        check_number("x", value, Domain())


def test_choices() -> None:
    assert check_choice("device", "cpu", ("cpu", "cuda")) == "cpu"
    for bad in ("tpu", "", None, 3, ["cpu"]):
        message = refusal(lambda bad=bad: check_choice("device", bad, ("cpu", "cuda")))
        assert message == f"device is {bad!r}; give 'cpu' or 'cuda'."
    assert refusal(lambda: check_choice("x", "d", ("a", "b", "c"))) == "x is 'd'; give 'a', 'b' or 'c'."


def test_kinds_of_values() -> None:
    assert [is_bool(value) for value in (True, np.bool_(False), 1, 0.0, "True", None)] == [True, True] + [False] * 4
    assert all(map(is_integer, (0, np.int64(-3), 10**30)))
    assert not any(map(is_integer, (True, np.bool_(True), 1.0, "1", None, Fraction(2))))
    assert all(map(is_number, (0, 1.5, np.float32(0.5), np.int8(3), math.nan)))
    assert not any(map(is_number, (True, np.bool_(True), "1", None, 1j, Fraction(1, 2), [1.0])))


def test_rewards_outside_the_unit_interval() -> None:
    with pytest.raises(UnsupportedSupport, match=r"1\.5.*\[0, 1\]") as caught:
        Categorical([0.5, 1.5], [0.5, 0.5])
    assert isinstance(caught.value, InvalidParameter)


def test_a_refused_parameter_with_the_wrong_name() -> None:
    with pytest.raises(InvalidParameter, match=r"Fixed takes \(rounds\).*'delay'"):
        Fixed(delay=3)  # type: ignore[call-arg]


def test_laws_are_values() -> None:
    """Equal by their parameters, usable as keys, and never to be changed."""
    for cls, given in VALID.items():
        if cls is not FromScipy:
            assert hash(cls(**given)) == hash(cls(**given))
    with pytest.raises(AttributeError):
        Bernoulli(0.5).mean = 0.7  # type: ignore[misc]
    assert Mixture([(2, Fixed(1)), (2, Fixed(2))]) == Mixture([(0.5, Fixed(1)), (0.5, Fixed(2))])
    assert Empirical([3, 1]) == Empirical([1, 3])
