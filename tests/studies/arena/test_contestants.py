"""Who enters: every policy, and a user's own, each under a label that nobody else has."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from belated import Problem, simulate
from belated.delays import Fixed
from belated.errors import BelatedError, ConfigurationError, InvalidParameter, UnknownName
from belated.policies import POLICIES, UCB, ImputedUCB, PrefixUCB, ThompsonSampling
from belated.rewards import Bernoulli
from belated.studies.arena import Scenario, contestants, labels_of, play

OWN = """\
from belated.policies import UCB, PatientBandits, PrefixUCB, Policy, policy


@policy
class Mine(UCB):
    label = "Mine"


@policy
class Copied(UCB):
    pass


class Half(Policy):
    label = "Half"


class Undecorated(UCB):
    label = "Undecorated"


@policy
class Needy(PatientBandits):
    label = "Needy"


@policy
class Several(PatientBandits):
    label = "Several"
    arena_variants = ({"alpha": 0.5}, {"alpha": 1.0})


@policy
class Heir(PrefixUCB):
    label = "Heir"


class NoPolicy:
    pass


def function():
    pass
"""
_number = itertools.count()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with policies of a user's own."""
    name = f"rules_of_a_user_{next(_number)}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_every_policy_enters_with_c_1() -> None:
    found = contestants()
    assert {type(policy) for policy in found} == set(POLICIES.values())
    assert {getattr(policy, "confidence", 1.0) for policy in found} == {1.0, "anytime"}
    assert len(set(found)) == len(found)
    labels = labels_of(found)
    assert len(set(labels)) == len(labels)
    assert {"UCB", "SE", "OPSE", "Thompson", "Prefix-UCB", "Prefix-UCB spread", "Pending-UCB"} <= set(labels)
    assert {"Imputed-UCB", "Imputed-UCB anytime"} <= set(labels)


def test_policies_are_named_by_class_by_label_or_as_the_tables_have_them() -> None:
    assert contestants(["UCB"]) == [UCB(confidence=1.0)]
    assert contestants(["Thompson"]) == contestants(["ThompsonSampling"]) == [ThompsonSampling()]
    both = [PrefixUCB(confidence=1.0), PrefixUCB(confidence=1.0, spread=True)]
    assert contestants(["PrefixUCB"]) == contestants(["Prefix-UCB"]) == both
    assert contestants(["Prefix-UCB spread"]) == both[1:]
    assert contestants(["SE", "UCB", "SE"]) == contestants(["SE", "UCB"])  # once, in the order given


@pytest.mark.parametrize(
    ("name", "hint"), [("UBC", " Did you mean 'UCB'?"), ("ucb", " Did you mean 'UCB'?"), ("x", "")]
)
def test_a_name_that_is_no_policys_is_refused(name: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        contestants(["UCB", name])
    assert f"policies is {name!r}, which is not a policy.{hint} There are " in str(caught.value)
    assert "--policy package.module:MyPolicy" in str(caught.value)


def test_a_policy_of_ones_own_enters_beside_the_others(own: str) -> None:
    alone = contestants(["UCB"], [f"{own}:Mine"])
    assert [(type(policy).__name__, getattr(policy, "confidence", None)) for policy in alone] == [
        ("UCB", 1.0),
        ("Mine", 1.0),
    ]
    everybody = contestants(own=[f"{own}:Mine"])
    assert everybody[:-1] == contestants()
    assert type(everybody[-1]) is type(alone[-1])


def test_one_that_has_the_label_of_another_is_told_apart(own: str, row: Callable[..., Scenario]) -> None:
    policies = contestants(["UCB", "SE"], [f"{own}:Copied"])
    scores = play([row("one")], policies, runs=4)
    assert scores.labels == ("UCB", "SE", "UCB (Copied)")
    assert scores.regret[0, 0] == scores.regret[0, 2] != scores.regret[0, 1]


def test_labels_tell_apart_what_differs_and_number_what_does_not() -> None:
    one, wide, other = UCB(), UCB(confidence=2.5), UCB(confidence="theory")
    assert labels_of([one, wide, other]) == ("UCB confidence=1", "UCB confidence=2.5", "UCB confidence=theory")
    assert labels_of([one, ThompsonSampling(), one]) == ("UCB #1", "Thompson", "UCB #2")
    assert labels_of([one, UCB(confidence=1.0, horizon=500)]) == ("UCB", "UCB horizon=500")


def test_the_form_without_a_proof_is_told_in_any_company() -> None:
    plain, spread = PrefixUCB(confidence=1.0), PrefixUCB(confidence=1.0, spread=True)
    assert (PrefixUCB.label, plain.label, spread.label) == ("Prefix-UCB", "Prefix-UCB", "Prefix-UCB spread")
    assert labels_of([plain]) == ("Prefix-UCB",)
    assert labels_of([spread]) == ("Prefix-UCB spread",)
    assert labels_of([spread, UCB()]) == ("Prefix-UCB spread", "UCB")
    assert labels_of([plain, spread]) == ("Prefix-UCB", "Prefix-UCB spread")
    wide = PrefixUCB(confidence=2.0, spread=True)
    assert labels_of([spread, wide]) == ("Prefix-UCB confidence=1 spread", "Prefix-UCB confidence=2 spread")
    assert labels_of([plain, wide]) == ("Prefix-UCB confidence=1", "Prefix-UCB confidence=2 spread")
    anytime = ImputedUCB(confidence="anytime")
    assert labels_of([anytime]) == ("Imputed-UCB anytime",)
    assert labels_of([ImputedUCB(), anytime, ImputedUCB(confidence=2.0)]) == (
        "Imputed-UCB confidence=1",
        "Imputed-UCB anytime",
        "Imputed-UCB confidence=2",
    )
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(3))
    result = simulate(problem, [spread], horizon=20, runs=2, workers=1)
    assert result.labels == ["Prefix-UCB spread"]
    assert set(result.to_frame()["policy"]) == {"Prefix-UCB spread"}
    assert simulate(problem, [plain, spread], horizon=20, runs=2, workers=1).labels == [
        "Prefix-UCB",
        "Prefix-UCB spread",
    ]
    assert spread.describe() == "Prefix-UCB(spread)"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("nothing_there:Mine", UnknownName, "'nothing_there:Mine' cannot be imported as a policy"),
        ("{}:Theirs", UnknownName, "Theirs' cannot be imported as a policy"),
        ("{}:function", UnknownName, "is not a class; give a policy"),
        ("{}:NoPolicy", ConfigurationError, "which is not a policy; give a class decorated with @policy"),
        ("{}:Half", ConfigurationError, "which has no choose; add"),
        ("Mine", UnknownName, "'Mine' is not a policy"),
    ],
)
def test_what_cannot_enter_is_refused(own: str, name: str, kind: type[BelatedError], message: str) -> None:
    with pytest.raises(kind) as caught:
        contestants(own=[name.format(own)])
    assert message in str(caught.value)


def test_one_that_needs_a_parameter_is_refused(own: str) -> None:
    with pytest.raises(ConfigurationError, match="Needy', which needs alpha; give a class"):
        contestants(own=[f"{own}:Needy"])


def test_a_class_says_itself_in_which_forms_it_enters(own: str) -> None:
    forms = [(getattr(policy, "alpha", None), policy.label) for policy in contestants(["UCB"], [f"{own}:Several"])]
    assert forms == [(None, "UCB"), (0.5, "Several"), (1.0, "Several")]
    one, *_ = contestants(own=[f"{own}:Heir"])[-1:]
    assert one.label == "Heir"  # what a class inherits says nothing about it


def test_one_that_is_not_registered_is_refused_when_it_plays(own: str, row: Callable[..., Scenario]) -> None:
    with pytest.raises(InvalidParameter, match="Undecorated is not registered; write @policy"):
        play([row("one")], contestants(["UCB"], [f"{own}:Undecorated"]), runs=2)


FAILING = {
    "value": ("1 / 0\n", "ZeroDivisionError: division by zero (line 1 of "),
    "deep": ("def f():\n    raise RuntimeError('two\\nlines')\nf()\n", "RuntimeError: two lines (line 2 of "),
    "syntax": ("def f(:\n", "SyntaxError: invalid syntax ({name}.py, line 1)"),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_module_that_fails_while_it_is_imported_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    name = f"rules_that_fail_{next(_number)}"
    text, said = FAILING[how]
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownName) as caught:
        contestants(own=[f"{name}:Mine"])
    message = str(caught.value)
    assert f"'{name}:Mine' cannot be imported as a policy, as its module fails with {said.format(name=name)}" in message
    assert "\n" not in message


def test_a_module_whose_policy_is_wrong_says_so_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"rules_that_fail_{next(_number)}"
    text = "from belated.policies._base.policy import Policy, policy\n@policy\nclass Mine(Policy):\n    pass\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidParameter, match=r"^Mine has no label; set label"):
        contestants(own=[f"{name}:Mine"])


MISTAKEN = """\
import numpy as np
from belated.policies import UCB, policy
THING = object()
@policy
class Mine(UCB):
    label = "Mine"
    @staticmethod
    def index(policy, arm):
        return {}
"""
MISTAKES = {
    "arm.nonsense": "arm.nonsense does not exist.",
    "nothing": "name 'nothing' is not defined.",
    "arm.pulls + 'x'": "TypeError: unsupported operand type(s) for +: 'float' and 'str'.",
    "THING.x": "'object' object has no attribute 'x'.",
    "np.nonsense(arm.pulls)": "module 'numpy' has no attribute 'nonsense'.",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_that_cannot_be_compiled_is_told_where_the_mistake_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: Callable[..., Scenario], mistake: str
) -> None:
    name = f"rules_that_fail_{next(_number)}"
    text = MISTAKEN.format(mistake)
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidParameter) as caught:
        play([row("one")], contestants(["UCB"], [f"{name}:Mine"]), runs=2, workers=1)
    message = str(caught.value)
    assert message.startswith(f"Mine: {MISTAKES[mistake]}\n")
    assert f'{name}.py", line 9, in index' in message
    assert "\x1b" not in message
    assert len(message.splitlines()) <= 10
