"""``-`` for standard input, wherever a file is taken; and what becomes of sections that a command does not use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from belated.cli import app

EXPERIMENT = """\
title = "Mine"
place = "here"
about = "About it."

[studies.one]
horizon = 100
runs = 2
problem = {rewards = {best = 0.6, gap = 0.2, arms = 2}, delays = {law = "Fixed", rounds = 1}}
policies = [{policy = "UCB", confidence = 1.0}]
"""


def piped(text: str | bytes, *arguments: object) -> Any:
    """Run a command with this on its standard input."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_files_come_from_standard_input(call: Callable[..., Any], small: Path, swept: Path) -> None:
    text = small.read_text().replace('out = "made"\n', "")
    result = piped(text, "simulate", "-")
    assert result.exit_code == 0, result.stderr
    assert "\nstdin  2 arms" in result.stdout
    assert Path("out/stdin/result.npz").exists()
    assert piped(text, "simulate", "-", "--out", "mine", "-q").exit_code == 0
    assert Path("mine/regret.csv").read_bytes() == Path("out/stdin/regret.csv").read_bytes()
    assert piped(swept.read_text(), "sweep", "-", "-q").exit_code == 0
    assert Path("made/sweep.csv").exists()
    assert json.loads(piped(text, "bounds", "-", "--json").stdout)["name"] == "stdin"


def test_an_experiment_comes_from_standard_input() -> None:
    result = piped(EXPERIMENT, "reproduce", "-", "--list", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["experiments"][0]["name"] == "stdin"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("horizon = = 3", ("simulate", "-"), "standard input: line 1 is not TOML"),
        ("", ("simulate", "-"), "standard input: horizon is missing"),
        ("", ("sweep", "-"), "standard input: sweep is missing"),
        ("runs = 0", ("bounds", "-"), "standard input: "),
        (b"\xff", ("simulate", "-"), "standard input: byte 0 is not UTF-8"),
        ("title = 3", ("reproduce", "-", "--list"), "standard input: "),
        ("no parquet", ("import", "-"), "standard input is not an export of belated"),
        ("prot = 1", ("serve", "--config", "-"), "standard input: prot is not a setting"),
        ("prot = ", ("serve", "--config", "-"), "standard input cannot be read"),
    ],
)
def test_errors_name_standard_input(text: str | bytes, arguments: tuple[str, ...], said: str) -> None:
    result = piped(text, *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {said}"), result.stderr


# ---- sections that a command does not use ----


def warnings_of(result: Any) -> list[str]:
    assert result.exit_code == 0, result.output
    return [line for line in result.stderr.splitlines() if line.startswith("warning: ")]


def test_each_section_is_used_or_named(call: Callable[..., Any], small: Path, swept: Path) -> None:
    assert warnings_of(call("simulate", small)) == []
    for quiet in ((), ("--quiet",)):
        (said,) = warnings_of(call("simulate", swept, *quiet))
        assert f"{swept}: [sweep] is not used here" in said
        assert "belated sweep" in said
    assert warnings_of(call("sweep", swept, "-q")) == []
    policies, sweep = warnings_of(call("bounds", swept))
    assert f"{swept}: [[policies]] is not used here" in policies
    assert "c = ln T" in policies
    assert f"{swept}: [sweep] is not used here" in sweep
    head, _, _ = small.read_text().partition("[[policies]]")
    small.write_text(head)
    assert warnings_of(call("bounds", small)) == []
    result = call("sweep", small)
    assert result.exit_code == 2
    assert "sweep is missing" in result.stderr


def test_a_file_of_another_command_is_an_error(call: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(EXPERIMENT)
    for command in ("simulate", "sweep", "bounds"):
        assert call(command, path).exit_code == 2
    result = call("reproduce", small)
    assert result.exit_code == 2
    assert "small.toml: " in result.stderr


# ---- --device ----


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "swept.toml"),
        ("sweep", "swept.toml"),
        ("arena", "--rows", "fixed-200", "--policies", "UCB,SE", "--runs", "2"),
        ("reproduce", "table1", "--fraction", "0.01"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_that_plays_takes_a_device(
    call: Callable[..., Any], swept: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from belated.engine.gpu import launch
    from belated.errors import MissingComponent

    def missing() -> None:
        raise MissingComponent("device='cuda' finds no GPU")

    monkeypatch.setattr(launch, "check_available", missing)
    result = call(*arguments, "--device", "cuda")
    assert result.exit_code == 2
    assert "error: device='cuda' finds no GPU" in result.stderr
    result = call(*arguments, "--device", "gpu")
    assert result.exit_code == 2
    assert "--device is 'gpu'" in result.stderr
    assert not Path("made/result.npz").exists()
