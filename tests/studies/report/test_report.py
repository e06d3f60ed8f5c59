"""The report of an outcome: counts, Markdown, what is escaped on the page, and what the theorems guarantee."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from belated.studies.claims import Case, ClaimVerdict, Finding, Status, by_sentence
from belated.studies.claims.theorems import Tabled
from belated.studies.report import Summary, page, summarize
from belated.studies.report.phrasing import markdown
from belated.studies.report.summary import MAX_CELLS, bounds_table, guarantees
from belated.studies.reproduce import ExperimentOutcome, reproduce
from tiny import NEVER, TINY, experiment


@pytest.fixture
def outcome(tmp_path: Path) -> ExperimentOutcome:
    (found,) = reproduce([experiment(tmp_path)], out=tmp_path / "made")
    return found


def summary(outcomes: list[ExperimentOutcome], fraction: float = 1.0) -> Summary:
    return summarize(outcomes, 7, fraction, 1.5)


def with_claim(verdict: ClaimVerdict, **changed: Any) -> ClaimVerdict:
    """The same of another claim."""
    return replace(verdict, claim=replace(verdict.claim, **changed))


def with_sentence(outcome: ExperimentOutcome, sentence: str) -> ExperimentOutcome:
    """The same with another first sentence."""
    first, *others = outcome.verdicts
    return replace(outcome, verdicts=(with_claim(first, sentence=sentence), *others))


def of_the_paper(outcome: ExperimentOutcome) -> ExperimentOutcome:
    """The same, as if it were one of the paper's."""
    return replace(outcome, experiment=replace(outcome.experiment, paper=True))


def test_a_summary(outcome: ExperimentOutcome) -> None:
    assert outcome.experiment.paper is False
    found = summary([of_the_paper(outcome), outcome, outcome])
    assert found.paper == {"holds": 2, "fails": 0, "undecided": 1, "arithmetic": 0}
    assert found.others == {"holds": 4, "fails": 0, "undecided": 2, "arithmetic": 0}
    assert found.tests == {"paper": 3, "others": 6}
    assert (found.rounds, found.spent) == (3 * outcome.cost.rounds, pytest.approx(3 * outcome.cost.seconds))
    assert {"belated", "processor", "cores", "Python", "numpy", "numba", "scipy"} <= set(found.environment)


@pytest.mark.parametrize(
    ("confidences", "said"),
    [([], "none"), ([0.999], "99.9 %"), ([0.999, 0.9, 0.95], "90 to 99.9 %"), ([0.9, 0.9], "90 %")],
    ids=["none", "one", "several", "alike"],
)
def test_the_confidence_of_claims(outcome: ExperimentOutcome, confidences: list[float], said: str) -> None:
    told = tuple(with_claim(outcome.verdicts[0], confidence=one) for one in confidences)
    assert summary([replace(outcome, verdicts=told)]).confidence == said


def test_markdown_tells_the_paper_s_claims_from_others(outcome: ExperimentOutcome) -> None:
    both = [of_the_paper(outcome), outcome, outcome]
    text = markdown(summary(both), both)
    assert text.startswith("# The paper's claims, put to the test\n")
    assert "\n3 sentences of the paper, in 3 tests: **2 hold, 0 fail, 1 undecided.**" in text
    assert "\n- “This is exactly so” (tiny): undecided.\n" in text
    assert "\n6 other sentences, in 6 tests: 4 hold, 0 fail, 2 undecided.\n" in text
    assert "other sentences" not in markdown(summary(both[:1]), both[:1])


def test_markdown(outcome: ExperimentOutcome) -> None:
    lines = markdown(summary([outcome]), [outcome]).splitlines()
    assert lines[0] == "# Claims, put to the test"
    assert "confidence of 99.9 %, divided among all" in lines[2]
    assert "Made by `belated reproduce tiny.toml --seed 7`," in lines[2]
    assert not any("sentences of the paper" in line for line in lines)
    assert lines[4] == "3 other sentences, in 3 tests: 2 hold, 0 fail, 1 undecided."
    assert "## tiny: Two arms" in lines
    assert "*nowhere.* A good arm and a bad one." in lines
    assert "- Nothing." in lines
    rows = [line for line in lines if line.startswith(("| ✓", "| ?"))]
    assert [line.split(" | ")[0] for line in rows] == ["| ✓ holds", "| ✓ holds", "| ? undecided"]
    assert [line.split(" | ")[-1] for line in rows] == ["1,600 |", "6,400 |", "25,600 |"]
    assert "**✓ holds**: “With a wide gap it is easy” *(here)*" in lines
    assert not any("provisional" in line for line in lines)
    assert not any("quick look" in line for line in lines)


def test_a_sentence_of_our_own_is_not_quoted(outcome: ExperimentOutcome) -> None:
    own = replace(outcome, verdicts=tuple(with_claim(one, own=True) for one in outcome.verdicts))
    text = markdown(summary([own]), [own])
    assert "**✓ holds**: With a wide gap it is easy *(here)*" in text
    made = page(summary([own]), [own], {"tiny": (b"<svg/>", "")}, {"tiny": bounds_table(own.evidence)})
    assert "<q>" not in made


def test_why_is_told_where_a_claim_does_not_hold(outcome: ExperimentOutcome) -> None:
    told = tuple(with_claim(one, why=f"So it is {one.status}.") for one in outcome.verdicts)
    found = replace(outcome, verdicts=told)
    text = markdown(summary([found]), [found])
    made = page(summary([found]), [found], {"tiny": (b"<svg/>", "")}, {"tiny": bounds_table(found.evidence)})
    assert "*So it is undecided.* |" in text
    assert '<p class="why">So it is undecided.</p>' in made
    assert "So it is holds" not in text + made


def test_a_line_in_a_reading_does_not_break_the_table(outcome: ExperimentOutcome) -> None:
    first, *others = outcome.verdicts
    told = replace(outcome, verdicts=(with_claim(first, reading="P(D > d | r) is so"), *others))
    lines = [line for line in markdown(summary([told]), [told]).splitlines() if "is so" in line]
    assert "P(D > d \\| r) is so" in lines[0]
    assert lines[0].replace("\\|", "").count("|") == 5


def test_signs_of_html_are_escaped_on_the_page(outcome: ExperimentOutcome) -> None:
    told = with_sentence(outcome, "a < b <script>alert('&')</script> & c | d")
    made = page(summary([told]), [told], {"tiny": (b"<svg/>", "<i>note</i>")}, {"tiny": bounds_table(told.evidence)})
    assert "a &lt; b &lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt; &amp; c | d" in made
    assert "<script" not in made
    assert "&lt;i&gt;note&lt;/i&gt;" in made


def test_a_grid_in_markdown_and_on_the_page(tmp_path: Path) -> None:
    axis = '[[studies.pair.axes]]\nname = "delay"\nkey = "problem.delays.rounds"\nvalues = [0, 1000]\n'
    claim = NEVER.replace("where = {gap = 0.5}", 'each = ["gap", "delay"]')
    text = TINY[: TINY.index("[[claims]]")].replace("most = 25600\n", "") + axis + claim
    (found,) = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    lines = markdown(summary([found]), [found]).splitlines()
    start = lines.index("| gap \\\\ delay | 0 | 1000 |")
    assert lines[start + 1] == "|:--|:-:|:-:|"
    assert [line.split(" | ")[0] for line in lines[start + 2 : start + 5]] == ["| 0.6", "| 0.2", "| 0.5"]
    made = page(summary([found]), [found], {}, {"tiny": bounds_table(found.evidence)})
    assert "<th>gap</th><th>0</th><th>1,000</th>" in made
    assert made.count("<td class=") >= 6


@pytest.mark.parametrize(
    ("name", "picture", "said"),
    [
        ("tiny", "tiny", "tiny"),
        ("tiny", "tiny-two", "tiny-tiny-two"),
        ("tiny", "two", "tiny-two"),
        ("tiny", "two-tiny", "tiny-two-tiny"),
    ],
)
def test_the_files_of_a_figure_are_named_by_the_experiment(
    outcome: ExperimentOutcome, name: str, picture: str, said: str
) -> None:
    found = replace(outcome.experiment, name=name)
    assert found.file_name(replace(found.figures[0], name=picture)) == said


# ---- sentences ----


def with_variants(outcome: ExperimentOutcome) -> ExperimentOutcome:
    """Of the paper, with a sentence that holds in one variant and fails in another, and one that is arithmetic."""
    holds, _, other = outcome.verdicts
    case = replace(holds.cases[0], verdict=replace(holds.cases[0].verdict, status=Status.FAILS))
    fails = replace(holds, cases=(replace(case, verdict=replace(case.verdict, findings=(finding_that_fails(case),))),))
    table = replace(with_claim(holds, sentence="It is stronger", test=Tabled("gap")))
    verdicts = (
        with_claim(holds, variant="the one"),
        with_claim(fails, variant="the other", reading="Another reading."),
        table,
        with_claim(table, reading="Another row."),
        other,
    )
    return of_the_paper(replace(outcome, verdicts=verdicts))


def finding_that_fails(case: Case) -> Finding:
    return replace(case.verdict.findings[0], status=Status.FAILS)


def test_sentences_are_counted_not_tests(outcome: ExperimentOutcome) -> None:
    found = with_variants(outcome)
    assert [one.status for one in found.sentences] == ["fails", "arithmetic", "undecided"]
    assert [len(one.tests) for one in found.sentences] == [2, 2, 1]
    told = summary([found])
    assert told.paper == {"holds": 0, "fails": 1, "undecided": 1, "arithmetic": 1}
    assert told.tests["paper"] == 5
    text = markdown(told, [found])
    assert "\n3 sentences of the paper, in 5 tests: **0 hold, 1 fails, 1 undecided; 1 is arithmetic.**" in text
    assert "- “With a wide gap it is easy” (tiny): holds with the one; fails with the other.\n" in text
    assert text.count("With a wide gap it is easy") == 2
    made = page(told, [found], {"tiny": (b"<svg/>", "")}, {"tiny": bounds_table(found.evidence)})
    assert "3 sentences, put to 5 tests." in made
    assert '<div class="arithmetic"><b>1</b> arithmetic</div>' in made
    assert '<p class="variants">holds with the one; fails with the other</p>' in made
    assert made.count('<li class="') == 3 and made.count('<p class="reading">') == 5  # noqa: PT018


def test_a_sentence_of_which_all_tests_hold_holds(outcome: ExperimentOutcome) -> None:
    holds, also, other = outcome.verdicts
    same = with_claim(also, sentence=holds.claim.sentence)
    assert [one.status for one in by_sentence([holds, same, other])] == ["holds", "undecided"]
    assert [one.status for one in by_sentence([holds, with_claim(other, sentence=holds.claim.sentence)])] == [
        "undecided"
    ]


def test_few_runs_make_a_verdict_provisional(tmp_path: Path) -> None:
    (found,) = reproduce([experiment(tmp_path, TINY.replace("most = 25600", "most = 100"))], out=tmp_path / "made")
    assert "**Verdicts from fewer than 1,600 runs are provisional" in markdown(summary([found]), [found])
    made = page(summary([found]), [found], {"tiny": (b"<svg/>", "")}, {"tiny": bounds_table(found.evidence)})
    assert "Verdicts from fewer than 1,600 runs are provisional" in made


# ---- guarantees ----


def test_no_theorem_is_about_ucb_or_uniform_choice(outcome: ExperimentOutcome) -> None:
    assert guarantees(outcome.evidence["pair"]) == []
    assert "What the theorems guarantee" not in page(
        summary([outcome]), [outcome], {"tiny": (b"", "")}, {"tiny": bounds_table(outcome.evidence)}
    )


def test_guarantees_are_those_of_the_theorems(tmp_path: Path) -> None:
    from belated.theory import bound_of

    text = TINY[: TINY.index("[[claims]]")].replace('"UCB"', '"SuccessiveElimination"').replace("most = 25600\n", "")
    values = ", ".join(str(number) for number in range(0, 90, 10))
    text = text.partition("[[studies.pair.axes]]")[0].replace("0.4}]", "0.9}]")
    text += f'axes = [{{name = "delay", key = "problem.delays.rounds", values = [{values}]}}]\n'
    (found,) = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    evidence = found.evidence["pair"]
    told = guarantees(evidence)
    assert [one.coordinates for one in told] == [f"delay = {delay}" for delay in (0, 20, 40, 60, 80)]
    assert len(told) == MAX_CELLS
    for one in told:
        (cell,) = evidence.study.where({"delay": int(one.coordinates.split()[-1])})
        played = evidence.study.cells[cell]
        bound = bound_of(replace(played.policies[0], confidence=None), played.problem, played.horizon)  # type: ignore[type-var, arg-type, call-arg]
        assert bound is not None
        assert (one.bound, one.source, one.policy, one.confidence) == (bound.value, bound.source, "SE", "1")
        assert one.measured == pytest.approx(evidence.results[cell].final[0].mean())
        assert one.trivial == pytest.approx(50.0)
        assert one.nontrivial is (one.bound < one.trivial)


def test_a_study_of_batches_says_that_no_theorem_applies(tmp_path: Path) -> None:
    text = TINY[: TINY.index("[[claims]]")].replace('"UCB"', '"SuccessiveElimination"').replace("most = 6400\n", "")
    text = re.sub(r"(delays = )\{[^}]*\}", r'\1{law = "Batch", size = 10}', text.partition("[[studies.pair.axes]]")[0])
    text += 'axes = [{name = "size", key = "problem.delays.size", values = [10, 30]}]\n'
    (found,) = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    told = guarantees(found.evidence["pair"])
    assert [one.coordinates for one in told] == ["size = 10", "size = 30"]
    assert {one.source for one in told} == {"no theorem is about delays that depend on the round"}
    assert not any(one.applies for one in told)
    made = page(summary([found]), [found], {}, {"tiny": bounds_table(found.evidence)})
    assert made.count("no theorem is about delays that depend on the round") == 2
    assert made.count("<td>does not apply</td>") == 2
    assert "nan" not in made.partition("What the theorems guarantee")[2].partition("</table>")[0]
