"""``belated arena``: what it prints, writes and refuses."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from matplotlib.figure import Figure

from belated import simulate
from belated.errors import Interrupted
from belated.studies.arena import Scores, contestants, play
from belated.studies.arena import scenarios as find
from belated.studies.arena.scores import read, to_dict
from terminal import Watched

MODULE: Any = sys.modules["belated.studies.runner"]
FILES = ["arena-small.png", "arena-small.svg", "arena.md", "arena.png", "arena.svg", "ratios.csv", "scores.json"]
ROWS = "fixed-0,fixed-50,bias-1000,one-never,conversions-without-deadline"
OWN = """\
from belated.policies import UCB, policy


@policy
class {name}(UCB):
    label = "{label}"
"""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 300 rounds, whatever their horizon."""

    def play_little(problem: Any, policies: Any, **given: Any) -> Any:
        return simulate(problem, policies, **given | {"horizon": 300, "checkpoints": [270, 300]})

    monkeypatch.setattr(MODULE, "simulate", play_little)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put on the path for imports is taken off again."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def made(folder: str = "out/arena") -> Scores:
    assert sorted(path.name for path in Path(folder).iterdir()) == FILES
    return read(Path(folder) / "scores.json")


def rankings(text: str) -> dict[str, list[str]]:
    """What is said of each policy, by its label."""
    lines = text[text.index("policy ") :].split("Regret divided by", maxsplit=1)[0].splitlines()[2:]
    return {line.split("  ", 1)[0]: line.split()[1:] for line in lines if line and line[0] != " "}


def test_files_contain_the_scores_of_the_arena(call: Callable[..., Any]) -> None:
    given = ("--rows", "fixed-0,bias-1000", "--policies", "UCB,SE", "--runs", 2, "--seed", 7, "--out", "made")
    result = call("arena", *given)
    assert result.exit_code == 0, result.output
    scores = made("made")
    direct = play(find(["fixed-0", "bias-1000"]), contestants(["UCB", "SE"]), runs=2, seed=7)
    assert to_dict(scores) == to_dict(direct)
    assert f"wrote made: {', '.join(FILES)}" in result.stdout
    assert "8 runs in " in " ".join(result.stdout.split())
    assert "tandard errors" not in result.stdout  # of two runs
    before = {path.name: path.read_bytes() for path in Path("made").iterdir()}
    assert call("arena", *given, "--workers", 1).exit_code == 0
    assert {path.name: path.read_bytes() for path in Path("made").iterdir()} == before


@pytest.mark.usefixtures("short")
def test_tables_show_the_scores(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "170")
    text = call("arena", "--rows", ROWS, "--policies", "UCB,SE,PrefixUCB,Thompson", "--runs", 3).stdout
    scores = made()
    ranked = scores.ranked()
    for row, ratios in zip(scores.scenarios, scores.ratio, strict=True):
        line = next(line for line in text.splitlines() if line.startswith(f"  {row.name} "))
        expected = [float(ratios[scores.labels.index(label)]) for label in ranked]
        assert [float(cell) for cell in line.split()[1:]] == pytest.approx(expected, abs=0.0501, rel=0.005)
    held = scores.select(lambda row: row.held_out)
    assert (len(held.scenarios), len(scores.scenarios)) == (1, 5)
    found = rankings(text)
    assert list(found) == ranked
    for label, cells in found.items():
        name, ratio = scores.worst(label)
        parts = (scores, *(scores.of_kind(kind) for kind in scores.kinds), held)
        expected = [*(part.geometric_mean(label) for part in parts), scores.relative_mean(label)]
        expected += [100.0 * scores.losing_mean(label), len(scores.above(label)), ratio]
        numbers = [cell for cell in cells[:-1] if cell != "%"][-len(expected) :]
        assert [float(cell) for cell in numbers] == pytest.approx(expected, abs=0.0501, rel=0.005)
        assert cells[-1] == name


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("width", [50, 72, 80, 100, 110, 140, 170])
def test_no_line_is_wider_than_the_terminal(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(Figure, "savefig", lambda figure, file, **_: Path(file).touch())  # pictures are not looked at
    text = call("arena", "--rows", ROWS, "--runs", 2).stdout
    lines = [line for line in text.splitlines() if not line.startswith("wrote ")]  # that one can be copied
    assert max(map(len, lines)) <= width
    assert "…" not in text
    labels = made().labels
    assert len(labels) >= 12
    plain = re.sub(r"\s+", "", text)
    assert all(label.replace(" ", "") in plain for label in labels) or width < 100  # broken
    assert ("  fixed-0 " in text) == (width >= 170)
    said = "The table of ratios needs a wider terminal; it is in out/arena/arena.md."
    assert (said in " ".join(text.split())) == (width < 170)
    assert ("worst scenario" in text) == (width >= 80)
    assert "held" in text


@pytest.mark.usefixtures("short")
def test_names_are_comma_separated_or_repeated(call: Callable[..., Any]) -> None:
    for given in (
        ("--rows", "fixed-0,one-*", "--policies", "UCB,Thompson"),
        ("--rows", "fixed-0", "--rows", "one-*", "--policies", "UCB", "--policies", "Thompson"),
    ):
        assert call("arena", *given, "--runs", 2, "--quiet").output == ""
        scores = made()
        assert [row.name for row in scores.scenarios][:3] == ["fixed-0", "one-very-late", "one-very-late-mirror"]
        assert [row.name for row in scores.scenarios] == [row.name for row in find(["fixed-0", "one-*"])]
        assert scores.labels == ("UCB", "Thompson")


def test_list_shows_every_scenario_with_its_reason(call: Callable[..., Any]) -> None:
    result = call("arena", "--list")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for kind in ("independent", "reward-dependent", "lost"):
        assert f"\n{kind}\n" in result.stdout
    words = " ".join(result.stdout.split())
    for row in find():
        assert f"{row.name} {row.reason}{' (held out)' if row.held_out else ''}" in words
    assert not Path("out").exists()
    assert "silent-beside-pareto-long" not in words
    long = " ".join(call("arena", "--list", "--long").stdout.split())
    for row in find(long=True):
        assert f"{row.name} {row.reason}{' (held out)' if row.held_out else ''}" in long
    some = call("arena", "--list", "--rows", "pareto-*").stdout
    assert ("pareto-1" in some, "fixed-0" in some, "\nlost\n" in some) == (True, False, False)


# ---- a policy of one's own ----


@pytest.mark.usefixtures("short", "path")
def test_policy_in_the_current_folder_is_a_contestant(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own_rules_here").mkdir()
    (tmp_path / "own_rules_here" / "best.py").write_text(OWN.format(name="Mine", label="Mine"))
    own = "own_rules_here.best:Mine"
    result = call("arena", "--rows", "fixed-0", "--policies", "SE", "--policy", own, "--runs", 2)
    assert result.exit_code == 0, result.output
    assert made().labels == ("SE", "Mine")
    assert list(rankings(result.stdout)) == made().ranked()
    assert call("arena", "--rows", "fixed-0", "--policy", own, "--runs", 2, "-q").exit_code == 0
    assert made().labels[-1] == "Mine"
    assert len(made().labels) == len(contestants()) + 1


@pytest.mark.usefixtures("short", "path")
def test_equal_labels_are_distinguished(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own_rules_alike.py").write_text(OWN.format(name="Copied", label="SE"))
    result = call("arena", "--rows", "fixed-0", "--policies", "SE", "--policy", "own_rules_alike:Copied", "--runs", 2)
    assert result.exit_code == 0, result.output
    scores = made()
    assert scores.labels == ("SE", "SE (Copied)")
    assert scores.regret[0, 0] != scores.regret[0, 1]
    assert list(rankings(result.stdout)) == scores.ranked()


# ---- mistakes ----


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--rows", "fixt-0"), "error: rows is 'fixt-0'"),
        (
            ("--policies", "UCB,Tompson"),
            "policies is 'Tompson', which is not a policy. Did you mean 'ThompsonSampling'?",
        ),
        (("--rows", ""), "error: rows is '', which names nothing; give at least one name, or omit --rows."),
        (("--rows", "", "--list"), "error: rows is '', which names nothing"),
        (("--rows", "fixed-0", "--rows", ","), "error: rows is ',', which names nothing"),
        (
            ("--policies", ""),
            "error: policies is '', which names nothing; give at least one name, or omit --policies.",
        ),
        (("--policy", " "), "error: policy is ' ', which names nothing"),
        (("--policies", "UCB"), "error: policies has 1; give at least two"),
        (
            ("--policy", "nowhere:Mine"),
            "error: 'nowhere:Mine' cannot be imported as a policy: No module named 'nowhere'",
        ),
        (("--policy", "json:JSONDecoder"), "which is not a policy; give a class decorated with @policy"),
        (("--runs", "1"), "error: runs is 1; give a whole number >= 2"),
        (("--runs", "-5"), "error: runs is -5; give"),
        (("--device", "nonsense"), "error: --device is 'nonsense'; give 'cpu' or 'cuda'."),
        (("--seed", "-1"), "error: seed is -1; give a whole number >= 0"),
        (("--out", "file"), "out is 'file', which is a file; give a folder."),
    ],
)
def test_mistakes_give_a_message_and_no_files(call: Callable[..., Any], given: tuple[str, ...], message: str) -> None:
    Path("file").write_text("")
    result = call("arena", *given)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert [path.name for path in Path().rglob("*") if path.is_file()] == ["file"]
    assert not Path("out/arena").exists()


@pytest.mark.usefixtures("path")
def test_failing_module_gives_a_message(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "own_rules_failing.py").write_text("raise ValueError('never')\n")
    result = call("arena", "--policy", "own_rules_failing:Mine")
    assert result.exit_code == 2
    assert "its module fails with ValueError: never (line 1 of" in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("short")
def test_standard_errors_are_shown_with_enough_runs(call: Callable[..., Any]) -> None:
    text = call("arena", "--rows", "fixed-0", "--policies", "UCB,SE", "--runs", 30).stdout
    assert f"Standard errors are at most {100 * made().max_rel_error:.1f} % of a ratio." in " ".join(text.split())


def test_help_lists_the_output_files(call: Callable[..., Any]) -> None:
    result = call("arena", "--help")
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    assert all(name in result.output for name in FILES)
    assert "out/arena" in result.output
    for line in re.findall(r"^ +belated arena (.*?)(?:  .*)?$", result.output, re.MULTILINE):
        assert all(f"{word} " in result.output for word in line.split() if word.startswith("--")), line


# ---- Ctrl-C ----


def stop_in(name: str) -> Callable[..., Any]:
    """In place of simulate: Ctrl-C in the row of this name."""
    problem = find([name])[0].spec

    def play_or_stop(family: Any, policies: Any, **given: Any) -> Any:
        if getattr(family, "data", None) == problem:
            raise Interrupted("interrupted before a run was finished.", None)
        return simulate(family, policies, **given | {"horizon": 300, "checkpoints": [270, 300]})

    return play_or_stop


def test_interruption_writes_the_finished_scenarios(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "simulate", stop_in("fixed-200"))
    result = call("arena", "--rows", "fixed-*", "--policies", "UCB,SE", "--runs", 2)
    assert result.exit_code == 130
    assert re.search(r"interrupted after 2 of \d+ scenarios\. They are in out/arena\.", result.stderr)
    assert [row.name for row in made().scenarios] == ["fixed-0", "fixed-50"]
    assert set(pandas.read_csv("out/arena/ratios.csv")["row"]) == {"fixed-0", "fixed-50"}
    assert list(rankings(result.stdout)) == made().ranked()


def test_interruption_before_the_first_scenario_writes_nothing(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "simulate", stop_in("fixed-0"))
    result = call("arena", "--rows", "fixed-*", "--policies", "UCB,SE", "--runs", 2)
    assert (result.exit_code, result.stdout) == (130, "")
    assert re.fullmatch(r"interrupted after 0 of \d+ scenarios\.\n", result.stderr)
    assert not Path("out/arena").exists()


def test_ctrl_c_on_a_terminal_keeps_the_finished_scenarios(environment: dict[str, str]) -> None:
    given = ["arena", "--rows", "fixed-*", "--policies", "UCB,SE", "--runs", "400"]
    watched = Watched(given, environment)
    watched.wait_for(lambda seen: re.search(r"3/\d+ fixed-200, 400 runs.*rounds/s", seen) is not None)
    status, output = watched.interrupt(2)
    assert status == 130, watched.seen
    assert "Traceback" not in watched.seen
    found = re.search(r"interrupted after (\d+) of \d+ scenarios\. They are in out/arena\.", watched.seen)
    assert found is not None, watched.seen
    scores = made()
    assert len(scores.scenarios) == int(found[1]) >= 2
    assert (scores.runs == 400).all()
    assert "wrote out/arena: " in output
