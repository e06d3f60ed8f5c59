"""``confidence``: 1 by default, "theory" for what the theorems assume, and None for the same; in labels and as data."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from belated import Problem, Result, simulate
from belated.delays import Fixed
from belated.errors import ConfigurationError, InvalidParameter
from belated.policies import (
    POLICIES,
    UCB,
    ConfidencePolicy,
    ImputedUCB,
    PrefixUCB,
    SafeImputedUCB,
    UniformChoice,
    default_policies,
    default_policy,
)
from belated.rewards import Bernoulli
from belated.simulation.result import Manifest, labels_of
from belated.specs.laws import policy_spec, read_policy
from belated.theory import bound_of
from own_policies import PullsUCB

PROBLEM = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(5))
WITH_CONFIDENCE: list[Any] = [cls for cls in POLICIES.values() if issubclass(cls, ConfidencePolicy)]


def test_it_is_1_by_default() -> None:
    assert len(WITH_CONFIDENCE) >= 9
    for cls in (*WITH_CONFIDENCE, PullsUCB):
        if cls is not SafeImputedUCB:  # which is taken for its proof
            assert cls().confidence == 1.0
            assert cls() == cls(confidence=1)
            assert cls().kernel_params(7)[:2] == cls(horizon=10**6).kernel_params(7)[:2] == (1.0, 0.0)
    assert SafeImputedUCB().confidence == "theory"
    assert [getattr(policy, "confidence", 1.0) for policy in default_policies()] == [1.0, 1.0, 1.0, "anytime"]
    assert default_policy() == ImputedUCB(confidence="anytime")


def test_none_means_theory() -> None:
    for cls in (*WITH_CONFIDENCE, PullsUCB):
        theory, none = cls(confidence="theory"), cls(confidence=None)
        assert none.confidence == "theory"
        assert theory == none
        assert hash(theory) == hash(none)
        assert repr(theory) == repr(none)
        assert theory != cls(confidence=1.0)
        assert replace(theory, horizon=100).kernel_params(7)[:2] == (math.log(100), 0.0)
        assert theory.kernel_params(7)[:2] == (math.log(math.pi**2 * 7 / (3 * 0.05)) / 4, 0.5)


def test_theory_is_what_the_theorems_are_about() -> None:
    with_theorem = [cls for cls in WITH_CONFIDENCE if bound_of(cls(confidence="theory"), PROBLEM, 1000) is not None]
    assert len(with_theorem) >= 7
    for cls in WITH_CONFIDENCE:
        assert bound_of(cls(confidence=1.0), PROBLEM, 1000) is None
        assert not cls(confidence=1.0).uses_theory(1000)
        assert cls(confidence="theory").uses_theory(1000)
        assert not cls(confidence="theory", horizon=999).uses_theory(1000)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "Theory", "", "1", True, [1.0], b"theory"])
def test_other_values_are_refused(value: Any) -> None:
    number = r"a number > 0 and below 8\.9e307" if value == math.inf else "a number > 0"
    with pytest.raises(InvalidParameter, match=rf'^UCB: confidence is .*; give {number}, or "theory"\.$'):
        UCB(confidence=value)
    with pytest.raises(ConfigurationError, match=rf'confidence is .*; give {number}, or "theory", or leave it out\.$'):
        read_policy({"policy": "UCB", "confidence": value})


def test_labels() -> None:
    assert UCB().describe() == UCB(confidence=1.0).describe() == "UCB"
    assert UCB(confidence="theory").describe() == UCB(confidence=None).describe() == "UCB(confidence=theory)"
    assert UCB(confidence=0.5, delta=0.1).describe() == "UCB(confidence=0.5, delta=0.1)"
    assert PrefixUCB(confidence="theory", spread=True).describe() == "Prefix-UCB(confidence=theory, spread)"
    assert labels_of([UCB(), UCB(confidence="theory")]) == ["UCB", "UCB(confidence=theory)"]
    assert labels_of([UCB(confidence="theory"), UniformChoice()]) == ["UCB", "Uniform"]


# ---- as plain data ----


def test_it_is_always_written_down() -> None:
    for cls in WITH_CONFIDENCE:
        for given, written in ((1.0, 1.0), (0.25, 0.25), ("theory", "theory"), (None, "theory")):
            policy = cls(confidence=given)
            spec = json.loads(json.dumps(policy_spec(policy), allow_nan=False))
            assert spec["confidence"] == written
            assert read_policy(spec) == read_policy(spec, saved=True) == policy


def test_saved_data_without_it_is_of_0_1_0() -> None:
    for name, cls in POLICIES.items():
        required = {"alpha": 0.5} if name == "PatientBandits" else {}
        data = {"policy": name, **required}
        expected = cls(**required, confidence="theory") if issubclass(cls, ConfidencePolicy) else cls(**required)
        assert read_policy(data, saved=True) == expected
        assert read_policy(data) == cls(**required)
    own = read_policy({"policy": "own_policies:PullsUCB"}, saved=True)
    assert own == PullsUCB(confidence="theory")


def test_a_result_of_0_1_0_is_played_again_with_its_bits_and_labels(tmp_path: Any) -> None:
    """Its manifest says nothing of a confidence that was None, and its labels show one that was 1."""
    played = simulate(PROBLEM, [UCB(), UCB(confidence="theory")], horizon=200, runs=3)
    data = json.loads(played.manifest.to_json())
    assert [spec["confidence"] for spec in data["policies"]] == [1.0, "theory"]
    del data["policies"][1]["confidence"]
    old = replace(played, labels=["UCB(confidence=1)", "UCB"], record=lambda: Manifest(**data), source=None)
    loaded = Result.load(old.save(tmp_path / "old"))
    again = loaded.rerun()
    assert again.labels == loaded.labels == ["UCB(confidence=1)", "UCB"]
    assert (again.final == played.final).all()
    assert loaded.rerun(policies=[UCB(), UniformChoice()]).labels == ["UCB", "Uniform"]
