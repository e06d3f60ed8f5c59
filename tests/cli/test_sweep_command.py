from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from belated import Result
from belated.errors import Interrupted
from belated.simulation.simulate import simulate

RESULTS = ["0-rounds=0.npz", "1-rounds=20.npz", "2-rounds=100.npz"]


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_files_contain_a_result_for_each_value(call: Callable[..., Any], swept: Path) -> None:
    assert call("sweep", swept).exit_code == 0
    assert names("made") == ["results", "sweep.csv", "sweep.png", "sweep.svg", "sweep.sweep"]
    assert names("made/results") == RESULTS
    frame = pandas.read_csv("made/sweep.csv")
    assert frame["value"].tolist() == [0, 20, 100] * 2
    assert set(frame["parameter"]) == {"problem.delays.rounds"}
    for place, name in enumerate(RESULTS):
        result = Result.load(Path("made/results") / name)
        delay = (0, 20, 100)[place]
        assert result.manifest.problem["delays"][0] == {"law": "Fixed", "rounds": delay}
        again = result.rerun()
        assert np.array_equal(again.final, result.final)
        rows = frame[frame["value"] == delay]
        assert rows["mean"].to_numpy() == pytest.approx(result.final.mean(axis=1))
    assert Path("made/sweep.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in Path("made/sweep.svg").read_text()


def test_the_table_has_a_row_for_each_value(call: Callable[..., Any], swept: Path) -> None:
    swept.write_text(swept.read_text() + 'name = "delay"\n')
    text = call("sweep", swept, "--runs", 20).stdout
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines()]
    assert ["delay", "UCB", "SE"] in lines
    frame = pandas.read_csv("made/sweep.csv").set_index(["policy", "value"])
    for value in (0, 20, 100):
        row = next(line for line in lines if line and line[0] == str(value))
        assert row[2] == row[5] == "±"
        assert float(row[1]) == pytest.approx(frame.loc[("UCB", value), "mean"], rel=0.02)
        assert float(row[4]) == pytest.approx(frame.loc[("SE", value), "mean"], rel=0.02)
    assert "24k rounds in" in text
    assert "wrote made: results, sweep.csv, sweep.png, sweep.svg, sweep.sweep" in text


def test_results_of_an_earlier_sweep_are_removed(call: Callable[..., Any], swept: Path) -> None:
    call("sweep", swept, "-q")
    Path("made/notes.txt").write_text("mine")
    swept.write_text(swept.read_text().replace("[0, 20, 100]", "[7]"))
    call("sweep", swept, "-q")
    assert names("made/results") == ["0-rounds=7.npz"]
    assert names("made") == ["notes.txt", "results", "sweep.csv", "sweep.png", "sweep.svg", "sweep.sweep"]


@pytest.mark.parametrize(
    ("key", "values", "held"),
    [
        ("horizon", "[50, 100]", lambda manifest: manifest.horizon),
        ("policies[1].confidence", "[0.5, 2.0]", lambda manifest: manifest.policies[1]["confidence"]),
        ("policies.1.confidence", "[0.5, 2.0]", lambda manifest: manifest.policies[1]["confidence"]),
        ("policies[*].confidence", "[0.5, 2.0]", lambda manifest: {p["confidence"] for p in manifest.policies}),
        ("problem.rewards[0].mean", "{from = 0.1, to = 0.3, steps = 2}", lambda m: m.problem["rewards"][0]["mean"]),
    ],
)
def test_any_key_of_problem_and_policies(
    call: Callable[..., Any], swept: Path, key: str, values: str, held: Callable[[Any], Any]
) -> None:
    text = swept.read_text().partition("[sweep]")[0]
    swept.write_text(f'{text}[sweep]\nkey = "{key}"\nvalues = {values}\n')
    result = call("sweep", swept, "-q")
    assert result.exit_code == 0, result.stderr
    found = [held(Result.load(path).manifest) for path in sorted(Path("made/results").iterdir())]
    expected = {"horizon": [50, 100], "problem.rewards[0].mean": [0.1, 0.3], "policies[*].confidence": [{0.5}, {2.0}]}
    assert found == expected.get(key, [0.5, 2.0])


def test_gap_and_arms(call: Callable[..., Any], swept: Path) -> None:
    text = swept.read_text().partition("[sweep]")[0].splitlines()
    text = ["rewards = {best = 0.6, gap = 0.1, arms = 3}" if line.startswith("rewards") else line for line in text]
    for key, values in (("gap", "[0.1, 0.3]"), ("arms", "[2, 5]")):
        swept.write_text("\n".join([*text, "[sweep]", f'key = "problem.rewards.{key}"', f"values = {values}"]))
        assert call("sweep", swept, "-q", "--out", key).exit_code == 0
    gaps = [Result.load(path).manifest.problem["rewards"][1]["mean"] for path in sorted(Path("gap/results").iterdir())]
    arms = [Result.load(path).pulls.shape[2] for path in sorted(Path("arms/results").iterdir())]
    assert gaps == pytest.approx([0.5, 0.3])
    assert arms == [2, 5]


def test_text_as_values(call: Callable[..., Any], swept: Path) -> None:
    text = swept.read_text().replace("rounds = 10", "mean = 10").replace('"Fixed"', '"Poisson"')
    text = text.replace("delays.rounds", "delays.law").replace("[0, 20, 100]", '["Poisson", "Geometric"]')
    swept.write_text(text)
    result = call("sweep", swept)
    assert result.exit_code == 0, result.stderr
    assert names("made/results") == ["0-law=Poisson.npz", "1-law=Geometric.npz"]
    assert "Geometric" in result.stdout


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "sweep is missing; add a section such as [sweep]"),
        ('key = "problem.delay.rounds"\nvalues = [1]', "and the file has no problem.delay. Did you mean 'delays'?"),
        ('key = "problem.delays.rouns"\nvalues = [1]', "problem.delays.rouns is not known. Did you mean 'rounds'?"),
        (
            'key = "problem.delays.rounds"\nvalues = [1, -1]',
            "with problem.delays.rounds = -1: problem.delays.rounds",
        ),
        ('key = "runs"\nvalues = [1]', "sweep.key is 'runs'. Give horizon, or a key below problem or policies"),
        ('key = "horizon"\nvalue = [1]', "sweep.value is not known. Did you mean 'values'?"),
    ],
)
def test_a_mistake_in_the_section(call: Callable[..., Any], swept: Path, lines: str, said: str) -> None:
    text = swept.read_text().partition("[sweep]")[0]
    swept.write_text(f"{text}[sweep]\n{lines}\n" if lines else text)
    result = call("sweep", swept)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {swept}: ")
    assert said in result.stderr
    assert not Path("made").exists()


def test_horizon_cannot_be_given_and_swept(call: Callable[..., Any], swept: Path) -> None:
    swept.write_text(swept.read_text().replace("problem.delays.rounds", "horizon").replace("[0, ", "[5, "))
    assert call("sweep", swept, "-q").exit_code == 0
    result = call("sweep", swept, "--horizon", 9)
    assert result.exit_code == 2
    assert "leave out --horizon" in result.stderr


@pytest.mark.parametrize("finished", [0, 2])
def test_an_interruption_keeps_the_finished_values(
    call: Callable[..., Any], swept: Path, monkeypatch: pytest.MonkeyPatch, finished: int
) -> None:
    calls = 0

    def some(*arguments: Any, **options: Any) -> Result:
        nonlocal calls
        calls += 1
        if calls > finished:
            raise Interrupted("interrupted before a run was finished.", None)
        return simulate(*arguments, **options)

    monkeypatch.setattr(importlib.import_module("belated.studies.runner"), "simulate", some)
    result = call("sweep", swept)
    assert result.exit_code == 130
    assert f"interrupted after {finished} of 3 values" in result.stderr
    if finished:
        assert names("made/results") == RESULTS[:2]
        assert pandas.read_csv("made/sweep.csv")["value"].tolist() == [0, 20] * 2
    else:
        assert not Path("made").exists()


def test_two_parameters_play_all_pairs(call: Callable[..., Any], swept: Path) -> None:
    head = swept.read_text().partition("[sweep]")[0]
    delays = '[[sweep]]\nkey = "problem.delays.rounds"\nvalues = [0, 20, 100]\nname = "delay"\n'
    swept.write_text(head + delays + '[[sweep]]\nkey = "horizon"\nvalues = [40, 60]\n')
    text = call("sweep", swept, "--runs", 4).stdout
    assert ["delay", "horizon", "UCB", "SE"] in [line.split() for line in text.splitlines()]
    frame = pandas.read_csv("made/sweep.csv")
    assert frame[["delay", "horizon"]].to_numpy().tolist() == [[d, t] for d in (0, 20, 100) for t in (40, 60)] * 2
    assert names("made/results")[1] == "1-rounds=0-horizon=60.npz"
    result = Result.load("made/results/1-rounds=0-horizon=60.npz")
    assert frame["mean"][1] == pytest.approx(result.final[0].mean())
    drawn = Path("made/sweep.png").read_bytes()
    assert call("plot", "made").exit_code == 0
    assert Path("made/sweep.png").read_bytes() == drawn


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["horizon", "horizon"], "both sections have the key 'horizon'"),
        (["horizon", "problem.delays.rounds", "runs"], r"sweep has 3 sections [[sweep]]; give one or two"),
    ],
)
def test_sections_that_are_no_two_parameters(
    call: Callable[..., Any], swept: Path, keys: list[str], message: str
) -> None:
    head = swept.read_text().partition("[sweep]")[0]
    swept.write_text(head + "".join(f'[[sweep]]\nkey = "{key}"\nvalues = [40, 60]\n' for key in keys))
    outcome = call("sweep", swept)
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.split())
