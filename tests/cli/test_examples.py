from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.studies.config import read_simulation

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def test_there_are_examples() -> None:
    names = {path.stem for path in EXAMPLES}
    assert {"figure1-top", "pareto", "delay-sweep", "packet-loss", "reward-dependent"} <= names


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_names_its_command(call: Callable[..., Any], path: Path) -> None:
    text = path.read_text()
    command = "sweep" if "[sweep]" in text else "simulate"
    assert f"#   belated {command} examples/{path.name}\n" in text
    assert text.startswith("# ")
    result = call(command, path, "--runs", 2, "--horizon", 400)
    assert result.exit_code == 0, result.stderr
    assert f"wrote out/{path.stem}: " in result.stdout
    assert sorted(Path("out").iterdir()) == [Path("out") / path.stem]
    experiment = read_simulation(path)
    assert all(policy.label in result.stdout for policy in experiment.policies)
