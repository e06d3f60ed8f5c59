"""Arms of a live bandit: any hashable names, which come back as they were."""

from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from belated import Bandit
from belated.client.messages import history_payloads
from belated.errors import InvalidParameter, StateError
from belated.live.arm_names import check_arm_names
from belated.policies import UCB


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Word(enum.StrEnum):
    YES = "yes"
    NO = "no"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass(frozen=True)
class Offer:
    price: float
    colour: Colour


class Plain:
    """Known by its address alone."""


PLAIN = [Plain(), Plain()]
ARMS: list[list[Any]] = [
    ["red", "green"],
    [10, 20, 30],
    [0.5, -1.5],
    [True, None, "True", "None"],
    [("a", 1), ("a", 2), ("a", ("b", None))],
    [1, "1", (1,), (1, 1)],
    list(Colour),
    list(Size),
    [Offer(9.5, Colour.RED), Offer(9.5, Colour.GREEN)],
    [frozenset("abcdef"), frozenset("abcdeg"), frozenset()],
    [int, str, math.sqrt],
    PLAIN,
    [(Colour.RED, 1), (Colour.GREEN, 1)],
    [b"a", b"b"],
    [math.inf, -math.inf],
]
JSON = 6
"""The first of them have a form in JSON."""


def played(arms: Any) -> Bandit[Any]:
    bandit = Bandit(arms, UCB(), seed=3)
    for decision in bandit.choose(len(arms) + 4)[::2]:
        bandit.observe(decision.id, 0.5)
    return bandit


@pytest.mark.parametrize("arms", ARMS, ids=range(len(ARMS)))
def test_decisions_and_summaries_have_the_very_objects(arms: list[Any]) -> None:
    bandit = Bandit(arms, UCB())
    assert all(decision.arm is arm for decision, arm in zip(bandit.choose(len(arms)), arms, strict=True))
    assert all(summary.arm is arm for summary, arm in zip(bandit.summary(), arms, strict=True))
    assert bandit.arms == tuple(arms)


@pytest.mark.parametrize("arms", ARMS[:JSON], ids=range(JSON))
def test_names_with_a_form_in_json_come_back(arms: list[Any]) -> None:
    bandit = played(arms)
    data = json.loads(json.dumps(bandit.to_dict(), allow_nan=False))
    again = Bandit.from_dict(data)
    assert again.arms == bandit.arms
    assert [type(arm) for arm in again.arms] == [type(arm) for arm in arms]
    assert again.choose(5) == bandit.choose(5)
    assert Bandit.from_dict(data, arms=arms).arms == bandit.arms


@pytest.mark.parametrize("arms", ARMS[JSON:], ids=range(JSON, len(ARMS)))
def test_other_objects_are_given_again(arms: list[Any]) -> None:
    bandit = played(arms)
    data = json.loads(json.dumps(bandit.to_dict(), allow_nan=False))
    with pytest.raises(StateError, match=r"JSON has no form; give the arms again, as Bandit.from_dict\(data, arms="):
        Bandit.from_dict(data)
    again = Bandit.from_dict(data, arms=arms)
    assert all(arm is given for arm, given in zip(again.arms, arms, strict=True))
    assert again.choose(5) == bandit.choose(5)
    assert again.to_dict() == bandit.to_dict()


def test_texts_and_numbers_of_other_types_come_back_equal() -> None:
    for arms in (list(Word), [np.int64(1), np.float64(2.5), np.str_("x")]):
        bandit = played(arms)
        again = Bandit.from_dict(json.loads(json.dumps(bandit.to_dict(), allow_nan=False)))
        assert again.arms == bandit.arms
        assert all(
            arm is given for arm, given in zip(Bandit.from_dict(bandit.to_dict(), arms=arms).arms, arms, strict=True)
        )


def test_the_format_of_0_1_0_is_for_strings() -> None:
    assert played(["a", "b"]).to_dict()["format"] == played(list(Word)).to_dict()["format"] == 1
    assert played([1, 2]).to_dict()["format"] == 2


def test_other_arms_than_the_saved_ones_are_refused() -> None:
    data = played(list(Colour)).to_dict()
    with pytest.raises(StateError, match=r"^1 arms are given, and the saved bandit has 2; give the same arms\.$"):
        Bandit.from_dict(data, arms=[Colour.RED])
    with pytest.raises(StateError, match=r"^arms\[0\] is <Colour.GREEN: 2>, and the saved bandit has <Colour.RED: 1> "):
        Bandit.from_dict(data, arms=[Colour.GREEN, Colour.RED])
    with pytest.raises(InvalidParameter, match=r"^arms\[1\] is <Colour.RED: 1>, again; give each name once\.$"):
        Bandit.from_dict(data, arms=[Colour.RED, Colour.RED])
    for damaged in ({"tuple": 3}, {"tuple": [1], "more": 2}, [1], {}):
        with pytest.raises(StateError):
            Bandit.from_dict({**data, "arms": [damaged, "b"]})


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ("red", "arms is 'red'; give a list of at least one name, such as ['red', 'green']."),
        (b"red", "arms is b'red'; give a list of at least one name, such as ['red', 'green']."),
        ({"a", "b"}, "; give a list of at least one name, such as ['red', 'green']."),
        (3, "arms is 3; give a list of at least one name, such as ['red', 'green']."),
        ([], "arms is []; give a list of at least one name, such as ['red', 'green']."),
        (["a", ""], "arms[1] is ''; give a name that is not empty."),
        (["a", "b", "a"], "arms[2] is 'a', again; give each name once."),
        ([1, True], "arms[1] is True, which equals arms[0], 1; give each name once."),
        ([0, "x", 0.0], "arms[2] is 0.0, which equals arms[0], 0; give each name once."),
        (["yes", Word.YES], "arms[1] is <Word.YES: 'yes'>, which equals arms[0], 'yes'; give each name once."),
        ([math.nan], "arms[0] is nan, which does not equal itself; give another name."),
        (
            ["a", ["b"]],
            "arms[1] is ['b'], which cannot be hashed; give a name such as a string, a number or a tuple.",
        ),
        (
            [{"a": 1}],
            "arms[0] is {'a': 1}, which cannot be hashed; give a name such as a string, a number or a tuple.",
        ),
    ],
)
def test_names_that_are_refused(arms: Any, message: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        Bandit(arms)
    assert str(refused.value).endswith(message)


def test_on_a_server_names_are_strings() -> None:
    (payload,) = history_payloads(played([10, ("a", 1), Colour.RED, Word.YES, "x"]))
    assert payload["arms"] == ["10", "('a', 1)", "Colour.RED", "yes", "x"]
    with pytest.raises(InvalidParameter, match=r"^the name of the arm '1' on the server is '1', like that of 1; give"):
        list(history_payloads(played([1, "1"])))


# ---- seeds ----


def test_a_bandit_without_a_seed_takes_a_fresh_one_and_keeps_it() -> None:
    seeds = {Bandit(["a", "b"]).seed for _ in range(20)}
    assert len(seeds) == 20
    assert all(isinstance(seed, int) and 0 <= seed < 2**53 for seed in seeds)
    bandit = Bandit(["a", "b"], UCB())
    assert bandit.to_dict()["seed"] == bandit.seed == Bandit.from_dict(bandit.to_dict()).seed
    with pytest.raises(StateError, match="seed"):
        Bandit.from_dict({**bandit.to_dict(), "seed": None})


def test_names_on_a_server_are_text() -> None:
    assert check_arm_names(["red", "green"]) == ("red", "green")
    for arms in (["a", 1], ["a", ""], ["a", None]):
        with pytest.raises(InvalidParameter, match=r"arms\[1\] is .*; give a name, a string that is not empty"):
            check_arm_names(arms)
    for arms in ("red", b"red", 3, []):
        with pytest.raises(InvalidParameter, match="give a list of at least one name"):
            check_arm_names(arms)
    with pytest.raises(InvalidParameter, match=r"^arms\[1\] is 'a', again; give each name once\.$"):
        check_arm_names(["a", "a"])
