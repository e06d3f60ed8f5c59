"""``belated reproduce``, the command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.studies.experiments import NAMES, PAPER, load
from tiny import TINY, Played, written


def test_the_list_has_every_name(call: Callable[..., Any]) -> None:
    text = call("--list").stdout
    assert max(map(len, text.splitlines())) <= 80
    table = text.partition("\nWhile a claim")[0].splitlines()
    rows = {line.split()[0]: line.split() for line in table if line.split()[:1] and line[0] != " "}
    for name in NAMES:
        assert str(load(name).sentences) in rows[name]
    assert not Path("out").exists()


def test_a_list_of_some(call: Callable[..., Any], tiny: Path) -> None:
    text = call("--list", "figure1", tiny).stdout
    table = text.partition("\nWhile a claim")[0].splitlines()
    found = [line.split()[0] for line in table if line.split()[:1]]
    assert [name for name in (*NAMES, "tiny") if name in found] == ["figure1", "tiny"]
    row = next(line for line in text.splitlines() if line.startswith("tiny"))
    assert row.split()[1:] == ["Two", "arms", "3", "8", "25,600", "4.8k"]


def test_an_unknown_name(call: Callable[..., Any]) -> None:
    result = call("figure6")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: 'figure6' is not an experiment. Did you mean 'figure5'?")
    assert all(name in result.stderr for name in NAMES)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fraction", "0"], "fraction is 0.0; give a number in (0, 1]"),
        (["--fraction", "2"], "fraction is 2.0; give a number in (0, 1]"),
        (["--fraction", "nan"], "fraction is nan; give a number in (0, 1]"),
        (["--fraction", "-1"], "fraction is -1.0"),
        (["--fraction", "half"], "--fraction"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "--workers"),
        (["--device", "tpu"], "device is 'tpu'"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_options_that_are_none(call: Callable[..., Any], tiny: Path, options: list[str], said: str) -> None:
    result = call(tiny, "--out", "made", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert not list(Path("made").rglob("*"))


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("file", "error: out is 'file', which is a file; give a folder."),
        ("file/below", "error: out is 'file/below', which cannot be written: Not a directory. Give another folder."),
    ],
    ids=["file", "below"],
)
def test_a_file_is_no_folder(
    call: Callable[..., Any], tiny: Path, monkeypatch: pytest.MonkeyPatch, out: str, said: str
) -> None:
    played = Played(monkeypatch)
    Path("file").write_text("mine")
    result = call(tiny, "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert " ".join(result.stderr.split()) == said
    assert played.calls == []
    assert Path("file").read_text() == "mine"


def test_a_missing_file(call: Callable[..., Any]) -> None:
    result = call("mine.toml")
    assert result.exit_code == 2
    assert "mine.toml: there is no such file" in result.stderr


def test_quiet_prints_nothing(call: Callable[..., Any], tiny: Path) -> None:
    result = call(tiny, "--out", "made", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert Path("made/report/index.html").exists()


def test_what_is_told(call: Callable[..., Any], tiny: Path) -> None:
    result = call(tiny, "--out", "made")
    assert (result.exit_code, result.stderr) == (0, "")
    text = result.stdout
    assert "tiny  Two arms (nowhere)" in text
    statuses = re.findall(r"^(✓ holds|✗ fails|\? undecided) +“", text, re.MULTILINE)
    assert statuses == ["✓ holds", "✓ holds", "? undecided"]
    assert "UCB's regret is below that of uniform choice." in text
    assert "Other sentences: 2 hold, 0 fail, 1 undecided." in text
    assert "The paper's sentences" not in text
    assert "7.36M rounds, played in" in " ".join(text.split())
    assert "Confidence of a test: 99.9 %." in " ".join(text.split())
    assert f"wrote {Path('made/report/index.html')}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_quick_look_is_marked(call: Callable[..., Any], tmp_path: Path) -> None:
    path = written(tmp_path, TINY.replace("runs = 8", "runs = 100").replace("most = 25600", "most = 1000"))
    call(path, "--out", "made", "--fraction", "0.25", "-q")
    page, text = Path("made/report/index.html").read_text(), Path("made/report/claims.md").read_text()
    assert '<p class="warning">This is a quick look with 0.25 of the repetitions.' in page
    assert "<h1>Claims, put to the test</h1>" in page
    assert "**This is a quick look: 0.25 of the repetitions.**" in text
    assert json.loads(Path("made/report/claims.json").read_text())["fraction"] == 0.25


def test_the_full_size_is_not_marked(call: Callable[..., Any], tiny: Path) -> None:
    call(tiny, "--out", "made", "-q")
    page, text = Path("made/report/index.html").read_text(), Path("made/report/claims.md").read_text()
    assert "quick look" not in page + text
    assert "of full size" not in page


def test_seed_workers_and_fresh(call: Callable[..., Any], tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch)

    def calls(*options: object) -> int:
        played.calls.clear()
        assert call(tiny, "--out", "made", "-q", *options).exit_code == 0
        return len(played.calls)

    first = calls()
    assert first > 0
    assert calls() == 0
    assert calls("--workers", 1) == 0
    assert calls("--fresh") == first
    assert calls("--seed", 5) > 0
    assert json.loads(Path("made/report/claims.json").read_text())["seed"] == 5
    assert "<dt>seed</dt><dd>5</dd>" in Path("made/report/index.html").read_text()


def test_a_report_takes_the_place_of_the_one_before(call: Callable[..., Any], tmp_path: Path) -> None:
    for name in ("one", "two"):
        call(written(tmp_path, TINY.replace('name = "tiny"', f'name = "{name}"')), "--out", "made", "-q")
        found = sorted(path.name for path in Path("made/report/figures").iterdir())
        assert found == [f"tiny-{name}.{kind}" for kind in ("csv", "pdf", "png", "svg")]
    assert sorted(path.name for path in Path("made").iterdir()) == ["report", "results"]


def test_without_a_name_all_of_the_paper_is_played(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import belated.studies.reproduce

    asked: list[list[str]] = []

    def note(experiments: Any, **options: Any) -> list[Any]:
        asked.append([experiment.name for experiment in experiments])
        assert (options["fraction"], options["seed"], options["fresh"]) == (1.0, 0, False)
        return []

    monkeypatch.setattr(belated.studies.reproduce, "reproduce", note)
    call("-q")
    call("all", "-q")
    assert asked == [list(PAPER), list(NAMES)]
