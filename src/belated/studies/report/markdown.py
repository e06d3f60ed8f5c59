"""The claims as a table in Markdown, for the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from belated.studies.claims import Status
from belated.studies.experiments import NAMES
from belated.studies.report.phrasing import MARKS, Grid, grid, summary_line, tally
from belated.studies.report.summary import Summary
from belated.studies.reproduce import ExperimentOutcome

_NAMES = {Status.HOLDS: "✓ holds", Status.FAILS: "✗ fails", Status.UNDECIDED: "? undecided"}


def markdown(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> str:
    """All claims, one table for each experiment."""
    return "\n".join(_lines(summary, outcomes)) + "\n"


def _lines(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> Iterator[str]:
    paper = sum(summary.paper.values())
    yield "# The paper's claims, put to the test" if paper else "# Claims, put to the test"
    yield ""
    if paper:
        yield f"{paper} claims of the paper: **{tally(summary.paper)}.**"
        yield ""
    yield (
        f"Each claim is tested with a nominal confidence of {summary.confidence}, divided among all its comparisons "
        f"and interim looks. Made by `{_command(summary, outcomes)}`, belated {summary.environment['belated']}."
    )
    if sum(summary.others.values()):
        yield ""
        yield f"Other claims, {sum(summary.others.values())}: {tally(summary.others)}."
    if summary.fraction < 1.0:
        yield ""
        yield f"**This is a quick look: {summary.fraction:g} of the repetitions.**"
    for outcome in outcomes:
        yield ""
        yield _plain(f"## {outcome.experiment.name}: {outcome.experiment.title}")
        yield ""
        yield _plain(f"*{outcome.experiment.place}.* {outcome.experiment.about}")
        if outcome.experiment.assumed:
            yield ""
            yield "Not stated in the paper, and assumed here:"
            yield ""
            yield from (_plain(f"- {text}") for text in outcome.experiment.assumed)
        yield ""
        yield "| | sentence | what is tested | numbers | runs |"
        yield "|:--|:--|:--|:--|--:|"
        for verdict in outcome.verdicts:
            claim = verdict.claim
            explained = claim.why and verdict.status is not Status.HOLDS
            cells = [
                _NAMES[verdict.status],
                f"{claim.sentence} *({claim.place})*" if claim.own else f"“{claim.sentence}” *({claim.place})*",
                f"{claim.reading} *{claim.why}*" if explained else claim.reading,
                summary_line(verdict),
                f"{verdict.runs:,}",
            ]
            yield _line(cells)
        for verdict in outcome.verdicts:
            table = grid(verdict)
            if table is not None:
                yield from _table(verdict.claim.reading, table)


def _command(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> str:
    """The command that makes this table."""
    names = [outcome.experiment.name for outcome in outcomes]
    named = "all" if tuple(names) == NAMES else " ".join(n if n in NAMES else f"{n}.toml" for n in names)
    fraction = f" --fraction {summary.fraction:g}" if summary.fraction < 1.0 else ""
    return f"belated reproduce {named} --seed {summary.seed}{fraction}"


def _table(title: str, table: Grid) -> Iterator[str]:
    yield ""
    yield _plain(title)
    yield ""
    yield _line([f"{table.first} \\\\ {table.second}", *map(str, table.columns)])
    yield "|:--" + "|:-:" * len(table.columns) + "|"
    for value, cases in table.rows.items():
        yield _line([str(value), *(MARKS[case.verdict.status] for case in cases)])


def _line(cells: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text with HTML escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
