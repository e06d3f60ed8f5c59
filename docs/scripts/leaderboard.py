"""Write the leaderboard from the arena's scores and the records of submitted policies.

``python docs/scripts/leaderboard.py`` writes ``docs/leaderboard.md`` from ``docs/scripts/arena.json`` and
``arena/submissions``, which ``make arena`` updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from markdown_tables import table

from belated.errors import StateError
from belated.studies.arena import Scores
from belated.studies.arena.page import losing_text
from belated.studies.arena.scores import read
from belated.studies.arena.still_losing import MEANING
from belated.studies.arena.submissions import POLICY, Record, Submission, problem_hash, read_record, read_submissions

ROOT = Path(__file__).resolve().parent.parent.parent
SCORES = ROOT / "docs" / "scripts" / "arena.json"
SUBMISSIONS = ROOT / "arena" / "submissions"
PAGE = ROOT / "docs" / "leaderboard.md"
Played = tuple[Submission, Record]


def read_played(folder: Path, built_in: Sequence[str]) -> list[Played]:
    """The submissions of a folder with their records; an error if a record is of another file, or a label is taken."""
    found, taken = [], dict.fromkeys(built_in, "a built-in policy")
    for submission in read_submissions(folder):
        record = read_record(submission)
        if record.policy != submission.sha256:
            raise StateError(f"{submission.folder}: the record is of another {POLICY}; play it again with make arena.")
        if record.label in taken:
            raise StateError(
                f"{submission.folder}: label is {record.label!r}, which is that of {taken[record.label]}; give another."
            )
        taken[record.label] = str(submission.folder)
        found.append((submission, record))
    return found


def leaderboard_page(scores: Scores, submitted: Sequence[Played]) -> str:
    """Return the page."""
    complete = [played for played in submitted if not _missing(scores, played[1])]
    together = _joined(scores, [record for _, record in complete])
    authors = {record.label: submission.about.author for submission, record in complete}
    held = together.select(lambda scenario: scenario.held_out)
    real = together.select(lambda scenario: scenario.real)
    lines = []
    for place, label in enumerate(together.ranked(), start=1):
        parts = [together, *(together.of_kind(kind) for kind in together.kinds), real, held]
        means = [f"{part.geometric_mean(label):.2f}" if part.scenarios else "" for part in parts]
        means.insert(1, f"{together.relative_mean(label):.2f}")
        worst = "{} ({:.2f})".format(*together.worst(label))
        who = authors.get(label, "built in")
        lines.append([f"{place}", label, who, *means, worst, losing_text(together, label)])
    kinds = [*together.kinds, "real delays", "held out"]
    head = ["", "policy", "author", "all", "to the limit", *kinds, "worst scenario", "still losing"]
    return "\n".join(
        [
            "# Leaderboard",
            "",
            "<!-- written by docs/scripts/leaderboard.py from the scores of `make arena`; do not edit -->",
            "",
            f"Every policy on the arena's {len(together.scenarios)} scenarios: the geometric mean of its regret "
            "divided by the lowest of any built-in policy. A submitted policy has 120 runs of each scenario, the "
            f"built-in ones have up to {int(scores.runs.max()):,}; so nothing is divided by its regrets, and its "
            "numbers may be below 1. *To the limit* also divides by what [no policy can "
            f"have](howto/arena.md#kinds-of-scenarios) on twins; *still losing* is {MEANING}; with the scenario that "
            "has most of them. [Submit a policy](howto/submit-a-policy.md) of your own; [which "
            "policy](which-policy.md) says what follows for the use of those that are built in.",
            "",
            table(head, lines),
            "",
            *_provenance(complete),
            *_incomplete(scores, submitted),
        ]
    )


def _joined(scores: Scores, records: Sequence[Record]) -> Scores:
    """The scores with a column more for each record; standard errors of its ratios are not known. A record has few
    runs, so ratios stay those to the lowest regret of the built-in policies."""
    rows = [[record.scenarios[scenario.name] for record in records] for scenario in scores.scenarios]
    columns = {
        name: np.array([[getattr(entry, name) for entry in row] for row in rows]).reshape(len(rows), len(records))
        for name in ("regret", "stderr", "losing")
    }
    columns["error"] = np.full((len(rows), len(records)), np.nan)
    arrays = {name: np.hstack([getattr(scores, name), columns[name]]) for name in columns}
    labels = (*scores.labels, *(record.label for record in records))
    return replace(scores, labels=labels, reference=scores.labels, **arrays)


def _missing(scores: Scores, record: Record) -> int:
    """The number of scenarios of which a record has no entry, or one of another problem."""
    return sum(
        scenario.name not in record.scenarios or record.scenarios[scenario.name].problem != problem_hash(scenario)
        for scenario in scores.scenarios
    )


def _provenance(submitted: Sequence[Played]) -> list[str]:
    """Return the section on who submitted what."""
    if not submitted:
        return []
    lines = [
        [
            record.label,
            submission.about.reference,
            submission.about.licence,
            submission.about.date,
            f"`{submission.name}`, sha256 `{record.policy[:16]}`",
            record.version,
        ]
        for submission, record in submitted
    ]
    return [
        "## Submitted policies",
        "",
        "Each was checked with `belated.testing.check_policy` and has the first 120 runs of each scenario, with the "
        "rewards and delays that the built-in policies had. `belated arena --verify arena/submissions` plays them "
        "again and compares the regrets to the bit.",
        "",
        table(["policy", "reference", "licence", "date", "file", "recorded with belated"], lines),
        "",
    ]


def _incomplete(scores: Scores, submitted: Sequence[Played]) -> list[str]:
    """Return a sentence about each submission that was not played on all scenarios."""
    lines = [
        f"- {record.label} ({submission.about.author}): {missing} of {len(scores.scenarios)} scenarios are missing."
        for submission, record in submitted
        if (missing := _missing(scores, record))
    ]
    return ["Not ranked, as their records are not complete:", "", *lines, ""] if lines else []


if __name__ == "__main__":
    built_in = read(SCORES)
    page = leaderboard_page(built_in, read_played(SUBMISSIONS, built_in.labels))
    PAGE.write_text(page, encoding="utf-8")
