"""The C program: compile it, run it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from task import HERE, TASK

SOURCE = HERE / "c" / "ucb.c"
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-Wall", "-Wextra")


class Played(NamedTuple):
    """What the C program prints."""

    variant: str
    cpu_s: float
    ns_per_round: float
    mean_regret: float
    stderr: float
    halfway_regret: float


class Program(NamedTuple):
    """One build of the C program."""

    variant: str
    path: Path

    def play(self, runs: int, seed: int = 0, horizon: int = TASK.horizon) -> Played:
        """Play the task so many times."""
        arguments = [str(self.path), str(horizon), str(TASK.delay), str(runs), str(seed)]
        means = " ".join(map(repr, TASK.means))
        done = subprocess.run(arguments, input=means, capture_output=True, text=True, check=True)
        return Played(**json.loads(done.stdout))


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


def build() -> dict[str, Program]:
    """Compile both builds; where there is no AVX-512 they are one, called ``portable``."""
    folder = HERE / ".build"
    folder.mkdir(exist_ok=True)
    programs: dict[str, Program] = {}
    for name, extra in (("ucb", []), ("ucb-portable", ["-DPORTABLE"])):
        path = folder / name
        command = [compiler(), *FLAGS, f"-DARMS={TASK.arms}", *extra, str(SOURCE)]
        subprocess.run([*command, "-o", str(path), "-lm"], check=True)
        variant = Program("", path).play(runs=2, horizon=100).variant
        programs.setdefault(variant, Program(variant, path))
    return programs
