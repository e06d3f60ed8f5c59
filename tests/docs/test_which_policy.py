"""The page "Which policy" is current: generated from the saved scores, which are those of the current scenarios."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from types import ModuleType

import numpy as np
import pytest
from pages import ROOT

from belated.policies import default_policy
from belated.studies.arena import PRECISION, Scenario, Scores, contestants, labels_of, scenarios
from belated.studies.arena.scores import read

SCRIPTS = ROOT / "docs" / "scripts"
FILE, PAGE, PICTURE = SCRIPTS / "arena.json", ROOT / "docs" / "which-policy.md", ROOT / "docs" / "images" / "arena.png"
OTHERS = 3.0
"""The ratio of everything that a test does not set."""


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    sys.path.insert(0, str(SCRIPTS))
    import which_policy  # type: ignore[import-not-found]

    yield which_policy
    sys.path.remove(str(SCRIPTS))


def scores_with(ratio: Callable[[Scenario, str], float]) -> Scores:
    """Return scores of all scenarios and policies with these ratios; Uniform has the lowest regret."""
    played, labels = tuple(scenarios()), labels_of(contestants())
    regret = np.array(
        [[10.0 if label == "Uniform" else 10.0 * ratio(row, label) for label in labels] for row in played]
    )
    return Scores(played, labels, regret, regret / 50.0, regret / 1000.0, np.full(len(played), 60))


# ---- as it is ----


def test_the_page_is_made_from_the_scores(script: ModuleType) -> None:
    assert PAGE.read_text(encoding="utf-8") == script.which_policy_page(read(FILE)), "run make arena"


def test_the_scores_are_of_the_rows_and_the_policies_that_there_are() -> None:
    scores = read(FILE)
    assert [asdict(row) for row in scores.scenarios] == [asdict(row) for row in scenarios()], "run make arena"
    assert set(scores.labels) <= set(labels_of(contestants())), "run make arena"  # a new policy may not be in it yet
    assert float((scores.error / scores.ratio).max()) <= PRECISION


def test_the_page_is_in_the_navigation_and_its_picture_is_there() -> None:
    assert re.search(r"^  - (.*: )?which-policy\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert f"images/{PICTURE.name}" in PAGE.read_text(encoding="utf-8")


# ---- what it says of made-up scores ----


def tables(page: str, title: str) -> list[dict[str, list[str]]]:
    """The tables below a title, each by its first column."""
    lines = page.split(f"## {title}\n")[1].split("\n## ", maxsplit=1)[0].splitlines()
    result: list[dict[str, list[str]]] = []
    before = ""
    for line in lines:
        if line.startswith("|"):
            name, *rest = (cell.strip(" *") for cell in line.strip("|").split("|"))
            if not before.startswith("|"):
                result.append({})
            elif set(name) != set(":-"):
                result[-1][name] = rest
        before = line
    return result


def test_every_case_has_the_figures_of_its_rows(script: ModuleType) -> None:
    def ratio(row: Scenario, label: str) -> float:
        return (2.0 if row.held_out else 8.0) if label == "UCB" else OTHERS

    scores = scores_with(ratio)
    page = script.which_policy_page(scores)
    assert len(script.CASES) == 5
    for case in script.CASES:
        shown = tables(page, case.title)
        assert len(shown) == len(case.tables)
        for table, (_, belongs) in zip(shown, case.tables, strict=True):
            part = [row for row in scores.scenarios if belongs(row)]
            held = sum(row.held_out for row in part)
            assert list(table) == list(script.SHOWN)
            assert case.policy in table
            mean = 2.0 ** (held / len(part)) * 8.0 ** (1.0 - held / len(part))
            worst = next(row.name for row in part if not row.held_out)
            assert table["UCB"] == [f"{mean:.2f}", "8.00", "2.00" if held else "", f"8.00 ({worst})"]
            assert table["OPSE"][0] == "3.00"
        assert case.why in page
    assert "its mean is 3.0, at worst 3 (lost-half)" in page
    assert "its mean is 3.0, at worst 3 (bias-5000)" in page


def test_every_row_belongs_to_a_case(script: ModuleType) -> None:
    for row in scenarios():
        assert any(belongs(row) for case in script.CASES[:-1] for _, belongs in case.tables), row.name


def test_every_row_that_misses_a_target_was_examined_and_no_other(script: ModuleType) -> None:
    assert script.UNEXPLAINED not in PAGE.read_text(encoding="utf-8")
    scores = read(FILE)
    spread = scores.select(lambda row: not row.loses).above(script.SPREAD, script.WORST)
    pending = scores.select(lambda row: not row.depends).above(script.PENDING, script.WORST)
    assert set(script.REASONS) == {*spread, *pending}


def test_the_defaults_are_what_it_advises(script: ModuleType) -> None:
    assert script.CASES[0].policy == default_policy(silence=True).label
    assert script.CASES[-1].policy == default_policy().label == read(FILE).ranked()[0]


def test_missed_targets_are_listed_with_the_reason(script: ModuleType) -> None:
    bad = {"best-late-2000": 1.6, "half-at-once": 2.5, "lost-of-the-rest": 9.0}

    def ratio(row: Scenario, label: str) -> float:
        return bad.get(row.name, 1.5) if label in (script.SPREAD, script.PENDING) else OTHERS

    page = script.which_policy_page(scores_with(ratio))
    targets = page.split("## Targets\n")[1]
    (table,) = tables(page, "Targets")
    count = sum(not row.loses for row in scenarios())
    assert table[script.SPREAD][-1] == f"2 of {count}"  # 1.5 is not above 1.5, and lost-of-the-rest loses answers
    assert table[script.PREFIX][-1] == f"{count} of {count}"
    assert table[script.PENDING][-1] == f"3 of {sum(not row.depends for row in scenarios())}"
    silence = targets.split(script.SILENCE)[1].split("\n\n")[1].splitlines()
    assert f"- {script.SPREAD}: best-late-2000 1.60" in silence
    assert f"- {script.PENDING}: best-late-2000 1.60" in silence
    mirrored = targets.split(script.MIRRORED_LUCK)[1].split("\n\n")[1].splitlines()
    assert mirrored == [f"- {script.PENDING}: lost-of-the-rest 9.00"]
    assert f"above {script.WORST}: fixed-0 {OTHERS:.2f}, " in targets
    quick = targets.split(script.QUICK)[1].split("\n\n")[1].splitlines()
    assert f"- {script.SPREAD}: half-at-once 2.50" in quick


def test_reasons_and_names_are_of_rows_and_policies_that_there_are(script: ModuleType) -> None:
    names = {row.name for row in scenarios()}
    assert set(script.REASONS) <= names
    assert {*script.SHOWN, script.ELIMINATION} <= set(labels_of(contestants()))
    reasons = script.REASONS.values()
    for word in re.findall(r"\b[a-z]+(?:-[a-z0-9*]+)+", " ".join(reasons)):
        assert any(re.fullmatch(word.replace("*", ".*"), name) for name in names), word


def test_figure_4_compares_the_two_eliminations(script: ModuleType) -> None:
    def ratio(row: Scenario, label: str) -> float:
        return {script.ELIMINATION: 2.0, "OPSE": 13.0}.get(label, OTHERS)

    page = script.which_policy_page(scores_with(ratio))
    assert "(bias-5000), Prefix-SE has a regret of 20 and OPSE of 130, 6.5 times as much" in page
