"""Write the page "Which policy" from the arena's scores.

``python docs/scripts/which_policy.py`` writes ``docs/which-policy.md`` from ``docs/scripts/arena.json``, which ``make
arena`` updates.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from markdown_tables import table

from belated.studies.arena import Scenario, Scores
from belated.studies.arena.scenarios import DEPENDENT, LOST
from belated.studies.arena.scores import read

DOCS = Path(__file__).resolve().parent.parent
SCORES = DOCS / "scripts" / "arena.json"
PAGE = DOCS / "which-policy.md"
SPREAD, PREFIX, ELIMINATION, PENDING = "Prefix-UCB spread", "Prefix-UCB", "Prefix-SE", "Pending-UCB"
SHOWN = (SPREAD, PENDING, "Thompson", PREFIX, "UCB", "SE", "OPSE")
"""Policies in the tables; the figure has all of them."""
MEAN, WORST = 1.15, 1.5
"""Targets for the geometric mean of the ratios and for the largest ratio, on the scenarios a policy is meant for."""


class Case(NamedTuple):
    """One combination of answers to the questions, and the recommendation."""

    title: str
    policy: str
    code: str
    tables: tuple[tuple[str, Callable[[Scenario], bool]], ...]
    why: str
    risk: str


CASES = (
    Case(
        "Silence means failure after some time",
        SPREAD,
        "PrefixUCB(spread=True)`, with a deadline (`silence` in the service)",
        (("scenarios of this kind", lambda row: row.name.startswith("conversions") and not row.loses),),
        "A deadline turns silence into an ordinary delay: a success arrives in its own time, a failure at the "
        "deadline. No feedback is lost, and the delay depends on the reward, which prefix brackets allow. Thompson "
        "sampling does as well in these few scenarios, but much worse in others with reward-dependent delays, so we "
        "do not recommend it.",
        "A deadline that is too short counts late successes as failures, and hits the slowest arm hardest.",
    ),
    Case(
        "The delay may depend on the reward; all feedback arrives",
        SPREAD,
        'PrefixUCB(spread=True)`; `PrefixUCB(confidence="theory", horizon=T)` or `PrefixElimination` with the same '
        "parameters if you need a [proof](theory/prefix.md), at the price of more regret",
        (
            ("it does depend", lambda row: row.depends and not row.loses),
            ("it turns out not to", lambda row: not row.depends and not row.loses),
        ),
        "Its index is built on intervals that hold for every joint distribution of reward and delay.",
        "It keeps waiting: an arm without feedback is pulled until feedback arrives, and an arm whose feedback is "
        "lost may be pulled forever. In scenarios with lost feedback its mean is {lost:.1f}, at worst {worst:.0f} "
        "({where}).",
    ),
    Case(
        "The delay does not depend on the reward; feedback may be lost",
        PENDING,
        "PendingUCB()`",
        (
            ("no feedback is lost", lambda row: not row.depends and not row.loses),
            ("feedback is lost", lambda row: not row.depends and row.loses),
        ),
        "The feedback received from an arm is then a fair sample. Pending-UCB accounts for pending feedback, so it "
        "does not pull an arm again for information that is already on its way, and it ignores lost feedback. "
        "`patience` (in decisions) is how long it waits for feedback; set it to the longest plausible delay. Use a "
        "long one if the best arm may be silent for long (best-late-*). Each arm that never sends feedback then "
        "costs that many decisions and a few hundred more.",
        "If delays do depend on rewards, it fails as UCB does: in those scenarios its mean is {dependent:.1f}, at "
        "worst {worst:.0f} ({where}).",
    ),
    Case(
        "The delay depends on the reward, and feedback is lost",
        PENDING,
        "PendingUCB()`, if you can neither set a deadline nor find out about lost feedback",
        (("scenarios of this kind", lambda row: row.depends and row.loses),),
        "The data then say only that an arm's mean lies between S/m and S/m + the share lost; no policy can do well "
        "on all such problems. With a deadline it becomes the first case, and PrefixUCB.",
        "If good arms lose successes and bad arms lose failures, all arms look alike.",
    ),
    Case(
        "You do not know",
        PENDING,
        "PendingUCB()`, or `PrefixUCB(spread=True)` with a deadline if silence can be "
        "given a meaning. These are the defaults of the service and of `Bandit`",
        (("all scenarios", lambda _: True),),
        "It has the smallest mean over all scenarios. Then find out: the service shows the delays of successes and "
        "of failures.",
        "Each policy fails where it would need the other's assumption; the worst scenario for this one is a best arm "
        "that is silent for most of the run.",
    ),
)

SILENCE = (
    "Until its feedback arrives, a silent best arm looks the same as a silent bad one: what distinguishes best-late-* "
    "from one-very-late arrives too late. Prefix-UCB keeps pulling the arm; Pending-UCB gives it up, until feedback "
    "arrives, some time after four times the longest delay of any arm. Which one is right is luck; a better policy "
    "would have to know how late that arm may be."
)
MIRROR = (
    "The mirror image is among the scenarios: until the late feedback arrives, no policy can tell the two apart, and "
    "what wins here loses there. A better policy would have to know which of the two it faces."
)
LUCK = (
    "The best policy of the scenario counts all missing feedback as successes. Here the best arm has the most missing "
    "feedback; where the other arms do, that costs {pareto-rest-heavy:.0f} (pareto-rest-heavy), {lost-unequally:.0f} "
    "(lost-unequally) and {lost-of-the-rest:.0f} times (lost-of-the-rest) the lowest regret."
)
QUICK = (
    "If delays do not depend on rewards, the feedback that arrives early is all one needs. An interval that holds for "
    "every distribution cannot use that. It takes the assumption, which Pending-UCB makes."
)
MIRRORED_LUCK = (
    "The best policy of the scenario, PatientBandits, counts all missing feedback as failures. Here the other arms' "
    "feedback is missing; where the best arm's is (lost-of-the-best), no policy is worse."
)
CEILING = (
    "Near 1 a Bernoulli confidence bound is much narrower than the bracket. A better policy would need a bound that is "
    "sharp there and does not stop at 1, where arms that look perfect tie."
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
    "batch-unequal": QUICK,
}
"""Why a scenario misses its target, and what it would take."""


def which_policy_page(scores: Scores) -> str:
    """Return the page."""
    return "\n".join(
        [
            "# Which policy",
            "",
            "<!-- written by docs/scripts/which_policy.py from the scores of `make arena`; do not edit -->",
            "",
            "Three questions about your feedback decide which policy to use. The tables show the results of `belated "
            "arena`: the regret of a policy divided by the lowest regret of any policy in the same scenario, all with "
            "c = 1. Means are geometric. Scenarios that were held out while the policies were designed are listed "
            "separately.",
            "",
            "1. **Does silence mean failure after some time?** Advertisers hear about purchases, but never about their "
            "absence.",
            "2. **Can the delay depend on the reward?** A sale is known later than a visit without one; a relapse is "
            "known earlier than a cure.",
            "3. **Can feedback be lost?**",
            "",
            *(line for case in CASES for line in _case(scores, case)),
            "## The arena",
            "",
            f"{len(scores.scenarios)} scenarios, {len(scores.labels)} policies, {int(scores.runs.min()):,} to "
            f"{int(scores.runs.max()):,} runs of each; the standard error of a ratio is at most "
            f"{100 * scores.max_rel_error:.0f} % of it. Measured by `make arena`. `belated arena --list` gives the "
            "reason for each scenario, and `belated arena --policy package.module:MyPolicy` includes your own policy.",
            "",
            "The held-out scenarios were first played after all policies had been designed. One rule was fixed later: "
            "how Pending-UCB treats an arm that has been silent for long. A defect that no scenario had shown made it "
            "pull such an arm forever when rewards are below one half; the scenario one-never-low-means was added for "
            "it. The constant of the new rule was chosen on scenarios that were not held out. The rule costs regret if "
            "the silent arm is the best (best-late-*), and one of these scenarios is held out.",
            "",
            "![Regret of every policy divided by the lowest regret in each scenario](images/arena.png)",
            "",
            *_targets(scores),
        ]
    )


def _case(scores: Scores, case: Case) -> list[str]:
    """Return the section of a case: recommendation, reason, tables, risk."""
    return [
        f"## {case.title}",
        "",
        f"**`{case.code}.** {case.why}",
        "",
        *(line for words, rows in case.tables for line in [*_figures(scores.select(rows), case.policy, words), ""]),
        f"*Risk.* {_risk(scores, case)}",
        "",
    ]


def _risk(scores: Scores, case: Case) -> str:
    """Return the sentence about the risk, with its figures."""
    lost, dependent = scores.of_kind(LOST), scores.of_kind(DEPENDENT)
    name, ratio = (lost if case.policy == SPREAD else dependent).worst(case.policy)
    means = {"lost": lost.geometric_mean(case.policy), "dependent": dependent.geometric_mean(case.policy)}
    return case.risk.format(**means, worst=ratio, where=name)


def _figures(part: Scores, chosen: str, words: str) -> list[str]:
    seen, held = part.select(lambda row: not row.held_out), part.select(lambda row: row.held_out)
    lines = []
    for label in SHOWN:
        name, ratio = part.worst(label)
        cells = [f"**{label}**" if label == chosen else label, f"{part.geometric_mean(label):.2f}"]
        cells += [f"{rows.geometric_mean(label):.2f}" if rows.scenarios else "" for rows in (seen, held)]
        lines.append([*cells, f"{ratio:.2f} ({name})"])
    count, other = len(seen.scenarios), len(held.scenarios)
    number = f"{count + other} scenarios"
    header = [words, f"mean of {number}", f"development ({count})", f"held out ({other})", "worst scenario"]
    return [table(header, lines)]


def _targets(scores: Scores) -> list[str]:
    """Return the section on targets: which are met, and why others are not."""
    kinds: dict[str, tuple[str, Callable[[Scenario], bool]]] = {
        PREFIX: ("no feedback is lost", lambda row: not row.loses),
        SPREAD: ("no feedback is lost", lambda row: not row.loses),
        PENDING: ("the delay does not depend on the reward", lambda row: not row.depends),
    }
    lines, misses = [], []
    above_target: dict[str, str] = {}
    for label, (words, wanted) in kinds.items():
        part = scores.select(wanted)
        high = part.above(label, WORST)
        held = part.select(lambda row: row.held_out).geometric_mean(label)
        lines.append(
            [label, words, f"{part.geometric_mean(label):.2f}", f"{held:.2f}", f"{len(high)} of {len(part.scenarios)}"]
        )
        column = part.labels.index(label)
        ratios = {row.name: float(ratio) for row, ratio in zip(part.scenarios, part.ratio[:, column], strict=True)}
        above_target[label] = ", ".join(f"{name} {ratios[name]:.2f}" for name in high)
        if label != PREFIX:
            misses += [(REASONS.get(name, UNEXPLAINED), label, name, ratios[name]) for name in high]
    found = [
        "## Targets",
        "",
        f"On the scenarios a policy is meant for: a geometric mean below {MEAN}, and no scenario above {WORST}.",
        "",
        table(["policy", "meant for", f"mean (below {MEAN})", "held out only", f"above {WORST}"], lines),
        "",
        "Plain Prefix-UCB, the variant with the proof, keeps pulling the same arm while its feedback is pending; "
        f"spreading the pulls fixes most of that. Its scenarios above {WORST}: {above_target[PREFIX]}.",
        "",
        "The scenarios above the limit for the other two, and what it would take to improve them:",
        "",
    ]
    column = scores.ratio[:, scores.labels.index(PREFIX)]
    costs = {scenario.name: float(of) for scenario, of in zip(scores.scenarios, column, strict=True)}
    for reason in dict.fromkeys(reason for reason, *_ in misses):
        found += [reason.format(**costs), ""]
        for label in kinds:
            rows = [f"{name} {ratio:.2f}" for why, of, name, ratio in misses if why == reason and of == label]
            if rows:
                found.append(f"- {label}: {', '.join(rows)}")
        found.append("")
    ours, theirs = (
        float(scores.select(lambda row: row.name == "bias-5000").regret[0, scores.labels.index(label)])
        for label in (ELIMINATION, "OPSE")
    )
    found += [
        f"In the setting of Figure 4 (bias-5000), {ELIMINATION} has a regret of {ours:,.0f} and OPSE of {theirs:,.0f}, "
        f"{theirs / ours:.1f} times as much; the target was at least 4.",
        "",
    ]
    return found


if __name__ == "__main__":
    PAGE.write_text(which_policy_page(read(SCORES)), encoding="utf-8")
