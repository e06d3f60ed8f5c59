from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from belated.cli.catalogue import example_toml
from belated.delays._base import DELAYS
from belated.policies import POLICIES, PendingUCB
from belated.rewards._base import REWARDS
from belated.specs.laws import read_delay, read_policy, read_reward
from belated.validation import fields_of

LAWS = [("rewards", name, cls) for name, cls in REWARDS.items()] + [("delays", n, c) for n, c in DELAYS.items()]
IN_FILES = {"FromScipy": {"distribution"}, "Mixture": {"parts"}, "ByReward": {"laws", "cells"}}


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def block(text: str, name: str) -> str:
    """What stands under a name, up to the next empty line."""
    return next(part for part in re.split(r"\n\s*\n", text) if part.startswith(f"{name} "))


def test_policies_lists_everything(call: Callable[..., Any]) -> None:
    text = call("policies").stdout
    everyone = block(text, "all")
    for name, cls in POLICIES.items():
        shown = block(text, cls.label)
        assert name in shown
        assert cls.formula in squeezed(shown.replace(name, "") if name != cls.label else shown)
        for parameter in fields_of(cls):
            assert parameter.name in shown + everyone
    assert "alpha a number > 0" in squeezed(block(text, "PatientBandits"))
    assert "delta a number in (0, 1] default 0.05" in squeezed(block(text, "UCB"))
    assert 'confidence a number > 0, or "theory" default 1' in squeezed(block(text, "UCB"))


def test_laws_lists_everything(call: Callable[..., Any]) -> None:
    rewards, delays = call("laws").stdout.split("Delay laws")
    for part, registry in ((rewards, REWARDS), (delays, DELAYS)):
        for name, cls in registry.items():
            shown = block(part, name)
            assert cls.formula in squeezed(shown)
            for parameter in IN_FILES.get(name) or {one.name for one in fields_of(cls)}:
                assert re.search(rf"\b{parameter}\b", shown)
    assert "scale a number > 0 default 1" in squeezed(block(delays, "Pareto"))
    assert "no parameters" in block(delays, "Never")


@pytest.mark.parametrize("command", ["policies", "laws"])
def test_lists_fit_80_columns_and_have_no_colours_in_a_pipe(process: Callable[..., Any], command: str) -> None:
    done = process(command)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_lists_have_colours_if_forced(process: Callable[..., Any], environment: dict[str, str]) -> None:
    environment["FORCE_COLOR"] = "1"
    assert "\x1b[" in process("policies").stdout


@pytest.mark.parametrize("name", ["OPSE", "opse", "OptimisticPessimisticElimination"])
def test_one_policy_by_name_or_label(call: Callable[..., Any], name: str) -> None:
    text = squeezed(call("policies", name).stdout)
    assert "stay valid when the delay depends on the reward" in text
    assert '[[policies]] policy = "OptimisticPessimisticElimination" confidence = 0.5' in text
    assert ">>>" not in text
    assert "``" not in text
    assert "confidence: c, the confidence level: the radius after x samples of an arm is sqrt(2 c / x)." in text


def test_a_name_of_both_kinds_shows_both(call: Callable[..., Any]) -> None:
    text = call("laws", "uniform").stdout
    assert "Uniform  reward law" in text
    assert "Uniform  delay law" in text


@pytest.mark.parametrize(("kind", "name", "cls"), LAWS, ids=lambda part: part if isinstance(part, str) else "")
def test_example_of_a_law_can_be_read(call: Callable[..., Any], kind: str, name: str, cls: Any) -> None:
    line = example_toml("law", cls)
    assert squeezed(line) in squeezed(call("laws", name).stdout)
    data = tomllib.loads(f"law = {line}")["law"]
    law = read_reward(data, "law") if kind == "rewards" else read_delay(data, "law")
    assert type(law) is cls


@pytest.mark.parametrize("name", POLICIES)
def test_example_of_a_policy_can_be_read(call: Callable[..., Any], name: str) -> None:
    text = example_toml("policy", POLICIES[name])
    assert squeezed(text) in squeezed(call("policies", name).stdout)
    assert type(read_policy(tomllib.loads(text)["policies"][0])) is POLICIES[name]


@pytest.mark.parametrize(
    ("command", "name", "meant"), [("policies", "UBC", "'UCB'"), ("laws", "paretto", "'Pareto'"), ("laws", "UCB", "")]
)
def test_an_unknown_name(call: Callable[..., Any], command: str, name: str, meant: str) -> None:
    result = call(command, name)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {name!r} is not a ")
    assert ("Did you mean" in result.stderr) == bool(meant)
    assert meant in result.stderr


def test_what_is_superseded_is_marked(call: Callable[..., Any]) -> None:
    text = squeezed(call("policies").stdout)
    assert text.count("superseded by") == 1
    assert f"{PendingUCB.formula} superseded by ImputedUCB" in text
    assert "superseded by ImputedUCB" in call("policies", "Pending-UCB").stdout
    listed = json.loads(call("policies", "--json").stdout)["policies"]
    assert {each["name"]: each["superseded_by"] for each in listed if each["superseded_by"]} == {
        "PendingUCB": "ImputedUCB"
    }


def test_the_label_of_a_variant(call: Callable[..., Any]) -> None:
    result = call("policies", "Imputed-UCB anytime")
    assert result.exit_code == 2
    said = "error: 'Imputed-UCB anytime' is not a policy. It is Imputed-UCB with confidence = \"anytime\". There are "
    assert squeezed(result.stderr).startswith(said)


def test_an_unknown_variable_is_a_warning(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELATED_CACHEDIR", "/somewhere")
    result = call("policies")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: BELATED_CACHEDIR is ignored, being no setting; settings are ")
    assert result.stderr.count("\n") == 1
