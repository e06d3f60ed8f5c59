"""Which policy for which delays: the page, made from the arena's scores.

``python docs/scripts/which_policy.py`` writes ``docs/which-policy.md`` from ``docs/scripts/arena.json``, which ``make
arena`` leaves there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from markdown_tables import table

from belated.arena import Row, Scores
from belated.arena.files import read

DOCS = Path(__file__).resolve().parent.parent
SCORES = DOCS / "scripts" / "arena.json"
PAGE = DOCS / "which-policy.md"
SPREAD, PREFIX, ELIMINATION, PENDING = "Prefix-UCB spread", "Prefix-UCB", "Prefix-SE", "Pending-UCB"
SHOWN = (SPREAD, PENDING, "Thompson", PREFIX, "UCB", "SE", "OPSE")
"""Policies of the tables; the picture has all."""
MEAN, WORST = 1.15, 1.5
"""What was aimed at: the geometric mean of the ratios, and the largest ratio, on a policy's own kind of row."""


class Case(NamedTuple):
    """An answer to the questions, and what follows."""

    title: str
    policy: str
    code: str
    rows: Callable[[Row], bool]
    why: str
    risk: str


CASES = (
    Case(
        "Silence is a failure after some time",
        SPREAD,
        "PrefixUCB(confidence=1.0, spread=True)`, with a deadline (`silence` in the service)",
        lambda row: row.name.startswith("conversions") and not row.loses,
        "A deadline makes an ordinary delay of it: a success comes at its time, a failure at the deadline. Nothing is "
        "lost, and the delay depends on the reward, which prefix brackets allow.",
        "A deadline that is too short counts late successes as failures, of the slowest arm most.",
    ),
    Case(
        "The delay may depend on the answer, or nobody knows; every answer comes",
        SPREAD,
        "PrefixUCB(confidence=1.0, spread=True)`; `PrefixUCB(horizon=T)` or `PrefixElimination(horizon=T)` where a "
        "[proof](theory/prefix.md) is asked for, at its price",
        lambda row: not row.loses,
        "Its index is built on intervals that hold for every joint law of reward and delay.",
        "It believes in silence: an arm that says nothing for long is pulled until it speaks.",
    ),
    Case(
        "The delay does not depend on the answer; answers may be lost",
        PENDING,
        "PendingUCB(confidence=1.0)`, with `patience` if the longest believable delay is known",
        lambda row: not row.depends,
        "What is seen of an arm is then a fair sample of it. It counts the answers that are still out, so that it does "
        "not ask again for what it will know soon, and does not mourn what is lost.",
        "If delays do depend on answers after all it fails as UCB does: see the rows of that kind in the picture.",
    ),
    Case(
        "The delay depends on the answer, and answers are lost for good",
        PENDING,
        "PendingUCB(confidence=1.0)`, and a deadline, or a way to hear of what is lost",
        lambda row: row.depends and row.loses,
        "The data then say no more of an arm's mean than that it lies between S/m and S/m + the share lost; no policy "
        "can do well on all such problems.",
        "Whoever loses successes of good arms and failures of bad ones shows all arms alike.",
    ),
)

SILENCE = (
    "Until its answers come, an arm that is silent and best looks as one that is silent and bad: what tells "
    "best-late-* from one-very-late comes too late. Prefix-UCB goes on pulling it, Pending-UCB stops after "
    "four times the longest delay of any arm. It would take a bound on the delays (`patience=`)."
)
MIRROR = (
    "Its mirror image is among the rows: until the late answers come, nobody can tell them apart, and what wins here "
    "loses there. It would take knowledge of which of the two it is."
)
LUCK = (
    "The row's best takes every missing answer for a success. Here the best arm has the most missing answers; where "
    "the others have (pareto-rest-heavy, lost-of-the-rest, lost-unequally) that costs 5 to 30 times the best."
)
QUICK = (
    "Some answers come early and tell all that there is, if delays do not depend on rewards. An interval that holds "
    "for every law may not use that. It would take the assumption: Pending-UCB makes it."
)
MIRRORED_LUCK = (
    "The row's best, PatientBandits, takes every missing answer for a failure. Here it is the other arms' answers that "
    "are missing; where it is the best arm's (lost-of-the-best) that costs 190 times the best."
)
CEILING = (
    "Near 1 a coin's bound is much narrower than the bracket's. It would take a bound that is sharp there and does not "
    "stop at 1, where arms that look perfect tie."
)
REASONS = {
    "best-late-2000": SILENCE,
    "best-late-8000": SILENCE,
    "one-very-late": SILENCE,
    "one-never": SILENCE,
    "rest-late-2000": SILENCE,
    "rest-late-8000": SILENCE,
    "reverse-bias-2000": MIRROR,
    "theorem-6-first": MIRROR,
    "theorem-6-second": MIRROR,
    "bias-500-twenty-arms": MIRROR,
    "pareto-best-heavy": LUCK,
    "lost-of-the-best": LUCK,
    "late-or-lost-of-the-best": LUCK,
    "lost-of-the-rest": MIRRORED_LUCK,
    "high-means": CEILING,
    "low-means": CEILING,
}
"""Why a target is missed in a row, and what it would take; QUICK for the others."""


def which_policy_page(scores: Scores) -> str:
    """The page."""
    return "\n".join(
        [
            "# Which policy",
            "",
            "<!-- written by docs/scripts/which_policy.py from the scores that `make arena` leaves; do not edit -->",
            "",
            "Three questions about the answers decide it. The figures are those of `belated arena`: the regret of a "
            "policy over the least regret of any policy in the same row, all with c = 1; a mean is geometric. Rows "
            "that were held out while the policies were made stand by themselves.",
            "",
            "1. **Is silence a failure after some time?** Advertisers hear of purchases, and never of their absence.",
            "2. **Can the answer's delay depend on the answer?** A sale is known later than a visit without one; a "
            "relapse is known earlier than a cure.",
            "3. **Can answers be lost for good?**",
            "",
            *(line for case in CASES for line in _case(scores, case)),
            "## The arena",
            "",
            f"{len(scores.rows)} rows, {len(scores.labels)} policies, {int(scores.runs.min()):,} to "
            f"{int(scores.runs.max()):,} runs of each; the standard error of a ratio is at most "
            f"{100 * float((scores.error / scores.ratio).max()):.0f} % of it. Made by `make arena`; `belated arena "
            "--list` gives the reason of each row, and `belated arena --policy package.module:MyPolicy` enters a "
            "policy of your own.",
            "",
            "![Regret of every policy over the least of each row](images/arena.png)",
            "",
            *_targets(scores),
        ]
    )


def _case(scores: Scores, case: Case) -> list[str]:
    """What to do, why, the figures, the risk."""
    return [
        f"## {case.title}",
        "",
        f"**`{case.code}.** {case.why}",
        "",
        *_figures(scores.among(case.rows), case.policy),
        "",
        f"*The risk.* {case.risk}",
        "",
    ]


def _figures(part: Scores, chosen: str) -> list[str]:
    seen, held = part.among(lambda row: not row.held), part.among(lambda row: row.held)
    lines = []
    for label in SHOWN:
        name, ratio = part.worst(label)
        cells = [f"**{label}**" if label == chosen else label, f"{part.geometric_mean(label):.2f}"]
        cells += [f"{rows.geometric_mean(label):.2f}" if rows.rows else "" for rows in (seen, held)]
        lines.append([*cells, f"{ratio:.2f} ({name})"])
    count, other = len(seen.rows), len(held.rows)
    header = ["policy", f"mean of {count + other} rows", f"looked at ({count})", f"held out ({other})", "worst row"]
    return [table(header, lines)]


def _targets(scores: Scores) -> list[str]:
    """What was aimed at, and what became of it."""
    kinds: dict[str, tuple[str, Callable[[Row], bool]]] = {
        PREFIX: ("no answer is lost", lambda row: not row.loses),
        SPREAD: ("no answer is lost", lambda row: not row.loses),
        PENDING: ("the delay does not depend on the reward", lambda row: not row.depends),
    }
    lines, misses = [], []
    for label, (words, wanted) in kinds.items():
        part = scores.among(wanted)
        high = part.above(label, WORST)
        held = part.among(lambda row: row.held).geometric_mean(label)
        lines.append(
            [label, words, f"{part.geometric_mean(label):.2f}", f"{held:.2f}", f"{len(high)} of {len(part.rows)}"]
        )
        column = part.labels.index(label)
        ratios = {row.name: float(ratio) for row, ratio in zip(part.rows, part.ratio[:, column], strict=True)}
        if label != PREFIX:
            misses += [(REASONS.get(name, QUICK), label, name, ratios[name]) for name in high]
    found = [
        "## What was aimed at",
        "",
        f"On a policy's own kind of row: a geometric mean below {MEAN}, and no row above {WORST}.",
        "",
        table(["policy", "its rows", f"mean (below {MEAN})", "held out alone", f"rows above {WORST}"], lines),
        "",
        "The plain form of Prefix-UCB, which has the proof, pulls an arm again and again while its answers are out; "
        "spreading the pulls meanwhile mends most of that. Of the other two, the rows above and what it would take:",
        "",
    ]
    for reason in dict.fromkeys(reason for reason, *_ in misses):
        found += [reason, ""]
        for label in kinds:
            rows = [f"{name} {ratio:.2f}" for why, of, name, ratio in misses if why == reason and of == label]
            if rows:
                found.append(f"- {label}: {', '.join(rows)}")
        found.append("")
    ours, theirs = (
        float(scores.among(lambda row: row.name == "bias-5000").regret[0, scores.labels.index(label)])
        for label in (ELIMINATION, "OPSE")
    )
    found += [
        f"Figure 4's set-up (bias-5000): {ELIMINATION} {ours:,.0f}, OPSE {theirs:,.0f}, {theirs / ours:.1f} times as "
        "much; at least 4 was aimed at.",
        "",
    ]
    return found


if __name__ == "__main__":
    PAGE.write_text(which_policy_page(read(SCORES)), encoding="utf-8")
