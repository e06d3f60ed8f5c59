"""The C programs: compile them, run them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from task import HERE, TASK

SOURCES = HERE / "c"
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-Wall", "-Wextra")
POLICIES = {
    "SE": "SE",
    "PSE": "PSE",
    "OPSE": "OPSE",
    "PatientBandits": "PATIENT",
    "Optimistic-UCB": "OPTIMISTIC",
    "Thompson": "THOMPSON",
}
"""By the policy's label: what -DPOLICY= builds its program."""

WHEELS = {"Uniform(0, 400)": "UNIFORM", "ByReward(table)": "LATE", "ByReward(function)": "LATER"}
"""Of some delay laws of ``subject.laws`` what -DLAW= builds UCB under them."""


class Played(NamedTuple):
    """What a C program prints."""

    variant: str
    cpu_s: float
    ns_per_round: float
    mean_regret: float
    stderr: float
    halfway_regret: float


class Program(NamedTuple):
    """One build of a C program."""

    variant: str
    path: Path

    def play(self, runs: int, seed: int = 0, horizon: int = TASK.horizon) -> Played:
        """Play the task so many times."""
        arguments = [str(self.path), str(horizon), str(TASK.delay), str(runs), str(seed)]
        means = " ".join(map(repr, TASK.means))
        done = subprocess.run(arguments, input=means, capture_output=True, text=True, check=True)
        return Played(**json.loads(done.stdout))

    def seconds(self, runs: int) -> float:
        """Return the CPU seconds of so many runs."""
        return self.play(runs).cpu_s


def compiler() -> str:
    """Return the C compiler's command."""
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return found
    raise SystemExit("bench: no C compiler found (cc, gcc or clang); the reference is a C program")


def compiler_version() -> str:
    """Return the first line of the compiler's ``--version``."""
    said = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def streams() -> dict[str, Program]:
    """Compile the program of one run at a time; without AVX-512 both builds are one, called ``portable``."""
    return _builds("ucb", [], ["-DPORTABLE"])


def wheels() -> dict[str, dict[str, Program]]:
    """Compile the program of one run at a time under some other delay laws, by their names."""
    return {law: _builds("ucb", [f"-DLAW={name}"], [f"-DLAW={name}", "-DPORTABLE"]) for law, name in WHEELS.items()}


def lanes() -> dict[str, Program]:
    """Compile the program of eight runs side by side: the widest the processor has, AVX2, portable."""
    return _builds("lanes", [], ["-DAVX2"], ["-DPORTABLE"])


def policies() -> dict[str, Program]:
    """Compile the program of each policy but UCB, by its label."""
    return {label: _build("policies", f"-DPOLICY={name}") for label, name in POLICIES.items()}


def _builds(source: str, *extras: list[str]) -> dict[str, Program]:
    programs = [_build(source, *extra) for extra in extras]
    return {program.variant: program for program in reversed(programs)}


def _build(source: str, *extra: str) -> Program:
    folder = HERE / ".build"
    folder.mkdir(exist_ok=True)
    path = folder / "-".join([source, *(word.replace("=", "_").lstrip("-") for word in extra)])
    command = [compiler(), *FLAGS, f"-DARMS={TASK.arms}", *extra, str(SOURCES / f"{source}.c")]
    subprocess.run([*command, "-o", str(path), "-lm"], check=True)
    return Program(Program("", path).play(runs=2, horizon=1000).variant, path)
