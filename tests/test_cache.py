"""Compiled code on disk: kept where it may be, and never older than the sources it was made from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from belated.kernel import jit

POLICY = """
from belated.forms.base import policy
from belated.forms.confidence import ConfidencePolicy
from belated.forms.index import IndexPolicy
from helper import weight

@policy
class Mine(IndexPolicy, ConfidencePolicy):
    label = "Mine"

    @staticmethod
    def index(policy, arm):
        return weight(arm.total, arm.observed)
"""
HELPER = """
from belated.kernel import inner

@inner
def weight(total, observed):
    return {formula}
"""
PLAY = """
from belated import Problem, simulate
from belated.delays import Fixed
from belated.rewards import Constant
from mine import Mine

result = simulate(Problem([Constant(0.2), Constant(0.8)], Fixed(0)), [Mine()], horizon=100, runs=1)
print(int(result.pulls[0, 0, 0]))
"""


def play(folder: Path, cache: Path) -> int:
    """How often the worse arm was pulled, in a process of its own."""
    environment = {
        **os.environ,
        "BELATED_CACHE_DIR": str(cache),
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment["PYTHONPATH"] += os.pathsep + str(Path(jit.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", PLAY], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("writable", [True, False])
def test_an_edit_in_a_helper_of_a_policy_is_seen(tmp_path: Path, writable: bool) -> None:
    cache = tmp_path / "cache"
    if not writable:
        cache.write_text("a file, so no folder can be made here")
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "helper.py").write_text(HELPER.format(formula="total / max(observed, 1.0)"))
    assert play(tmp_path, cache) == 1  # the better arm has the larger mean
    if writable:
        assert list(cache.rglob("*.nbi"))
        assert play(tmp_path, cache) == 1
    (tmp_path / "helper.py").write_text(HELPER.format(formula="-total / max(observed, 1.0)"))
    assert play(tmp_path, cache) == 99


def test_every_file_with_compiled_code_is_part_of_the_hash() -> None:
    package = Path(jit.__file__).parent
    hashed = {path for part in jit._COMPILED for path in package.glob(part)}
    marks = ("@compiled", "@inner", "@merged", "@outlined", "@entry", "@dispatched", "@called_by_address")
    compiled = {path for path in package.rglob("*.py") if any(f"\n{mark}\n" in path.read_text() for mark in marks)}
    assert len(compiled) > 8
    assert compiled <= hashed


def test_old_folders_are_forgotten_and_others_are_not(tmp_path: Path) -> None:
    old, young, foreign = (tmp_path / name for name in ("0123456789abcdef", "fedcba9876543210", "something else"))
    for folder in (old, young, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    jit._forget_old(tmp_path)
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


CONSTANT_POLICY = """
import settings
from belated.forms.base import policy
from belated.forms.confidence import ConfidencePolicy
from belated.forms.index import IndexPolicy
from settings import SIGN

@policy
class Mine(IndexPolicy, ConfidencePolicy):
    label = "Mine"

    @staticmethod
    def index(policy, arm):
        return {sign} * arm.total / max(arm.observed, 1.0)
"""


@pytest.mark.parametrize("sign", ["SIGN", "settings.SIGN"])
def test_an_edit_of_a_constant_in_another_file_is_seen(tmp_path: Path, sign: str) -> None:
    cache = tmp_path / "cache"
    (tmp_path / "mine.py").write_text(CONSTANT_POLICY.format(sign=sign))
    (tmp_path / "settings.py").write_text("SIGN = 1.0\n")
    assert play(tmp_path, cache) == 1
    assert list(cache.rglob("*.nbi"))
    (tmp_path / "settings.py").write_text("SIGN = -1.0\n")
    assert play(tmp_path, cache) == 99
