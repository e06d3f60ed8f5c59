"""``belated arena --submissions`` and ``--verify``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.studies.arena import scenarios

POLICY = """\
from belated.policies import UCB, policy


@policy
class Mine(UCB):
    label = "Mine"
"""
ABOUT = 'class = "Mine"\nauthor = "A"\nreference = "new"\nlicence = "MIT"\ndate = "2026-01-31"\n'
ROWS = ("--rows", "all-lose-half,theorem-6-*", "--development")


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A submission in the folder mine; what is checked, instead of the check, which has tests of its own."""
    policies: list[Any] = []
    monkeypatch.setattr("belated.testing.check_policy", policies.append)
    monkeypatch.setattr("belated.studies.arena.submissions.RUNS", 3)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "policy.py").write_text(POLICY)
    (tmp_path / "mine" / "submission.toml").write_text(ABOUT)
    return policies


def test_a_submission_is_checked_played_recorded_and_verified(call: Callable[..., Any], checked: list[Any]) -> None:
    result = call("arena", "--submissions", "mine", *ROWS)
    assert result.exit_code == 0, result.output
    assert [policy.label for policy in checked] == ["Mine"]
    assert "wrote mine/record.json" in result.stdout
    record = json.loads(Path("mine/record.json").read_text())
    assert list(record["scenarios"]) == ["all-lose-half", "theorem-6-first"]  # the second is held out
    assert not Path("out").exists()
    result = call("arena", "--verify", "mine")
    assert (result.exit_code, result.stdout) == (0, "mine: 2 scenarios, the same to the bit\n")
    record["scenarios"]["theorem-6-first"]["bits"] = "0" * 64
    Path("mine/record.json").write_text(json.dumps(record))
    result = call("arena", "--verify", "mine")
    assert result.exit_code == 1
    assert result.stdout == "mine: 2 scenarios, 1 wrong\n"
    assert f"mine: theorem-6-first differs: bits '{'0' * 64}' is recorded, '" in " ".join(result.stderr.split())
    result = call("arena", "--verify", "mine", "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert (data["same"], list(data["wrong"]["mine"])) == (False, ["theorem-6-first"])
    Path("mine/record.json").write_text(json.dumps(record | {"label": "Yours"}))
    assert call("arena", "--verify", "mine").stdout == "mine: 2 scenarios, 1 wrong, label wrong\n"
    assert call("arena", "--verify", "mine", "--rows", "all-lose-half").stdout == "mine: 1 scenario, label wrong\n"
    Path("mine/record.json").write_text(json.dumps(record))
    assert call("arena", "--verify", "mine", "--rows", "all-lose-half", "--quiet").output == ""
    result = call("arena", "--submissions", "mine", *ROWS)  # the record is replaced, and what was wrong is told
    assert result.exit_code == 0
    assert "mine: theorem-6-first differs: bits '000" in " ".join(result.stderr.split())
    assert "all-lose-half" not in result.stderr
    assert call("arena", "--verify", "mine").exit_code == 0
    assert call("arena", "--submissions", "mine", "--rows", "all-lose-half", "--quiet").stderr == ""
    with Path("mine/policy.py").open("a") as file:
        file.write("# edited\n")
    result = call("arena", "--verify", "mine")
    assert (result.exit_code, result.stdout) == (1, "mine: nothing was played, policy.py wrong\n")
    assert "mine: policy.py is not the file that was recorded" in " ".join(result.stderr.split())


def test_one_that_breaks_the_contract_is_not_recorded(
    call: Callable[..., Any], checked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(policy: Any) -> None:
        raise AssertionError("Mine() without delays: plain Python and compiled code differ.")

    monkeypatch.setattr("belated.testing.check_policy", refuse)
    result = call("arena", "--submissions", "mine", *ROWS)
    assert result.exit_code == 2
    assert "mine breaks the contract of a policy: Mine() without delays" in " ".join(result.stderr.split())
    assert not Path("mine/record.json").exists()


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--submissions", "mine", "--verify", "mine"), "submissions and verify are both given; give one of them."),
        (("--submissions", "mine", "--runs", "5"), "runs is given beside submitted policies"),
        (("--verify", "mine", "--seed", "5"), "seed is given beside submitted policies"),
        (("--verify", "mine", "--policies", "UCB"), "policies is given beside submitted policies"),
        (("--verify", "mine"), "there is no 'mine/record.json'"),
        (("--verify", "nowhere"), "'nowhere' has no submission.toml"),
    ],
)
def test_mistakes_give_a_message(call: Callable[..., Any], given: tuple[str, ...], message: str) -> None:
    result = call("arena", *given)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_development_leaves_out_what_is_held_out(call: Callable[..., Any]) -> None:
    listed = json.loads(call("arena", "--list", "--development", "--json").stdout)["scenarios"]
    assert [row["name"] for row in listed] == [row.name for row in scenarios() if not row.held_out]
