from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated import Problem, sweep
from belated.delays import Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli


@pytest.fixture
def simulated(call: Callable[..., Any], small: Path) -> Path:
    assert call("simulate", small, "-q").exit_code == 0
    return Path("made")


def test_plot_of_a_result_has_the_same_bytes(call: Callable[..., Any], simulated: Path) -> None:
    before = (simulated / "regret.png").read_bytes()
    (simulated / "regret.png").unlink()
    result = call("plot", simulated / "result.npz")
    assert (result.exit_code, result.stdout) == (0, "wrote made/regret.png\n")
    assert (simulated / "regret.png").read_bytes() == before
    call("plot", simulated, "--out", "again.svg")
    assert Path("again.svg").read_bytes() == (simulated / "regret.svg").read_bytes()


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("b/a.PDF", b"%PDF"), ("a.svg", b"<?xml")])
def test_suffix_determines_the_format(call: Callable[..., Any], simulated: Path, name: str, start: bytes) -> None:
    assert call("plot", simulated, "--out", name, "-q").output == ""
    assert Path(name).read_bytes().startswith(start)
    assert not list(Path(name).parent.glob(".*"))


def test_result_of_another_name_is_plotted_next_to_it(call: Callable[..., Any], simulated: Path) -> None:
    (simulated / "result.npz").rename("mine.npz")
    assert call("plot", "mine.npz").exit_code == 0
    assert Path("mine.png").exists()


def test_plot_of_a_sweep_has_the_same_bytes(call: Callable[..., Any], swept: Path) -> None:
    assert call("sweep", swept, "-q").exit_code == 0
    before = Path("made/sweep.png").read_bytes()
    Path("made/sweep.png").unlink()
    assert call("plot", "made").stdout == "wrote made/sweep.png\n"
    assert Path("made/sweep.png").read_bytes() == before
    assert call("plot", "made/sweep.csv", "--out", "s.svg").exit_code == 0
    assert Path("s.svg").read_bytes() == Path("made/sweep.svg").read_bytes()
    assert call("plot", "made/results/0-rounds=0.npz").exit_code == 0
    assert Path("made/results/0-rounds=0.png").exists()


def test_plot_of_a_file_of_sweep_save(call: Callable[..., Any], tmp_path: Path) -> None:
    made = sweep(lambda d: Problem([Bernoulli(0.3), Bernoulli(0.6)], Fixed(d)), [0, 5], UCB(), horizon=50, runs=3)
    path = made.save(tmp_path / "mine")
    assert call("plot", path).exit_code == 0
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")
    path.write_bytes(path.read_bytes()[:-2000])
    result = call("plot", path)
    assert (result.exit_code, "mine.sweep" in result.stderr) == (2, True)


def test_plot_of_a_folder_of_0_1_0_reads_the_table(call: Callable[..., Any], swept: Path) -> None:
    assert call("sweep", swept, "-q").exit_code == 0
    before = Path("made/sweep.png").read_bytes()
    for name in ("sweep.png", "sweep.sweep"):
        (Path("made") / name).unlink()
    assert call("plot", "made").stdout == "wrote made/sweep.png\n"
    assert Path("made/sweep.png").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.npz"], "'nowhere.npz' does not exist; give a result (.npz)"),
        (["small.toml"], "'small.toml' is not a result of belated; give a result (.npz)"),
        (["damaged.npz"], "damaged.npz"),
        (["."], "the folder '.' contains neither result.npz nor sweep.sweep"),
        (["sweep.csv"], "'sweep.csv' is not a sweep's table, or is damaged"),
        (["other/sweep.csv"], "there is no file 'other/sweep.csv'"),
        (["made", "--out", "a.xyz"], "--out is 'a.xyz'; give a file that ends in .png, .svg or .pdf."),
        (["made", "--out", "small.toml/a.png"], "--out is 'small.toml/a.png', which cannot be written"),
    ],
)
def test_mistakes(call: Callable[..., Any], simulated: Path, arguments: list[str], said: str) -> None:
    content = (simulated / "result.npz").read_bytes()
    Path("damaged.npz").write_bytes(content[:-2000])
    if arguments[0] == "sweep.csv":
        Path("sweep.csv").write_text("policy,value\nUCB,3\n")
    result = call("plot", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
