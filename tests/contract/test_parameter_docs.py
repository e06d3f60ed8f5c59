"""Every public class and function explains its parameters in a section of its docstring, which ``help`` shows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import belated
from belated import parameter_docs, policies, theory
from belated.delays import DELAYS, DelayLaw, Fixed
from belated.live.reduction import Reduction, reduction
from belated.policies import POLICIES, UCB, ConfidencePolicy, IndexPolicy, PrefixUCB, observed_mean, policy, radius
from belated.rewards import REWARDS, RewardLaw
from belated.validation import fields_of

RETURNED = {"ArmSummary", "Bound", "Decision", "Result", "Sweep", "TableRow"}
"""Classes of what functions return: their attributes are explained one by one."""


def public_names() -> dict[str, Any]:
    """What users call, by its name."""
    found = {f"belated.{name}": getattr(belated, name) for name in belated.__all__ if name != "__version__"}
    found |= {f"theory.{name}": getattr(theory, name) for name in theory.__all__}
    helpers = ("default_policy", "label_with", "policy")
    found |= {f"policies.{name}": getattr(policies, name) for name in helpers}
    return found | {"DelayLaw": DelayLaw, "RewardLaw": RewardLaw, "reduction": reduction, "Reduction": Reduction}


ENGINE = {"draw", "encode", "encode_scaled"}
"""Methods of laws that the engine calls."""


def documented() -> Iterator[tuple[str, Any, list[str]]]:
    """(name, object, its parameters) of everything with parameters."""
    for path, value in public_names().items():
        if not isinstance(value, type):
            yield path, value, names_of(value)
            continue
        if value.__name__ not in RETURNED and value not in (DelayLaw, RewardLaw, Reduction):
            yield path, value, names_of(value.__init__)
        for name, member in inspect.getmembers(value, callable):
            if not name.startswith("_") and name not in ENGINE and has_own_code(value, name):
                yield f"{path}.{name}", member, names_of(member)


def has_own_code(cls: type, name: str) -> bool:
    """Whether a member is a function of the package, not one of tuples or an attribute that is a class."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    return owner.__module__.startswith("belated.") and not isinstance(vars(owner)[name], type)


def names_of(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_public_functions_explain_their_parameters() -> None:
    wrong, checked = [], 0
    for path, value, names in documented():
        explained = parameter_docs.split(value.__doc__).parameters
        if list(explained) != names or not all(text for _, text in explained.values()):
            wrong.append(f"{path}({', '.join(names)}) explains {', '.join(explained) or 'nothing'}")
        checked += bool(names)
    assert not wrong, "\n".join(wrong)
    assert checked > 50


def test_laws_and_policies_explain_their_parameters() -> None:
    wrong = []
    for registry in (POLICIES, DELAYS, REWARDS):
        for name, cls in registry.items():
            explained = parameter_docs.split(cls.__doc__).parameters
            if list(explained) != [parameter.name for parameter in fields_of(cls)]:
                wrong.append(f"{name} explains {', '.join(explained)}")
            wrong += [f"{name}.{key} is not explained" for key, (_, text) in explained.items() if not text]
    assert not wrong, "\n".join(wrong)


def test_help_shows_inherited_parameters() -> None:
    lines = [line.strip() for line in (inspect.getdoc(UCB) or "").splitlines()]
    assert 'confidence : a number > 0, or "theory", default 1.0' in lines
    assert "delta : a number in (0, 1], default 0.05" in lines
    assert "horizon : a whole number in [1, 2,147,483,646], optional" in lines
    assert lines.index("Parameters") < lines.index("Examples")
    assert "spread : True or False, default False" in (inspect.getdoc(PrefixUCB) or "")
    assert "rounds : a whole number in [0, 9,007,199,254,740,992]\n    The delay" in (inspect.getdoc(Fixed) or "")


def test_inherited_texts_are_written_once() -> None:
    text = parameter_docs.parameter_texts(ConfidencePolicy)["confidence"]
    for cls in POLICIES.values():
        if issubclass(cls, ConfidencePolicy) and "confidence" not in inspect.get_annotations(cls):
            assert parameter_docs.parameter_texts(cls)["confidence"] == text


def test_own_policies() -> None:
    """A user's class gets the section before its example; its own words come first, and need not be there."""

    @policy
    class Own(IndexPolicy, ConfidencePolicy):
        """A rule.

        Parameters
        ----------
        width
            How wide.

        >>> 1 + 1
        2
        """

        label = "Own"
        width: float = 0.5
        other: bool = False

        @staticmethod
        def lower(policy: Any, arm: Any) -> Any:
            return observed_mean(arm) - radius(policy, 1.0)

        @staticmethod
        def upper(policy: Any, arm: Any) -> Any:
            return observed_mean(arm) + radius(policy, 1.0)

    doc = Own.__doc__ or ""
    assert doc.startswith("A rule.\n\nParameters\n----------\nhorizon : ")
    assert (
        "width : default 0.5\n    How wide.\nother : True or False, default False\n\nExamples\n--------\n>>> 1" in doc
    )


@pytest.mark.parametrize(
    ("doc", "before", "names", "after"),
    [
        (None, "", [], ""),
        ("One line.", "One line.", [], ""),
        ("One.\n\n>>> 1\n1", "One.", [], ">>> 1\n1"),
        ("One.\n\nExamples\n--------\n>>> 1\n1", "One.", [], "Examples\n--------\n>>> 1\n1"),
        (
            "One.\n\nParameters\n----------\na, *args\n    Any.\nb : int\n    B.\n\n    More.",
            "One.",
            ["a", "args", "b"],
            "",
        ),
        (
            "P\n-\n\nParameters\n----------\na\n    A.\n\nReturns\n-------\nx\n    X.",
            "P\n-",
            ["a"],
            "Returns\n-------\nx\n    X.",
        ),
    ],
)
def test_split(doc: str | None, before: str, names: list[str], after: str) -> None:
    parts = parameter_docs.split(doc)
    assert (parts.before, list(parts.parameters), parts.after) == (before, names, after)
