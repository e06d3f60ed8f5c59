"""The page "Which policy" is current: generated from the saved scores, which are those of the current scenarios."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from types import ModuleType

import numpy as np
import pytest
from pages import ROOT

from belated.policies import ImputedUCB, PrefixUCB, default_policy
from belated.studies.arena import PRECISION, Scenario, Scores, contestants, labels_of, scenarios
from belated.studies.arena.scenarios import KINDS
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
    return Scores(played, labels, regret, regret / 50.0, regret / 1000.0, 0.0 * regret, np.full(len(played), 60))


# ---- as it is ----


def test_the_page_is_made_from_the_scores(script: ModuleType) -> None:
    long = read(script.LONG_SCORES) if script.LONG_SCORES.exists() else None
    assert PAGE.read_text(encoding="utf-8") == script.which_policy_page(read(FILE), long), "run make arena"


def test_the_scores_are_of_the_rows_and_the_policies_that_there_are() -> None:
    scores = read(FILE)
    assert [asdict(row) for row in scores.scenarios] == [asdict(row) for row in scenarios()], "run make arena"
    assert set(scores.labels) <= set(labels_of(contestants())), "run make arena"  # a new policy may not be in it yet
    capped = np.array([row.has_few_runs for row in scores.scenarios])
    assert float((scores.error / scores.ratio)[~capped].max()) <= PRECISION


def test_the_page_is_in_the_navigation_and_its_picture_is_there() -> None:
    assert re.search(r"^  - (.*: )?which-policy\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert PICTURE.read_bytes().startswith(b"\x89PNG")
    assert f"images/{PICTURE.name}" in PAGE.read_text(encoding="utf-8")


# ---- what it says of made-up scores ----


def tables(page: str, title: str) -> list[dict[str, list[str]]]:
    """The tables below a title, each by its first column; its head is the line ""."""
    lines = page.split(f"## {title}\n")[1].split("\n## ", maxsplit=1)[0].splitlines()
    result: list[dict[str, list[str]]] = []
    before = ""
    for line in lines:
        if line.startswith("|"):
            name, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            if not before.startswith("|"):
                result.append({"": rest})
            elif set(name) != set(":-"):
                result[-1][name.strip("*")] = rest
        before = line
    return result


def test_the_defaults_are_what_it_advises(script: ModuleType) -> None:
    assert script.DEFAULT == default_policy().label == read(FILE).ranked()[0]
    assert default_policy(silence=True).label == script.SPREAD
    page = PAGE.read_text(encoding="utf-8")
    assert '**Use the default, `ImputedUCB(confidence="anytime")`.**' in page
    assert default_policy() == ImputedUCB(confidence="anytime")
    assert "`PrefixUCB(spread=True)` is the default of an experiment with `silence`" in page
    assert default_policy(silence=True) == PrefixUCB(spread=True)


def test_the_links_within_the_page_lead_somewhere() -> None:
    page = PAGE.read_text(encoding="utf-8")
    titles = {re.sub(r"[^a-z0-9]+", "-", title.lower()) for title in re.findall(r"^## (.*)$", page, re.MULTILINE)}
    links = set(re.findall(r"\]\(#([^)]*)\)", page))
    assert len(links) >= 4
    assert links <= titles


def test_means_are_of_the_scenarios_of_their_column(script: ModuleType) -> None:
    def ratio(row: Scenario, label: str) -> float:
        return (2.0 if row.held_out else 8.0) if label == "UCB" else OTHERS

    scores = scores_with(ratio)
    (table,) = tables(script.which_policy_page(scores), "Why this default")
    for (name, wanted), head, cell in zip(script.GROUPS.items(), table[""], table["UCB"], strict=True):
        part = [row.held_out for row in scores.scenarios if wanted(row)]
        assert head == f"{name} ({len(part)})"
        share = sum(part) / len(part)
        assert cell.strip("*") == f"{2.0**share * 8.0 ** (1.0 - share):.2f}"
    assert set(table["OPSE"]) <= {"3.00", "**3.00**"}
    assert table["UCB"][4] == "**2.00**"  # held out: the smallest of the column is bold
    assert table["OPSE"][4] == "3.00"


def test_every_kind_of_scenario_is_a_group(script: ModuleType) -> None:
    for row in scenarios():
        assert [kind for kind in KINDS if script.GROUPS[kind](row)] == [row.kind]


def test_a_safe_form_has_figures_once_it_has_been_played(script: ModuleType) -> None:
    scores = scores_with(lambda row, label: OTHERS)
    kept = [number for number, label in enumerate(scores.labels) if label != script.SAFE]
    arrays = {name: getattr(scores, name)[:, kept] for name in ("regret", "stderr", "error", "losing")}
    without = replace(scores, labels=tuple(scores.labels[number] for number in kept), **arrays)
    page = script.which_policy_page(without)
    assert "now and then.\n" in page
    assert script.SAFE not in tables(page, "A proof for every joint distribution")[0]
    place = without.labels.index("SE")
    labels = (*without.labels[:place], script.SAFE, *without.labels[place + 1 :])
    page = script.which_policy_page(replace(without, labels=labels))
    assert 'now and then. The bound holds for `confidence="theory"`, its default.' in page
    assert "and for that nothing is proven; its mean is 3.00 there, the default's 3.00." in page
    assert script.SAFE in tables(page, "A proof for every joint distribution")[0]


def test_conversions_are_shown_with_and_without_a_deadline(script: ModuleType) -> None:
    scores = scores_with(lambda row, label: 7.0 if row.name == "conversions-without-deadline" else OTHERS)
    (table,) = tables(script.which_policy_page(scores), "Silence that means something")
    assert table[""] == ["failures come at a deadline (4)", "only successes come (2)"]
    assert [cell.strip("*") for cell in table["UCB"]] == ["3.00", f"{21.0**0.5:.2f}"]


def test_the_faults_of_pending_ucb_are_shown_beside_the_default(script: ModuleType) -> None:
    scores = scores_with(lambda row, label: {script.PENDING: 400.0, script.DEFAULT: 2.0}.get(label, OTHERS))
    losing = scores.losing.copy()
    losing[:, scores.labels.index(script.PENDING)] = 0.4
    page = script.which_policy_page(replace(scores, losing=losing))
    section = page.split("## Pending-UCB\n")[1].split("\n## ")[0]
    for name, fault in script.FAULTS.items():
        line = next(line for line in section.splitlines() if fault in line)
        assert f"Regret in {name}: 4,000 (40 % still losing); of the default: 20 (0 % still losing)." in line
    assert len(script.FAULTS) == 3


def test_the_targets_are_for_the_scenarios_of_before_the_mirrors(script: ModuleType) -> None:
    old = [row for row in scenarios() if script.before_the_mirrors(row)]
    assert len(old) == 64
    assert not [row.name for row in old if row.real or row.horizon >= 100_000 or row.name.endswith("-mirror")]
    assert {"fixed-0", "best-late-8000", "successes-late"} <= {row.name for row in old}


def test_targets_are_met_or_missed(script: ModuleType) -> None:
    high = {"fixed-0": 7.5, "one-never-mirror": 9.0}

    def ratio(row: Scenario, label: str) -> float:
        if label != script.DEFAULT:
            return 20.0
        return high.get(row.name, 1.25 if script.before_the_mirrors(row) else 1.31)

    (targets, above) = tables(script.which_policy_page(scores_with(ratio)), "Targets")
    lines = list(targets.values())[1:]
    assert [line[-1] for line in lines] == ["**missed**", "**missed**", "met", "**missed**", "**missed**"]
    assert lines[0][1].startswith(f"{1.25 * 6.0 ** (1 / 64):.3f} (± ")  # one of 64 has 7.5 instead of 1.25
    assert lines[-1][:3] == ["3", "9.00", "7.50 (fixed-0)"]
    assert list(above)[1:] == ["one-never-mirror (proven twin)", "fixed-0"]
    assert above["fixed-0"] == ["7.5", "75", "0 %", "10 (Uniform)", "1.00"]
    (targets, above) = tables(
        script.which_policy_page(scores_with(lambda row, label: 1.2 if label == script.DEFAULT else 20.0)), "Targets"
    )
    near = "met, within its standard error"  # at the target is met
    assert [line[-1] for line in targets.values()][1:] == ["met", near, "met", "met", "met"]
    assert list(above) == [""]


def test_names_are_of_scenarios_and_policies_that_there_are(script: ModuleType) -> None:
    names = {row.name for row in scenarios()}
    assert set(script.FAULTS) <= names
    assert {*script.SHOWN, script.ELIMINATION, script.PREFIX, script.PENDING} <= set(labels_of(contestants()))


def test_twins_are_shown_with_their_limits(script: ModuleType) -> None:
    def ratio(row: Scenario, label: str) -> float:
        return (8.0 if row.name == "one-never" else 2.0) if label in ("UCB", script.DEFAULT) else OTHERS

    scores = scores_with(ratio)
    page = script.which_policy_page(scores)
    (table,) = tables(page, "What no policy can have")
    # 0.2 from the best in both, 20,000 rounds, and the lowest regret is 10: N = 50 costs 10 and 3,990
    place = 2 + script.SHOWN.index("UCB")
    shown = table["one-never, -mirror"]
    assert (shown[:2], shown[place]) == (["20,000", f"{399**0.5:.2f}"], "4.00")
    assert not [name for name in table if name.startswith("successes-late")]  # the same arm is the best
    relative = scores.geometric_mean("UCB") / np.exp(np.log(scores.limits).mean())
    assert table["mean to the limit"][place] == f"**{relative:.2f}**"
    pairs = len(table) - 2
    assert f"best of these policies in {pairs - 1} of the {pairs} pairs" in page


def test_runs_that_still_lose_are_shown_for_long_scenarios(script: ModuleType) -> None:
    scores = scores_with(lambda row, label: OTHERS)
    losing = scores.losing.copy()
    losing[:, scores.labels.index("UCB")] = [0.4 if row.name == "best-loses-99" else 0.1 for row in scores.scenarios]
    rows = tuple(scenarios(long=True))
    regret = np.ones((len(rows), 2))
    long = Scores(rows, ("SE", "UCB"), regret, regret, regret, 0.25 * regret, np.full(len(rows), 60))
    page = script.which_policy_page(replace(scores, losing=losing), long)
    (table,) = tables(page, "Runs that still lose at the end")
    place = script.SHOWN.index("UCB")
    assert table["best-loses-99 (100,000 rounds)"][place] == "40 %"
    assert table["best-loses-99-long (1,000,000 rounds)"][place] == "25 %"
    assert "fixed-0 (20,000 rounds)" not in table
    assert table["all scenarios"][place] == f"**{10.0 + 30.0 / len(scores.scenarios):.1f} %**"


def test_real_delays_have_a_table(script: ModuleType) -> None:
    scores = scores_with(lambda row, label: 5.0 if row.name == "rossi" and label == "UCB" else OTHERS)
    (table,) = tables(script.which_policy_page(scores), "Real delays")
    assert set(table) == {"", *(row.name for row in scenarios() if row.real)}
    place = script.SHOWN.index("UCB")
    assert (table["rossi"][place], table["nightly"][place], table["rossi"][0]) == ("5.00", "3.00", "3.00")


def test_figure_4_compares_the_two_eliminations(script: ModuleType) -> None:
    def ratio(row: Scenario, label: str) -> float:
        return {script.ELIMINATION: 2.0, "OPSE": 13.0}.get(label, OTHERS)

    page = script.which_policy_page(scores_with(ratio))
    assert "(bias-5000) Prefix-SE has a regret of 20 and OPSE of 130, 6.5 times as much" in page
