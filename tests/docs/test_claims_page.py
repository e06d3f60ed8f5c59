"""The page of claims has the current experiments."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

from belated.studies.experiments import NAMES, PAPER, load

PAGE = (
    (ROOT / "docs/claims.md").read_text(encoding="utf-8").replace("\\|", "|").replace("&lt;", "<").replace("&amp;", "&")
)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_claim(name: str) -> None:
    experiment = load(name)
    assert f"## {name}: {experiment.title}" in PAGE, "run make claims"
    missing = [claim.reading for claim in experiment.claims if claim.reading not in PAGE]
    assert not missing, "run make claims"


def test_the_page_is_of_a_whole_reproduction() -> None:
    assert "quick look" not in PAGE
    claims = sum(len(load(name).claims) for name in NAMES)
    marks = ("✓ holds", "✗ fails", "? undecided", "= arithmetic")
    rows = [line for line in PAGE.splitlines() if line.startswith(tuple(f"| {mark} |" for mark in marks))]
    assert len(rows) == claims


def test_sentences_are_counted() -> None:
    experiments = [load(name) for name in PAPER]
    sentences, tests = sum(one.sentences for one in experiments), sum(len(one.claims) for one in experiments)
    assert f"\n{sentences} sentences of the paper, in {tests} tests: **" in PAGE
    assert "; 1 is arithmetic.**" in PAGE


def test_readme_says_the_same() -> None:
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    found = re.search(r"(\d+) sentences of the paper, in \d+ tests: \*\*(\d+) hold, (\d+) fail, 0 undecided", PAGE)
    assert found is not None
    assert f"Of {found[1]} sentences, [{found[2]} hold and {found[3]} fail]" in told
    (line,) = (
        line
        for line in PAGE.partition("## robustness")[2].splitlines()
        if "OPSE's regret at T is below UCB's. *" in line
    )
    cells = re.search(r"fails in (\d+) of 28 cases", line)
    assert cells is not None
    assert f'"OPSE outperforms UCB" fails in {cells[1]} of 28 cells' in told
