"""Which policy for which delays: the page, made from the arena's scores.

``python docs/scripts/which_policy.py`` writes ``docs/which-policy.md`` from ``docs/scripts/arena.json``, which ``make
arena`` leaves there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from markdown_tables import table

from belated.studies.arena import Scenario, Scores
from belated.studies.arena.files import read
from belated.studies.arena.scenarios import DEPENDENT, LOST

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
    tables: tuple[tuple[str, Callable[[Scenario], bool]], ...]
    why: str
    risk: str


CASES = (
    Case(
        "Silence is a failure after some time",
        SPREAD,
        "PrefixUCB(confidence=1.0, spread=True)`, with a deadline (`silence` in the service)",
        (("rows of that kind", lambda row: row.name.startswith("conversions") and not row.loses),),
        "A deadline makes an ordinary delay of it: a success comes at its time, a failure at the deadline. Nothing is "
        "lost, and the delay depends on the reward, which prefix brackets allow. Thompson sampling does as well in "
        "these few rows, and much worse in others whose delays depend on the reward, so it is not what we advise.",
        "A deadline that is too short counts late successes as failures, of the slowest arm most.",
    ),
    Case(
        "The delay may depend on the answer; every answer comes",
        SPREAD,
        "PrefixUCB(confidence=1.0, spread=True)`; `PrefixUCB(horizon=T)` or `PrefixElimination(horizon=T)` where a "
        "[proof](theory/prefix.md) is asked for, at its price",
        (
            ("it does depend", lambda row: row.depends and not row.loses),
            ("it does not, after all", lambda row: not row.depends and not row.loses),
        ),
        "Its index is built on intervals that hold for every joint law of reward and delay.",
        "It believes in silence: an arm that says nothing for long is pulled until it speaks, and an arm whose answers "
        "are lost for good may be pulled for ever. On rows with lost answers its mean is {lost:.1f}, at worst "
        "{worst:.0f} ({where}).",
    ),
    Case(
        "The delay does not depend on the answer; answers may be lost",
        PENDING,
        "PendingUCB(confidence=1.0)`",
        (
            ("nothing is lost", lambda row: not row.depends and not row.loses),
            ("answers are lost", lambda row: not row.depends and row.loses),
        ),
        "What is seen of an arm is then a fair sample of it. It counts the answers that are still out, so that it does "
        "not ask again for what it will know soon, and does not mourn what is lost. `patience` (in decisions) ends its "
        "hope for an answer at the longest believable delay: a long one is for those whose best arm may be silent for "
        "long (best-late-*), and costs as much as it is long for each arm that never answers, and some hundred "
        "decisions more.",
        "If delays do depend on answers after all it fails as UCB does: on those rows its mean is {dependent:.1f}, at "
        "worst {worst:.0f} ({where}).",
    ),
    Case(
        "The delay depends on the answer, and answers are lost for good",
        PENDING,
        "PendingUCB(confidence=1.0)`, if neither a deadline nor a way to hear of what is lost can be had",
        (("rows of that kind", lambda row: row.depends and row.loses),),
        "The data then say no more of an arm's mean than that it lies between S/m and S/m + the share lost; no policy "
        "can do well on all such problems. With a deadline it is the first case, and PrefixUCB.",
        "Whoever loses successes of good arms and failures of bad ones shows all arms alike.",
    ),
    Case(
        "Nobody knows",
        PENDING,
        "PendingUCB(confidence=1.0)`, or `PrefixUCB(confidence=1.0, spread=True)` with a deadline where silence can be "
        "given a meaning: "
        "these are the defaults of the service and of `Bandit`",
        (("all rows", lambda _: True),),
        "Over all rows it has the smallest mean. Then find out: the service shows the delays of successes and of "
        "failures.",
        "Each policy fails where the other's assumption is needed; the worst row of this one is a best arm that is "
        "silent for most of the run.",
    ),
)

SILENCE = (
    "Until its answers come, an arm that is silent and best looks as one that is silent and bad: what tells "
    "best-late-* from one-very-late comes too late. Prefix-UCB goes on pulling it; Pending-UCB gives it up, "
    "until it speaks, some time after four times the longest delay of any arm. Who is right is luck; it would take "
    "knowledge of how late that arm may be."
)
MIRROR = (
    "Its mirror image is among the rows: until the late answers come, nobody can tell them apart, and what wins here "
    "loses there. It would take knowledge of which of the two it is."
)
LUCK = (
    "The row's best takes every missing answer for a success. Here the best arm has the most missing answers; where "
    "the others have, that costs {pareto-rest-heavy:.0f} (pareto-rest-heavy), {lost-unequally:.0f} (lost-unequally) "
    "and {lost-of-the-rest:.0f} times (lost-of-the-rest) the least regret."
)
QUICK = (
    "Some answers come early and tell all that there is, if delays do not depend on rewards. An interval that holds "
    "for every law may not use that. It would take the assumption: Pending-UCB makes it."
)
MIRRORED_LUCK = (
    "The row's best, PatientBandits, takes every missing answer for a failure. Here it is the other arms' answers that "
    "are missing; where it is the best arm's (lost-of-the-best) nothing is worse."
)
CEILING = (
    "Near 1 a coin's bound is much narrower than the bracket's. It would take a bound that is sharp there and does not "
    "stop at 1, where arms that look perfect tie."
)
UNEXPLAINED = "Not examined yet:"
REASONS = {
    "best-late-2000": SILENCE,
    "best-late-8000": SILENCE,
    "one-very-late": SILENCE,
    "rest-late-2000": SILENCE,
    "rest-late-8000": SILENCE,
    "reverse-bias-2000": MIRROR,
    "pareto-best-heavy": LUCK,
    "lost-of-the-best": LUCK,
    "late-or-lost-of-the-best": LUCK,
    "lost-of-the-rest": MIRRORED_LUCK,
    "high-means": CEILING,
    "geometric-1000": QUICK,
    "geometric-unequal": QUICK,
    "half-at-once": QUICK,
    "fifth-very-late": QUICK,
    "pareto-0.2": QUICK,
    "pareto-rest-heavy": QUICK,
}
"""Why a target is missed in a row, and what it would take."""


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
            "that were held out while the forms of the policies were chosen stand by themselves.",
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
            f"{100 * scores.known:.0f} % of it. Made by `make arena`; `belated arena "
            "--list` gives the reason of each row, and `belated arena --policy package.module:MyPolicy` enters a "
            "policy of your own.",
            "",
            "The held-out rows were first played when all forms were chosen. Pending-UCB's rule for an arm that is "
            "silent for long was put right after that, because of a defect that no row showed: at rates below a half "
            "it was pulled for ever (one-never-low-means was added for it). Its constant was chosen on rows that were "
            "looked at; it costs where the silent arm is the best (best-late-*), of which one is held out.",
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
        *(line for words, rows in case.tables for line in [*_figures(scores.among(rows), case.policy, words), ""]),
        f"*The risk.* {_risk(scores, case)}",
        "",
    ]


def _risk(scores: Scores, case: Case) -> str:
    """What may go wrong, with its figures."""
    lost, dependent = scores.of_kind(LOST), scores.of_kind(DEPENDENT)
    name, ratio = (lost if case.policy == SPREAD else dependent).worst(case.policy)
    means = {"lost": lost.geometric_mean(case.policy), "dependent": dependent.geometric_mean(case.policy)}
    return case.risk.format(**means, worst=ratio, where=name)


def _figures(part: Scores, chosen: str, words: str) -> list[str]:
    seen, held = part.among(lambda row: not row.held), part.among(lambda row: row.held)
    lines = []
    for label in SHOWN:
        name, ratio = part.worst(label)
        cells = [f"**{label}**" if label == chosen else label, f"{part.geometric_mean(label):.2f}"]
        cells += [f"{rows.geometric_mean(label):.2f}" if rows.rows else "" for rows in (seen, held)]
        lines.append([*cells, f"{ratio:.2f} ({name})"])
    count, other = len(seen.rows), len(held.rows)
    header = [words, f"mean of {count + other} rows", f"looked at ({count})", f"held out ({other})", "worst row"]
    return [table(header, lines)]


def _targets(scores: Scores) -> list[str]:
    """What was aimed at, and what became of it."""
    kinds: dict[str, tuple[str, Callable[[Scenario], bool]]] = {
        PREFIX: ("no answer is lost", lambda row: not row.loses),
        SPREAD: ("no answer is lost", lambda row: not row.loses),
        PENDING: ("the delay does not depend on the reward", lambda row: not row.depends),
    }
    lines, misses = [], []
    told: dict[str, str] = {}
    for label, (words, wanted) in kinds.items():
        part = scores.among(wanted)
        high = part.above(label, WORST)
        held = part.among(lambda row: row.held).geometric_mean(label)
        lines.append(
            [label, words, f"{part.geometric_mean(label):.2f}", f"{held:.2f}", f"{len(high)} of {len(part.rows)}"]
        )
        column = part.labels.index(label)
        ratios = {row.name: float(ratio) for row, ratio in zip(part.rows, part.ratio[:, column], strict=True)}
        told[label] = ", ".join(f"{name} {ratios[name]:.2f}" for name in high)
        if label != PREFIX:
            misses += [(REASONS.get(name, UNEXPLAINED), label, name, ratios[name]) for name in high]
    found = [
        "## What was aimed at",
        "",
        f"On a policy's own kind of row: a geometric mean below {MEAN}, and no row above {WORST}.",
        "",
        table(["policy", "its rows", f"mean (below {MEAN})", "held out alone", f"rows above {WORST}"], lines),
        "",
        "The plain form of Prefix-UCB, which has the proof, pulls an arm again and again while its answers are out; "
        f"spreading the pulls meanwhile mends most of that. It has above {WORST}: {told[PREFIX]}.",
        "",
        "Of the other two, the rows above and what it would take:",
        "",
    ]
    costs = {
        row.name: float(of) for row, of in zip(scores.rows, scores.ratio[:, scores.labels.index(PREFIX)], strict=True)
    }
    for reason in dict.fromkeys(reason for reason, *_ in misses):
        found += [reason.format(**costs), ""]
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
