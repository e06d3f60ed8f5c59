"""Verdicts in words and as grids, for the page and the terminal; and all claims as Markdown, for the documentation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from belated.formatting import plural, quantity
from belated.studies.claims import Case, ClaimVerdict, Finding, SentenceVerdict, Status
from belated.studies.claims.evidence import in_words
from belated.studies.experiments import NAMES
from belated.studies.report.summary import Summary
from belated.studies.reproduce import ExperimentOutcome
from belated.studies.study import ENOUGH_RUNS

MARKS = {Status.HOLDS: "✓", Status.FAILS: "✗", Status.UNDECIDED: "?", Status.ARITHMETIC: "="}

PROVISIONAL = "their intervals miss more often than their risk"


def tally(counts: dict[str, int]) -> str:
    """How many sentences hold, fail and are undecided; and how many are arithmetic, if some are.

    >>> tally({"holds": 1, "fails": 3, "undecided": 0, "arithmetic": 2})
    '1 holds, 3 fail, 0 undecided; 2 are arithmetic'
    """
    holds, fails, arithmetic = counts["holds"], counts["fails"], counts["arithmetic"]
    apart = f"; {arithmetic} {'is' if arithmetic == 1 else 'are'} arithmetic" if arithmetic else ""
    return f"{holds} hold{'s' * (holds == 1)}, {fails} fail{'s' * (fails == 1)}, {counts['undecided']} undecided{apart}"


def variants_line(verdict: SentenceVerdict) -> str:
    """Which variants of a sentence hold and which fail, where they differ; else nothing."""
    statuses = verdict.by_variant
    if len(set(statuses.values())) < 2:
        return ""
    return "; ".join(f"{status} with {variant}" for variant, status in statuses.items())


def runs_of(verdict: ClaimVerdict) -> str:
    """The number of runs that a claim was judged with; none are needed for arithmetic."""
    return "–" if verdict.claim.test.arithmetic else f"{verdict.runs:,}"


def is_provisional(verdict: ClaimVerdict) -> bool:
    """Whether a claim was judged with fewer runs than intervals need to keep their risk."""
    return verdict.runs < ENOUGH_RUNS and not verdict.claim.test.arithmetic


def interval(finding: Finding) -> str:
    """Its confidence interval, or nothing for an exact number."""
    low, high = finding.interval
    if math.isinf(high - low):
        return "any number"
    return "" if low == high else f"{quantity(low)} to {quantity(high)}"


def allowed(finding: Finding) -> str:
    """The range that it must lie in."""
    low, high = finding.allowed
    if low == -math.inf:
        return f"below {quantity(high)}"
    return f"above {quantity(low)}" if high == math.inf else f"{quantity(low)} to {quantity(high)}"


def sentence(finding: Finding) -> str:
    """A finding in a line."""
    between = f" ({interval(finding)})" if interval(finding) else ""
    note = f"; {finding.note}" if finding.note else ""
    return f"{finding.what}: {quantity(finding.value)}{between}, must be {allowed(finding)}{note}"


def summary_line(verdict: ClaimVerdict) -> str:
    """What decides a claim, in a line."""
    if len(verdict.cases) == 1:
        return case_line(verdict.cases[0])
    status = Status.all_of(case.verdict.status for case in verdict.cases)
    first = next(case for case in verdict.cases if case.verdict.status is status)
    counts = ", ".join(f"{status} in {verdict.count(status)}" for status in Status if verdict.count(status))
    return f"{counts} of {len(verdict.cases)} cases; {in_words(first.coordinates)}: {case_line(first)}"


def case_line(case: Case) -> str:
    """What decides a case, in a line."""
    note = f"{case.verdict.note}; " if case.verdict.note else ""
    more = len(case.verdict.findings) - 1
    others = f"; and {plural(more, 'more comparison')}" if more else ""
    return f"{note}{sentence(case.verdict.deciding)}{others}"


def grid(verdict: ClaimVerdict) -> dict[Any, dict[Any, Case]]:
    """The cases of a claim judged over two axes, by the values of the first and the second; else nothing."""
    rows: dict[Any, dict[Any, Case]] = {}
    if len(verdict.claim.each) == 2:
        for case in verdict.cases:
            down, across = (case.coordinates[axis] for axis in verdict.claim.each)
            rows.setdefault(down, {})[across] = case
    return rows


# ---- Markdown ----


def markdown(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> str:
    """All claims, one table for each sentence."""
    paper, others = sum(summary.paper.values()), sum(summary.others.values())
    blocks = ["# The paper's claims, put to the test" if paper else "# Claims, put to the test"]
    if paper:
        blocks.append(f"{paper} sentences of the paper, in {summary.tests['paper']} tests: **{tally(summary.paper)}.**")
        blocks += _not_holding(outcomes)
    blocks.append(
        "A sentence holds if all its tests do, also in all variants, such as both constants of a baseline. "
        f"Each test has a confidence of {summary.confidence}, divided among all its comparisons and interim looks. "
        "Arithmetic compares formulas for an instance of ours: no simulation could contradict it. "
        f"Made by `{_command(summary, outcomes)}`, belated {summary.environment['belated']}."
    )
    if others:
        blocks.append(f"{others} other sentences, in {summary.tests['others']} tests: {tally(summary.others)}.")
    if summary.fraction < 1.0:
        blocks.append(f"**This is a quick look: {summary.fraction:g} of the repetitions.**")
    if any(is_provisional(verdict) for outcome in outcomes for verdict in outcome.verdicts):
        blocks.append(f"**Verdicts from fewer than {ENOUGH_RUNS:,} runs are provisional: {PROVISIONAL}.**")
    for outcome in outcomes:
        blocks += _blocks(outcome)
    return "\n\n".join(blocks) + "\n"


def _blocks(outcome: ExperimentOutcome) -> Iterator[str]:
    experiment = outcome.experiment
    yield _plain(f"## {experiment.name}: {experiment.title}")
    yield _plain(f"*{experiment.place}.* {experiment.about}")
    if experiment.assumed:
        yield "Not stated in the paper, and assumed here:"
        yield "\n".join(_plain(f"- {text}") for text in experiment.assumed)
    for one in outcome.sentences:
        quoted = one.sentence if one.own else f"“{one.sentence}”"
        yield _plain(f"**{MARKS[one.status]} {one.status}**: {quoted} *({one.place})*")
        lines = ["| | what is tested | numbers | runs |", "|:--|:--|:--|--:|"]
        for verdict in one.tests:
            claim = verdict.claim
            explained = claim.why and verdict.status not in (Status.HOLDS, Status.ARITHMETIC)
            cells = [
                f"{MARKS[verdict.status]} {verdict.status}",
                f"{claim.reading} *{claim.why}*" if explained else claim.reading,
                summary_line(verdict),
                runs_of(verdict),
            ]
            lines.append(_line(cells))
        yield "\n".join(lines)
    for verdict in outcome.verdicts:
        if rows := grid(verdict):
            yield _plain(verdict.claim.reading)
            columns = list(map(str, next(iter(rows.values()))))
            lines = [_line([" \\\\ ".join(verdict.claim.each), *columns]), "|:--" + "|:-:" * len(columns) + "|"]
            for value, cases in rows.items():
                lines.append(_line([str(value), *(MARKS[case.verdict.status] for case in cases.values())]))
            yield "\n".join(lines)


def _not_holding(outcomes: Sequence[ExperimentOutcome]) -> Iterator[str]:
    """The sentences of the paper that fail or are undecided, and in which variants."""
    listed = [
        f"- “{one.sentence}” ({outcome.experiment.name}): {variants_line(one) or one.status}."
        for outcome in outcomes
        if outcome.experiment.paper
        for one in outcome.sentences
        if one.status in (Status.FAILS, Status.UNDECIDED)
    ]
    if listed:
        yield "\n".join(map(_plain, listed))


def _command(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> str:
    names = [outcome.experiment.name for outcome in outcomes]
    named = "all" if tuple(names) == NAMES else " ".join(n if n in NAMES else f"{n}.toml" for n in names)
    fraction = f" --fraction {summary.fraction:g}" if summary.fraction < 1.0 else ""
    return f"belated reproduce {named} --seed {summary.seed}{fraction}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text with HTML escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
