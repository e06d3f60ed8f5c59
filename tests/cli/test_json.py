"""--json: one valid JSON object on standard output, with the numbers of the tables, from every command with results."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Result
from belated.cli.json_output import _plain
from belated.errors import Interrupted

WITHOUT_RESULTS = {"serve", "demo"}
"""They run until they are stopped, and print an address."""

EXPERIMENT = """\
title = "Mine"
place = "here"
about = "About it."

[studies.one]
horizon = 200
runs = 2
problem = {rewards = {best = 0.6, gap = 0.2, arms = 2}, delays = {law = "Fixed", rounds = 1}}
policies = [{policy = "UCB", confidence = 1.0}]
"""


def read(result: Any, status: int = 0) -> Any:
    """What a command printed, which is JSON and nothing else."""
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_every_command_with_results_has_it(call: Callable[..., Any]) -> None:
    commands = importlib.import_module("typer.main").get_command(importlib.import_module("belated.cli").app).commands
    flat = {name: one for name, one in commands.items() if name != "keys"}
    flat |= {f"keys {name}": one for name, one in commands["keys"].commands.items()}
    with_json = {name for name, one in flat.items() if any("--json" in parameter.opts for parameter in one.params)}
    assert set(flat) - with_json == WITHOUT_RESULTS
    assert len(flat) >= 15


def test_simulate(call: Callable[..., Any], small: Path) -> None:
    data = read(call("simulate", small, "--json"))
    result = Result.load("made/result.npz")
    assert list(data) == [
        *("name", "arms", "horizon", "runs", "seed", "policies", "rounds", "seconds", "out", "files", "interrupted")
    ]
    assert (data["name"], data["arms"], data["horizon"], data["runs"], data["seed"]) == ("small", 2, 200, 4, 0)
    assert (data["out"], data["interrupted"], data["rounds"]) == ("made", False, 1600)
    assert data["files"] == sorted(path.name for path in Path("made").iterdir())
    best = int(np.argmin(result.final.mean(axis=1)))
    for number, row in enumerate(data["policies"]):
        assert list(row) == [
            *("label", "regret", "stderr", "above_best", "best_arm", "observed", "in_flight", "lost"),
        ]
        assert row["label"] == result.labels[number]
        assert row["regret"] == result.final[number].mean()
        pulls = result.pulls[number].sum()
        assert row["best_arm"] == result.pulls[number, :, 1].sum() / pulls
        assert row["observed"] + row["in_flight"] + row["lost"] == pytest.approx(1.0)
        if number == best:
            assert row["above_best"] is None
        else:
            assert row["above_best"]["mean"] == result.difference(number, best).mean


def test_the_table_shows_the_same_numbers(call: Callable[..., Any], small: Path) -> None:
    rows = read(call("simulate", small, "--json"))["policies"]
    lines = call("simulate", small).stdout.splitlines()
    for row in rows:
        (line,) = [line for line in lines if line.startswith(f"{row['label']} ")]
        assert float(line.split()[1]) == pytest.approx(row["regret"], rel=0.02)


def test_unknown_numbers_are_null_and_quiet_prints_it_all_the_same(call: Callable[..., Any], small: Path) -> None:
    data = read(call("simulate", small, "--runs", 1, "--json", "--quiet"))
    assert [row["stderr"] for row in data["policies"]] == [None, None]
    assert _plain({"a": [math.inf, -math.inf, math.nan, np.float64(1.5), np.arange(2)], 3: Path("x")}) == {
        "a": [None, None, None, 1.5, [0, 1]],
        "3": "x",
    }


def test_sweep(call: Callable[..., Any], swept: Path) -> None:
    data = read(call("sweep", swept, "--json"))
    assert (data["key"], data["values"], data["runs"]) == ("problem.delays.rounds", [0, 20, 100], 4)
    results = [Result.load(path) for path in sorted(Path("made/results").iterdir())]
    for number, row in enumerate(data["policies"]):
        assert row["regret"] == [result.final[number].mean() for result in results]


def test_plot(call: Callable[..., Any], small: Path) -> None:
    call("simulate", small, "-q")
    assert read(call("plot", "made", "--json")) == {"file": "made/regret.png"}


def test_bounds(call: Callable[..., Any], small: Path) -> None:
    small.write_text(small.read_text().replace('"SuccessiveElimination"\nconfidence = 1.0', '"ThompsonSampling"'))
    result = call("bounds", small, "--json")
    data = read(result)
    table = call("bounds", small).stdout
    assert {row["policy"] for row in data["bounds"]} >= {"UCB", "SE", "OPSE"}
    for row in data["bounds"]:
        assert sum(row["terms"].values()) == pytest.approx(row["bound"])
        assert f"\n{row['policy']} " in table
    assert data["largest_regret"] == pytest.approx(200 * 0.4)
    assert data["without_bound"] == [{"policy": "Thompson", "reason": "no bound is proven for this policy"}]
    assert data["table1"][0]["earlier"]


def test_arena(call: Callable[..., Any]) -> None:
    listed = read(call("arena", "--list", "--json"))["scenarios"]
    assert len(listed) > 10
    assert set(listed[0]) == {"name", "kind", "reason", "horizon", "held_out", "twin", "real"}
    assert {row["name"]: row["twin"] for row in listed}["one-never"] == "one-never-mirror"
    (long, *_) = read(call("arena", "--list", "--long", "--json"))["scenarios"]
    assert long["horizon"] == 1_000_000
    options = ("--rows", "fixed-200", "--policies", "UCB,ThompsonSampling", "--runs", 4, "--json")
    data = read(call("arena", *options))
    scores = json.loads(Path("out/arena/scores.json").read_text())
    (row,) = data["scenarios"]
    assert list(row["regret"].values()) == scores["regret"][0]
    assert [policy["all"] for policy in data["policies"]] == pytest.approx(sorted(row["ratio"].values()))
    assert list(row["losing"].values()) == scores["losing"][0]
    assert [policy["to_limit"] for policy in data["policies"]] == [policy["all"] for policy in data["policies"]]
    assert row["limit"] == 1.0
    assert data["policies"][0]["worst"] == {"scenario": "fixed-200", "ratio": 1.0}
    assert data["policies"][0]["held_out"] is None or row["held_out"]


def test_reproduce(call: Callable[..., Any], tmp_path: Path) -> None:
    listed = read(call("reproduce", "--list", "--json"))["experiments"]
    assert {"name", "title", "sentences", "tests", "runs", "max_runs", "rounds"} == set(listed[0])
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    data = read(call("reproduce", "mine.toml", "--json"))
    written = json.loads(Path("out/paper/report/claims.json").read_text())
    assert {key: value for key, value in data.items() if key in written} == written
    assert (data["out"], data["interrupted"], data["experiments"][0]["name"]) == ("out/paper", False, "mine")


def test_catalogues(call: Callable[..., Any]) -> None:
    policies = read(call("policies", "--json"))["policies"]
    assert {"UCB", "ThompsonSampling"} <= {policy["name"] for policy in policies}
    (ucb,) = read(call("policies", "ucb", "--json"))["policies"]
    assert ucb["name"] == ucb["label"] == "UCB"
    assert {"name", "allowed", "required", "default"} == set(ucb["parameters"][0])
    laws = read(call("laws", "--json"))["laws"]
    assert {"reward law", "delay law"} == {law["kind"] for law in laws}
    assert [law["kind"] for law in read(call("laws", "Uniform", "--json"))["laws"]] == ["reward law", "delay law"]


def test_an_error_prints_no_json(call: Callable[..., Any], small: Path) -> None:
    result = call("simulate", "nowhere.toml", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no such file" in result.stderr


def test_an_interruption_is_in_it(call: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("belated.simulation.simulate")
    plain = module.simulate

    def stopped(*arguments: Any, **options: Any) -> None:
        raise Interrupted("interrupted", plain(*arguments, **options | {"runs": 2}))

    monkeypatch.setattr(module, "simulate", stopped)
    result = call("simulate", small, "--json")
    data = read(result, 130)
    assert (data["runs"], data["interrupted"]) == (2, True)
    assert "after 2 of 4 runs" in result.stderr
