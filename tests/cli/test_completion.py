"""Shells complete commands, options, names and files, without loading the compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from belated.cli import app
from belated.delays import DELAYS
from belated.policies import POLICIES
from belated.rewards import REWARDS
from belated.studies.arena.scenarios import scenarios
from belated.studies.experiments import NAMES


def completed(line: str) -> list[str]:
    """What bash would offer for the last word of a line."""
    words = line.split(" ")
    environment = {"_BELATED_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = CliRunner().invoke(app, [], env=environment, prog_name="belated")
    assert result.exit_code == 0, result.output
    return result.stdout.split()


def test_commands_and_options() -> None:
    assert completed("belated si") == ["simulate"]
    assert {"simulate", "sweep", "serve", "keys"} <= set(completed("belated "))
    assert completed("belated keys c") == ["create"]
    assert completed("belated simulate --js") == ["--json"]
    assert completed("belated sweep x.toml --dev") == ["--device"]


def test_names() -> None:
    assert completed("belated policies ") == sorted(POLICIES)
    assert completed("belated policies Thom") == ["ThompsonSampling"]
    assert set(completed("belated laws ")) == {*REWARDS, *DELAYS}
    assert completed("belated simulate --device cu") == ["cuda"]
    assert completed("belated keys create --role w") == ["writer"]
    assert completed("belated serve --log wa") == ["warning"]
    assert completed("belated arena --policies UCB,Thom") == ["UCB,ThompsonSampling"]
    assert sorted(completed("belated arena --rows ")) == sorted(
        scenario.name for scenario in [*scenarios(), *scenarios(long=True)]
    )
    assert completed("belated arena --rows fixed-200,fixed-1000") == ["fixed-200,fixed-1000-five-arms"]


def test_experiments_and_files(tmp_path: Path) -> None:
    assert set(completed("belated reproduce ")) == {*NAMES, "all"}
    for name in ("mine.toml", "mine.txt", "folder/more.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert completed("belated reproduce mi") == ["mine.toml"]
    assert completed("belated reproduce fo") == ["folder/"]
    assert completed("belated reproduce folder/") == ["folder/more.toml"]
    assert completed("belated simulate ") == []  # the shell itself completes paths


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_of_shells(shell: str) -> None:
    environment = {"_BELATED_COMPLETE": f"source_{shell}"}
    result = CliRunner().invoke(app, [], env=environment, prog_name="belated")
    assert result.exit_code == 0, result.output
    assert "_BELATED_COMPLETE" in result.output
    assert f"complete_{shell}" in result.output


def test_the_compiler_is_not_loaded(environment: dict[str, str]) -> None:
    script = (
        "import os, sys\nfrom belated.cli import app\n"
        "for line in ('belated si', 'belated policies U', 'belated laws P', 'belated reproduce ', "
        "'belated arena --rows f'):\n"
        "    os.environ.update(_BELATED_COMPLETE='complete_bash', COMP_WORDS=line, "
        "COMP_CWORD=str(line.count(' ')))\n"
        "    try:\n        app(prog_name='belated')\n    except SystemExit:\n        pass\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'numba', 'scipy', 'matplotlib', 'pandas'}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr.strip() == "[]"
    assert "simulate" in done.stdout
    assert "UniformChoice" in done.stdout
