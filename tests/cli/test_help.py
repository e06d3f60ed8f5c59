from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from belated import __version__
from belated.cli import help_text
from belated.studies.config import SimulationFile, read_simulation, read_sweep

KEYS = [key.name for key in fields(SimulationFile)]
COMMANDS = ("policies", "laws", "simulate", "sweep", "plot")


def test_without_arguments_the_help_is_shown(call: Callable[..., Any]) -> None:
    bare, asked = call(), call("--help")
    assert bare.exit_code == asked.exit_code == 0
    assert bare.output.strip() == asked.output.strip()
    assert all(re.search(rf"│ {name} ", bare.output) for name in COMMANDS)


def test_version(call: Callable[..., Any]) -> None:
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"belated {__version__}\n")


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(call: Callable[..., Any], arguments: list[str]) -> None:
    result = call(*arguments, "--help")
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    assert "[not dim]" not in result.output
    assert "[/" not in result.output


@pytest.mark.parametrize(
    "text", [help_text.APP, help_text.SIMULATE, help_text.SWEEP, help_text.POLICIES, help_text.LAWS, help_text.PLOT]
)
def test_help_lines_are_not_wrapped(text: str) -> None:
    from rich.text import Text

    assert max(map(len, Text.from_markup(text).plain.splitlines())) <= 78


def test_help_shows_the_examples_as_they_are(call: Callable[..., Any]) -> None:
    for command, texts in {
        "simulate": (help_text.example("first"), help_text.example("complete"), help_text.PROBLEMS),
        "sweep": (help_text.example("sweep"),),
    }.items():
        shown = [line.strip() for line in call(command, "--help").output.splitlines()]
        for text in texts:
            missing = [line for line in text.splitlines() if line.strip() not in shown]
            assert not missing


def test_help_explains_every_key_of_a_file(call: Callable[..., Any]) -> None:
    text = call("simulate", "--help").output + call("sweep", "--help").output
    assert all(re.search(rf"^ +\[?\[?{key}\b", text, re.MULTILINE) for key in KEYS)


def test_examples_of_the_help_run(call: Callable[..., Any], tmp_path: Path) -> None:
    for text in (help_text.example("first"), help_text.example("complete")):
        (tmp_path / "first.toml").write_text(text)
        assert call("simulate", "first.toml", "--runs", 2, "--horizon", 300).exit_code == 0
    (tmp_path / "delays.toml").write_text(help_text.example("sweep"))
    assert call("sweep", "delays.toml", "--runs", 2, "--horizon", 300).exit_code == 0


def test_the_other_ways_to_write_a_problem_can_be_read(tmp_path: Path) -> None:
    lines = [line for line in help_text.PROBLEMS.splitlines() if not line.startswith("#")]
    gapped, alike, *delays, family = lines
    rest = '\n[[policies]]\npolicy = "UCB"\n'
    for rewards in (gapped, "rewards = [{law = 'Bernoulli', mean = 0.5}]"):
        path = tmp_path / "one.toml"
        path.write_text("\n".join(["horizon = 100", "[problem]", rewards, *delays, rest]))
        read_simulation(path)
    path.write_text("\n".join(["horizon = 100", "[problem]", alike, 'delays = {law = "Never"}', rest]))
    assert read_simulation(path).problem.arms == 10  # type: ignore[union-attr]
    (tmp_path / "my_module.py").write_text(
        "from belated import Problem\nfrom belated.delays import Fixed\nfrom belated.rewards import Bernoulli\n\n"
        "def function(rng):\n    return Problem([Bernoulli(rng.uniform())], Fixed(3))\n"
    )
    path.write_text("\n".join(["horizon = 100", "[problem]", family, rest]))
    assert callable(read_simulation(path).problem)


@pytest.mark.parametrize(("key", "values"), help_text.SWEPT_KEYS)
def test_the_keys_of_the_help_can_be_swept(tmp_path: Path, key: str, values: str) -> None:
    if "alpha" in key:
        delays = '[{law = "Pareto", alpha = 1.0}, {law = "Pareto", alpha = 0.2, repeat = 9}]'
    elif key.endswith("law"):
        delays = '{law = "Geometric", mean = 200}'
    else:
        delays = '{law = "Fixed", rounds = 200}'
    text = help_text.example("sweep").replace('{law = "Fixed", rounds = 200}', delays).partition("[sweep]")[0]
    path = tmp_path / "sweep.toml"
    path.write_text(f'{text}[sweep]\nkey = "{key}"\nvalues = {values.partition("   ")[0]}\n')
    plan = read_sweep(path)
    assert plan.key == key
    assert len(plan.study.cells) >= 2


def test_help_needs_no_heavy_module(environment: dict[str, str]) -> None:
    script = (
        "import sys\nfrom belated.cli import app\n"
        "for arguments in ([], ['simulate'], ['serve'], ['keys']):\n"
        "    try:\n        app([*arguments, '--help'])\n    except SystemExit:\n        pass\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'matplotlib', 'pandas', 'numba', 'scipy', 'numpy', 'starlette'}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr.strip() == "[]"
