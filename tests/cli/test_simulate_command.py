from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from rich.console import Console

import belated.simulation.figures
from belated import Problem, Result, simulate
from belated.cli import tables
from belated.delays import Fixed
from belated.errors import Interrupted
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli
from belated.studies.config import read_simulation

FILES = ["regret.csv", "regret.png", "regret.svg", "result.npz"]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_files_contain_the_result(call: Callable[..., Any], small: Path, tmp_path: Path) -> None:
    assert call("simulate", small).exit_code == 0
    made = tmp_path / "made"
    assert list(files(made)) == FILES
    problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(10))
    direct = simulate(
        problem, [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)], horizon=200, runs=4, progress=False
    )
    saved = Result.load(made / "result.npz")
    assert np.array_equal(saved.curves, direct.curves)
    assert np.array_equal(saved.pulls, direct.pulls)
    pandas.testing.assert_frame_equal(pandas.read_csv(made / "regret.csv"), direct.to_frame(), check_dtype=False)
    assert (made / "regret.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (made / "regret.svg").read_text()


def test_table_shows_regret_and_feedback(call: Callable[..., Any], small: Path) -> None:
    text = call("simulate", small, "--runs", 50, "--workers", 1).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "small  2 arms, T = 200, 50 runs, seed 0" in text
    result = Result.load("made/result.npz")
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith(("UCB ", "SE "))}
    best, other = np.argsort(result.final.mean(axis=1))
    for place, label in enumerate(result.labels):
        mean, stderr = result.final[place].mean(), result.final[place].std(ddof=1) / np.sqrt(50)
        numbers = re.findall(r"[\d.]+", rows[label])
        assert float(numbers[0]) == pytest.approx(mean, rel=0.02)
        assert float(numbers[1]) == pytest.approx(stderr, rel=0.1)
        pulls = result.pulls[place]
        shares = [pulls[:, 1].sum(), *(part[place].sum() for part in (result.observed, result.in_flight, result.lost))]
        shown = re.findall(r"([\d.]+)%", rows[label])
        assert [float(one) for one in shown] == pytest.approx([100 * one / pulls.sum() for one in shares], abs=0.06)
    assert " best " in rows[result.labels[best]]
    apart = result.difference(int(other), int(best))
    found = re.search(r"\+([\d.]+) ± ([\d.]+), ([\d.]+)x", rows[result.labels[other]])
    assert found is not None
    assert float(found[1]) == pytest.approx(apart.mean, rel=0.02)
    assert float(found[2]) == pytest.approx(apart.stderr, rel=0.1)
    ratio = result.final[other].mean() / result.final[best].mean()
    assert float(found[3]) == pytest.approx(ratio, rel=0.02)
    assert re.search(r"20k rounds in .+, .+ rounds/s", text)
    assert f"wrote made: {', '.join(FILES)}" in text


def test_a_narrow_terminal_gets_a_narrow_table(
    call: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    text = call("simulate", small, "--runs", 1).stdout
    table = text.splitlines()[1:6]
    assert table[0] == "small  2 arms, T = 200, 1 run, seed 0"
    assert max(map(len, table)) <= 50
    assert any(line.startswith("UCB ") for line in table)


def test_the_best_arm_of_a_family_is_that_of_each_run(call: Callable[..., Any], small: Path) -> None:
    text = small.read_text().replace("0.3", "{uniform = [0.0, 1.0]}").replace("0.7", "{uniform = [0.0, 1.0]}")
    small.write_text(text)
    assert call("simulate", small, "--runs", 30).exit_code == 0
    result = Result.load("made/result.npz")
    from belated.cli.tables import best_arm_pulls

    found = best_arm_pulls(result)
    assert found is not None
    for place, (best, pulls) in enumerate(found):
        assert pulls == result.pulls[place].sum()
        # a run's regret is its gap times the pulls of the worse arm, so the best arm's pulls follow from the gaps
        worse = 0.0
        for run in range(30):
            from belated.kernel.rng import family_generator

            problem = read_simulation(small).problem(family_generator(0, run))  # type: ignore[operator]
            worse += result.final[place, run] / problem.gaps.max()
        assert pulls - best == pytest.approx(worse)


def test_options_override_the_file(call: Callable[..., Any], small: Path) -> None:
    options = ("--runs", 3, "--seed", 9, "--horizon", 50, "--out", "elsewhere", "--workers", 1)
    assert call("simulate", small, *options).exit_code == 0
    manifest = Result.load("elsewhere/result.npz").manifest
    assert (manifest.runs, manifest.seed, manifest.horizon) == (3, 9, 50)
    assert not Path("made").exists()


def test_quiet_prints_nothing(call: Callable[..., Any], small: Path) -> None:
    result = call("simulate", small, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("made/result.npz").exists()


def test_without_out_the_folder_has_the_name_of_the_file(call: Callable[..., Any], small: Path) -> None:
    small.write_text(small.read_text().replace('out = "made"\n', ""))
    assert call("simulate", small, "-q").exit_code == 0
    assert list(files(Path("out/small"))) == FILES


def test_the_same_file_gives_the_same_bytes(call: Callable[..., Any], small: Path) -> None:
    call("simulate", small, "-q", "--out", "a", "--workers", 1)
    call("simulate", small, "-q", "--out", "b", "--workers", 2)
    a, b = files(Path("a")), files(Path("b"))
    assert all(a[name] == b[name] for name in FILES if name != "result.npz")  # which holds the seconds it took


def test_existing_output_is_replaced(call: Callable[..., Any], small: Path) -> None:
    call("simulate", small, "-q")
    before = files(Path("made"))
    Path("made/notes.txt").write_text("mine")
    call("simulate", small, "-q", "--seed", 1)
    after = files(Path("made"))
    assert list(after) == sorted([*FILES, "notes.txt"])
    assert after["notes.txt"] == b"mine"
    assert all(after[name] != before[name] for name in FILES)


def test_failure_keeps_existing_output(call: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call("simulate", small, "-q")
    before = files(Path("made"))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "regret.svg")

    monkeypatch.setattr(belated.simulation.figures, "save_figure", full)
    result = call("simulate", small, "--seed", 1)
    assert result.exit_code == 2
    assert "regret.svg: No space left on device" in result.stderr
    assert files(Path("made")) == before
    result = call("simulate", small, "--out", "fresh")
    assert not Path("fresh").exists()


def test_interruption_before_any_run_writes_nothing(
    call: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise Interrupted("interrupted before a run was finished.", None)

    monkeypatch.setattr(importlib.import_module("belated.simulation.simulate"), "simulate", stopped)
    result = call("simulate", small)
    assert result.exit_code == 130
    assert "interrupted before a run was finished" in result.stderr
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("runs = 4", "runs = 0"), "runs is 0; give a whole number from 1 to"),
        (("runs = 4", "rnus = 4"), "rnus is not known. Did you mean 'runs'?"),
        (("runs = 4", "runs = = 4"), "line 2 is not TOML"),
        (("mean = 0.7", "mean = 1.7"), "problem.rewards[1].mean is 1.7; give a number in [0, 1]."),
        (('"UCB"', '"UBC"'), "policies[0].policy is 'UBC', which is not a policy. Did you mean 'UCB'?"),
    ],
)
def test_a_mistake_in_the_file(call: Callable[..., Any], small: Path, change: tuple[str, str], said: str) -> None:
    small.write_text(small.read_text().replace(*change))
    result = call("simulate", small)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {small}: {said}")
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--runs", 0), "--runs is 0; give a whole number from 1 to"),
        (("--seed", -1), "--seed is -1; give a whole number >= 0"),
        (("--horizon", 10**12), f"--horizon is {10**12}; give a whole number from 1 to"),
        (("--runs", "x"), "--runs is 'x'; give a whole number."),
        (("--workers", 0), "--workers is 0; give a number >= 1."),
        (("--device", "tpu"), "--device is 'tpu'; give 'cpu' or 'cuda'."),
        (("--rnus", 3), "No such option: --rnus"),
        (("--out", "small.toml"), "out is 'small.toml', which is a file; give a folder."),
        (("--out", "small.toml/below"), "out is 'small.toml/below', which cannot be written: Not a directory."),
    ],
)
def test_a_mistake_in_the_options(call: Callable[..., Any], small: Path, options: tuple[Any, ...], said: str) -> None:
    result = call("simulate", small, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert not Path("made").exists()


def test_a_mistake_shows_no_traceback(call: Callable[..., Any], process: Callable[..., Any], small: Path) -> None:
    for arguments in (("simulate", "."), ("simulate",)):
        result = call(*arguments)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
    for arguments in (("simulate", "nowhere.toml"), ("nonsense",), ("plot", small)):
        done = process(*arguments)
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
        assert "nowhere.toml" not in arguments or "nowhere.toml: there is no such file" in done.stderr


def test_bugs_show_a_traceback(call: Callable[..., Any], small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(importlib.import_module("belated.simulation.simulate"), "simulate", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        call("simulate", small)


def test_output_in_a_pipe_has_no_bar_and_no_colours_and_replaces_what_cannot_be_encoded(
    process: Callable[..., Any], environment: dict[str, str], small: Path
) -> None:
    environment["PYTHONIOENCODING"] = "ascii"
    done = process("simulate", small)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert "regret at T" in done.stdout


def test_closed_pipe_is_not_an_error(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "belated", "laws"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()


@pytest.mark.parametrize("width", range(50, 104, 6))
def test_no_column_of_the_table_is_cut(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """With long labels and large numbers there is room for fewer columns; those that are shown are whole."""

    def row(label: str, above: dict[str, float] | None) -> dict[str, Any]:
        shares = {"best_arm": 0.391, "observed": 0.013, "in_flight": 0.0, "lost": 0.987}
        return {"label": label, "regret": 18_589.4, "stderr": 1_203.1, "above_best": above, **shares}

    rows = [row("Imputed-UCB anytime", None), row("UCB", {"mean": 12_345.6, "stderr": 1_234.6, "ratio": 10.4})]
    monkeypatch.setattr(tables, "policy_rows", lambda result: rows)
    file = StringIO()
    Console(width=width, file=file).print(tables.summary(None, width))  # type: ignore[arg-type]
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    (found,) = (line for line in lines if line.startswith("UCB  "))
    cells = re.split("  +", found.strip())
    whole = ["UCB", "18,589 ± 1,203", "+12,346 ± 1,235, 10x", "39.1%", "1.3%", "0%", "98.7%"]
    assert cells == whole[: len(cells)]
    header = next(line for line in lines if line.startswith("policy"))
    names = ["policy", "regret at T", "above the best", "arm", "served", "flight", "lost"]
    assert re.split("  +", header.strip()) == names[: len(cells)]
    assert len(cells) == {50: 3, 56: 4, 62: 4, 68: 5, 74: 6}.get(width, 7)
