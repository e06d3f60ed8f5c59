from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text
from typer.main import get_command

from belated import __version__
from belated.cli import app, help_text
from belated.cli.help_page import _argument, _described, _option
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


def every_command() -> list[list[str]]:
    """The words of every command, and of every group."""
    commands = get_command(app).commands
    words = [[name] for name in commands]
    return [[], *words, *(["keys", name] for name in commands["keys"].commands)]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_help_fits_the_terminal(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """No line is too long, no text is cut off, no word is broken, and every option has its explanation beside it."""
    known = set(re.split(r"\s+", " ".join(map(plain_help, every_command()))))
    monkeypatch.setenv("COLUMNS", str(width))
    wrong = []
    for arguments in every_command():
        text = call(*arguments, "--help").output
        lines = text.splitlines()
        wrong += [(arguments, line) for line in lines if len(line) > min(width, 100) or line != line.rstrip()]
        wrong += [(arguments, mark) for mark in ("\u2026", "[/", "[bold", "[dim", "<bool>", "<str>") if mark in text]
        words = re.split(r"[\s│╭╮╰╯─]+", text)
        wrong += [(arguments, word) for word in words if word and word not in known]
        options = [line for line in lines if re.match(r"│ (-\w, )?--", line)]
        wrong += [(arguments, line) for line in options if not re.search(r"--.*?  \w", line)]
        assert lines[1].startswith(" Usage: belated")
    assert wrong == []


def plain_help(words: list[str]) -> str:
    """All texts of a command's help page, before they are laid out."""
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    parts = [f"Usage: {' '.join(['belated', *words])} [OPTIONS] COMMAND ... Arguments Options Commands -h,"]
    text = re.sub(r"^> ?", "", command.help or "", flags=re.MULTILINE)
    parts.append(Text.from_markup(text).plain)
    for parameter in command.get_params(typer.Context(command)):
        parts += [parameter.help or "", _argument(parameter), f"[{_argument(parameter)}]..."]
        parts += [_described(parameter, typer.Context(command)).plain]
        if parameter.param_type_name == "option":
            parts.append(_option(parameter))
    return " ".join([*parts, *getattr(command, "commands", ())])


def test_texts_of_the_help_are_whole_paragraphs() -> None:
    """A line break within a paragraph would stay where it is in a narrower terminal."""
    for name in (
        "APP",
        "SIMULATE",
        "SWEEP",
        "BOUNDS",
        "REPRODUCE",
        "ARENA",
        "SERVE",
        "VERIFY",
        "IMPORT",
        "KEYS",
        "DEMO",
    ):
        text = Text.from_markup(getattr(help_text, name)).plain
        code = [line for line in text.splitlines() if line.startswith(">")]
        prose = [line for line in text.splitlines() if line and not line.startswith(">")]
        assert all(len(line) <= 78 for line in code), name
        assert all(line[-1] in ".:-" or "belated " in line for line in prose), name


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
    assert all(re.search(rf"^ +\[?\[?{key}\b", text, re.MULTILINE) for key in (*KEYS, "reward_range"))
    simulate = call("simulate", "--help").output
    assert all(word in simulate for word in ("reward_range =", "[sweep]", '"Scaled"', '"Batch"', '"ByRound"'))


def test_examples_of_the_help_run(call: Callable[..., Any], tmp_path: Path) -> None:
    for text in (help_text.example("first"), help_text.example("complete")):
        (tmp_path / "first.toml").write_text(text)
        assert call("simulate", "first.toml", "--runs", 2, "--horizon", 300).exit_code == 0
    (tmp_path / "delays.toml").write_text(help_text.example("sweep"))
    assert call("sweep", "delays.toml", "--runs", 2, "--horizon", 300).exit_code == 0


def test_the_other_ways_to_write_a_problem_can_be_read(tmp_path: Path) -> None:
    parts = re.split(r"(?:^#.*\n)+", help_text.PROBLEMS, flags=re.MULTILINE)[1:]
    *problems, family = parts
    assert len(problems) == 6
    rest = '\n[[policies]]\npolicy = "UCB"\n'
    path = tmp_path / "one.toml"
    arms = []
    for part in problems:
        rewards = "" if part.startswith("rewards") else "rewards = [{law = 'Bernoulli', mean = 0.5}]\n"
        delays = "" if part.startswith("delays") else 'delays = {law = "Never"}\n'
        path.write_text(f"horizon = 100\n[problem]\n{rewards}{delays}{part}{rest}")
        arms.append(read_simulation(path).problem.arms)  # type: ignore[union-attr]
    assert arms == [10, 10, 1, 1, 1, 1]
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
    assert plan.keys == (key,)
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
