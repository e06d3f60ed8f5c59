"""Write the page "Which policy" from the arena's scores.

``python docs/scripts/which_policy.py`` writes ``docs/which-policy.md`` from ``docs/scripts/arena.json``, which ``make
arena`` updates, and from ``docs/scripts/arena-long.json`` of ``make arena-long``, where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from markdown_tables import table

from belated.policies import default_policy
from belated.studies.arena import Scenario, Scores
from belated.studies.arena.scenarios import KINDS
from belated.studies.arena.scores import read
from belated.studies.arena.still_losing import MEANING

DOCS = Path(__file__).resolve().parent.parent
SCORES, LONG_SCORES = DOCS / "scripts" / "arena.json", DOCS / "scripts" / "arena-long.json"
PAGE = DOCS / "which-policy.md"
DEFAULT, SPREAD = default_policy().label, default_policy(silence=True).label
FIXED, SAFE, PREFIX, ELIMINATION = "Imputed-UCB", "Imputed-UCB safe", "Prefix-UCB", "Prefix-SE"
PENDING = "Pending-UCB"
SHOWN = (DEFAULT, FIXED, SPREAD, "Thompson", "UCB")
"""Policies in the tables; the figure has all of them."""
WORST = 3.0
"""The target for the largest ratio."""
Selection = Callable[[Scenario], bool]


def of_kind(kind: str) -> Selection:
    """Whether a scenario is of this kind."""
    return lambda row: row.kind == kind


GROUPS: dict[str, Selection] = {
    "all": lambda _: True,
    **{kind: of_kind(kind) for kind in KINDS},
    "held out": lambda row: row.held_out,
    "real delays": lambda row: row.real,
}
"""Scenarios by name."""


def before_the_mirrors(row: Scenario) -> bool:
    """Whether a scenario is one of those for which the targets were set: before mirror images, real delays and runs of
    100,000 rounds were added."""
    return not (row.name.endswith("-mirror") or row.real or row.has_few_runs)


def reports_successes(row: Scenario) -> bool:
    """Whether successes are reported when they happen, and failures at a deadline or never."""
    return row.name.startswith(("conversions", "criteo"))


TARGETS: tuple[tuple[str, float, Selection], ...] = (
    ("before the mirrors", 1.25, before_the_mirrors),
    ("of these reward-dependent", 1.2, lambda row: before_the_mirrors(row) and row.depends and not row.loses),
    ("of these held out", 1.4, lambda row: before_the_mirrors(row) and row.held_out),
    ("added later and held out", 1.3, lambda row: not before_the_mirrors(row) and row.held_out),
)
"""Scenarios, and the target for the default's geometric mean over them."""
FAULTS = {
    "silent-beside-pareto": "It waits for a silent arm four times as long as the longest delay of any arm. With heavy "
    "tails that grows with the horizon.",
    "best-loses-99": "It gives an arm that loses most of its feedback up for good, also the best one.",
    "all-lose-95": "It counts lost feedback up to four times after a handful of answers, and settles on a wrong arm.",
}
"""What is wrong with Pending-UCB, each with a scenario that shows it."""


def which_policy_page(scores: Scores, long: Scores | None = None) -> str:
    """Return the page; with the long scenarios if there are scores of them."""
    sections = (_default, _proof, _silence, _patience, _fixed, _pending, _arena, _real, _twins)
    parts = [section(scores) for section in sections] + [_losing(scores, long), _targets(scores)]
    return "\n\n".join(paragraph for part in parts for paragraph in part) + "\n"


# ---- advice ----


def _default(scores: Scores) -> list[str]:
    """Return the beginning of the page: the default, why, and when to deviate."""
    labels = (DEFAULT, FIXED, SAFE, SPREAD, PREFIX, PENDING, "Thompson", "UCB", "SE", "OPSE")
    return [
        "# Which policy",
        "<!-- written by docs/scripts/which_policy.py from the scores of `make arena`; do not edit -->",
        '**Use the default, `ImputedUCB(confidence="anytime")`.** `Bandit`, the service and the command line do if you '
        "name no policy. It needs no horizon and no knowledge of the delays. Deviate in three cases:",
        "1. You need a proof for every joint distribution of reward and delay: [prefix "
        "brackets](#a-proof-for-every-joint-distribution).\n"
        "2. Silence has a meaning after a deadline: [`PrefixUCB(spread=True)`](#silence-that-means-something).\n"
        "3. You know how late feedback may be, or the best arm may be silent for very long: [give "
        "`patience`](#an-arm-that-may-be-silent-for-long).",
        "## Why this default",
        "It expects of every pending pull what the delays so far promise, so it does not pull an arm again for "
        "feedback that is on its way, and it stops waiting for what is lost. It compares early with late feedback, and "
        "corrects an arm's mean where delays depend on rewards. Where they do not, its regret is "
        "[proven](theory/imputed.md) to be sublinear if all feedback of each arm comes, or what comes of it has a "
        "bounded delay, and the best arm is not silent.",
        "The table has the geometric means of *ratios*: the regret of a policy divided by the lowest regret of any "
        "policy in the same [scenario](howto/arena.md). c is 1 unless the name says otherwise; bold is the lowest of a "
        "column.",
        _means(scores, labels, GROUPS),
        "No policy wins everywhere: many scenarios have a mirror image in which another arm is the best, and what wins "
        "in the one loses in the other. That, and lost feedback, is why means over all scenarios are far above 1.",
    ]


def _proof(scores: Scores) -> list[str]:
    """Return the first case."""
    figure_4 = scores.select(lambda row: row.name == "bias-5000")
    ours, theirs = (float(figure_4.regret[0, scores.labels.index(label)]) for label in (ELIMINATION, "OPSE"))
    safe = (
        "`SafeImputedUCB` has such [a bound](theory/imputed.md#a-safe-form), too: it keeps Imputed-UCB's index within "
        "prefix brackets, and pulls by the brackets alone now and then."
    )
    if SAFE in scores.labels:
        means = scores.geometric_mean(SAFE), scores.geometric_mean(DEFAULT)
        safe += (
            ' The bound holds for `confidence="theory"`, its default. The arena plays it with c = 1, as the others, '
            "and for that nothing is proven; its mean is {:.2f} there, the default's {:.2f}. "
            'What `"theory"` costs was not measured.'.format(*means)
        )
    return [
        "## A proof for every joint distribution",
        '`PrefixUCB(confidence="theory", horizon=T)`, or `PrefixElimination` with the same parameters. Their bounds on '
        "each mean hold with high probability whatever the joint distribution of reward and delay is, and so do the "
        "[bounds on their regret](theory/prefix.md). Take them if you have to state that an arm is worse, or what an "
        "experiment can cost at most. Imputed-UCB's correction is an estimate.",
        safe,
        'The price of prefix brackets with c = 1; `"theory"` costs more. They keep waiting for lost feedback.',
        _means(scores, (DEFAULT, SAFE, PREFIX, ELIMINATION, "OPSE"), {kind: GROUPS[kind] for kind in KINDS}),
        f"In the setting of the paper's Figure 4 (bias-5000) {ELIMINATION} has a regret of {ours:,.0f} and OPSE of "
        f"{theirs:,.0f}, {theirs / ours:.1f} times as much.",
    ]


def _silence(scores: Scores) -> list[str]:
    """Return the second case."""
    groups: dict[str, Selection] = {
        "failures come at a deadline": lambda row: reports_successes(row) and not row.loses,
        "only successes come": lambda row: reports_successes(row) and row.loses,
    }
    return [
        "## Silence that means something",
        "`PrefixUCB(spread=True)` is the default of an experiment with `silence`: the service records a reward at the "
        "deadline, and replaces it if feedback comes later. Imputed-UCB cannot take replaced feedback. A deadline "
        "that is too short counts late successes as failures, and hits the slowest arm hardest.",
        "You may not need `silence`. If nothing but successes is ever reported, Imputed-UCB takes silence for failure "
        "on its own; a few failures that are reported by mistake, 0.2 sqrt(N) of N, do not matter. And if feedback "
        "after the deadline does not count, report 0 at the deadline yourself: that is ordinary feedback. In both "
        "cases keep the default (scenarios conversions-* and criteo-*):",
        _means(scores, SHOWN, groups),
    ]


def _patience(scores: Scores) -> list[str]:
    """Return the third case."""
    late = scores.select(lambda row: row.name == "best-late-8000")
    return [
        "## An arm that may be silent for long",
        '`ImputedUCB(confidence="anytime", patience=P)`, where P is the longest plausible delay in decisions. Until '
        "its first feedback, a silent arm that is good and late looks like one that is bad and lost. The default "
        "doubts it as soon as the delays of the other arms say that feedback should have come, and asks it again ever "
        "more rarely. With `patience` it trusts the arm until its pulls are that old.",
        "Without it a best arm that is later than all others is found late: in best-late-8000 the default's ratio is "
        f"{late.geometric_mean(DEFAULT):.1f}. With it an arm that never sends feedback gets about P decisions for "
        "nothing, and where feedback is lost, lost pulls count as pending until they are P decisions old: a run may "
        "keep to a worse arm for about as long, to the end if P is beyond the horizon. [No policy can have "
        "both](#what-no-policy-can-have), so say what you know, and no more.",
    ]


def _fixed(scores: Scores) -> list[str]:
    """Return the section on a fixed level."""
    groups = {name: GROUPS[name] for name in ("all", "real delays")} | {"conversions-*, criteo-*": reports_successes}
    return [
        "## A fixed confidence level",
        "`ImputedUCB()` has the fixed level c = 1. Use it to compare policies at the same c, or to choose c yourself "
        "for a short experiment. Do not let it run for long: with a fixed level the best arm, if unlucky at first, may "
        "never be asked again, and the regret is not sublinear.",
        _means(scores, (DEFAULT, FIXED), groups),
    ]


def _pending(scores: Scores) -> list[str]:
    """Return the section on a policy that is not recommended any more."""
    names = [row.name for row in scores.scenarios]

    def cost(name: str, label: str) -> str:
        place = names.index(name), scores.labels.index(label)
        return f"{scores.regret[place]:,.0f} ({_percent(scores.losing[place])} still losing)"

    return [
        "## Pending-UCB",
        "Imputed-UCB replaces it. It is kept for experiments that run it; do not start new ones. Its mean suffers "
        "where delays depend on rewards, and it has three faults where they do not:",
        "\n".join(
            f"{number}. {fault} Regret in {name}: {cost(name, PENDING)}; of the default: {cost(name, DEFAULT)}."
            for number, (name, fault) in enumerate(FAULTS.items(), 1)
        ),
    ]


# ---- evidence ----


def _arena(scores: Scores) -> list[str]:
    """Return the section on how all this was measured."""
    return [
        "## The arena",
        f"{len(scores.scenarios)} scenarios, {len(scores.labels)} policies, {int(scores.runs.min()):,} to "
        f"{int(scores.runs.max()):,} runs of each. {scores.precision} Measured by `make arena`. `belated arena --list` "
        "gives the reason for each scenario, and `belated arena --policy package.module:MyPolicy` includes your own "
        "policy. [The leaderboard](leaderboard.md) ranks all policies. [Which scenarios were held "
        "out](notes/statistics.md#the-arena), and when.",
        "![Regret of every policy divided by the lowest regret in each scenario](images/arena.png)",
    ]


def _real(scores: Scores) -> list[str]:
    """Return the section on delays that were measured."""
    real = scores.select(lambda row: row.real)
    lines = [
        [row.name, *(f"{ratio:.2f}" for ratio in _shown(real, ratios))]
        for row, ratios in zip(real.scenarios, real.ratio, strict=True)
    ]
    return [
        "## Real delays",
        "Ratios with New York's building violations, Rossi's trial of aid after prison, Criteo's conversions, nightly "
        "loads, drift, and a router of requests to language models:",
        table(["scenario", *SHOWN], lines),
    ]


def _twins(scores: Scores) -> list[str]:
    """Return the section on twins: for each pair what no policy can have, and what policies have."""
    lines, wins = [], 0
    for twins in scores.twins():
        names = f"{twins.first.name}, {twins.second.name.removeprefix(twins.first.name)}"
        shown = _shown(scores, twins.means)
        wins += shown[0] == min(shown)
        lines.append([names, f"{twins.limit.rounds:,}", f"{twins.least:.2f}", *(f"{mean:.2f}" for mean in shown)])
    means = [f"**{scores.relative_mean(label):.2f}**" for label in SHOWN]
    return [
        "## What no policy can have",
        "Two scenarios look alike for some rounds, and have different best arms. Until then a policy makes the same "
        "choices in both, so it loses in one of them. The geometric mean of its two ratios is at least the *limit* "
        "([how it is computed](howto/arena.md#kinds-of-scenarios)):",
        table(["twins", "alike for rounds", "limit", *SHOWN], [*lines, ["**mean to the limit**", "", "", *means]]),
        "The last line is the mean over all scenarios, with ratios divided by these limits. The lemma says what cannot "
        "be had, not that the rest can.",
        f"The default is the best of these policies in {wins} of the {len(lines)} pairs: it soon doubts an arm from "
        "which nothing is heard, and Prefix-UCB never does. If your silent arms are more often good and late than "
        "dead, give [`patience`](#an-arm-that-may-be-silent-for-long).",
    ]


def _losing(scores: Scores, long: Scores | None) -> list[str]:
    """Return the section on runs that still lose at the end: on long scenarios, and the mean over all."""
    parts = [scores.select(lambda row: row.has_few_runs), *([long] if long is not None else [])]
    lines = [
        [f"{row.name} ({row.horizon:,} rounds)", *map(_percent, _shown(part, shares))]
        for part in parts
        for row, shares in zip(part.scenarios, part.losing, strict=True)
    ]
    means = [f"**{100 * scores.losing_mean(label):.1f} %**" for label in SHOWN]
    return [
        "## Runs that still lose at the end",
        f"On the long scenarios: {MEANING} ([why](howto/arena.md#kinds-of-scenarios)). In those called -mirror, nobody "
        "can tell which arm is the best.",
        table(["scenario", *SHOWN], [*lines, ["**all scenarios**", *means]]),
    ]


def _targets(scores: Scores) -> list[str]:
    """Return the section on the targets of the default: which are met, which are missed, and why."""
    proven = {row.name for row, limit in zip(scores.scenarios, scores.limits, strict=True) if limit > 1.0}
    lines = []
    for words, most, wanted in TARGETS:
        part = scores.select(wanted)
        mean = part.geometric_mean(DEFAULT)
        rest = part.select(lambda row: row.name not in proven).geometric_mean(DEFAULT)
        errors = part.rel_error[:, part.labels.index(DEFAULT)]
        error = mean * float(np.sqrt((errors**2).sum())) / len(errors)
        line = [f"mean, {words} ({len(part.scenarios)})", f"{most}", f"{mean:.3f} (± {error:.3f})", f"{rest:.2f}"]
        near = ", within its standard error" if abs(mean - most) < error else ""
        lines.append([*line, _verdict(mean, most) + near])
    others = scores.select(lambda row: row.name not in proven)
    (_, all_worst), (where, worst) = scores.worst(DEFAULT), others.worst(DEFAULT)
    line = ["largest ratio, proven twins excepted", f"{WORST:g}", f"{all_worst:.2f}", f"{worst:.2f} ({where})"]
    lines.append([*line, _verdict(worst, WORST)])
    high = scores.select(lambda row: row.name in scores.above(DEFAULT, WORST))
    return [
        "## Targets",
        "What the default was to achieve. The first targets are for the scenarios there were before mirror images, "
        "real delays and runs of 100,000 rounds were added. *Proven twins* are those with a limit above 1.",
        table(["target", "at most", "measured", "without proven twins", ""], lines),
        "It is the default nevertheless: it has the lowest mean of all policies, where delays are independent of "
        "rewards, where feedback is lost, and over the scenarios that were held out; the former default misses each of "
        "these targets by more, and goes on losing where this one does not.",
        f"Behind the misses are the scenarios in which its ratio is above {WORST:g}:",
        _high(scores, high, proven),
        "In most of them the best policy bets on the right side, and has next to no regret: Optimistic-UCB counts "
        "missing feedback as successes, PatientBandits as failures, and SE drops for good what looked worse at first. "
        "The last column says what such bets cost elsewhere. Where no run of the default still loses at the end, it "
        "paid once for finding out. Where most do, the data hardly say which arm is the best: its feedback does not "
        "come, or is lost because of the reward.",
    ]


def _high(scores: Scores, high: Scores, proven: set[str]) -> str:
    """Return the table of scenarios in which the default has a high ratio, the highest first."""
    column = scores.labels.index(DEFAULT)
    lines = []
    for number in np.argsort(-high.ratio[:, column], kind="stable"):
        best = int(high.regret[number].argmin())
        name = high.scenarios[number].name
        lines.append(
            [
                f"{name} (proven twin)" if name in proven else name,
                f"{high.ratio[number, column]:.1f}",
                f"{high.regret[number, column]:,.0f}",
                _percent(high.losing[number, column]),
                f"{high.regret[number, best]:,.0f} ({scores.labels[best]})",
                f"{scores.geometric_mean(scores.labels[best]):.2f}",
            ]
        )
    head = ["scenario", "ratio", "regret", "still losing", "lowest regret", "mean of that policy over all scenarios"]
    return table(head, lines)


# ---- cells ----


def _means(scores: Scores, labels: Sequence[str], groups: Mapping[str, Selection]) -> str:
    """Return a table of geometric means: policies that were played by groups of scenarios, the smallest bold."""
    played = [label for label in labels if label in scores.labels]
    parts = {name: scores.select(wanted) for name, wanted in groups.items()}
    means = np.array([[part.geometric_mean(label) for part in parts.values()] for label in played])
    cells = np.where(means == means.min(axis=0), "**{:.2f}**", "{:.2f}")
    lines = [
        [label, *(cell.format(mean) for cell, mean in zip(*row, strict=True))]
        for label, *row in zip(played, cells.tolist(), means.tolist(), strict=True)
    ]
    return table(["policy", *(f"{name} ({len(part.scenarios)})" for name, part in parts.items())], lines)


def _shown(part: Scores, values: Sequence[float]) -> list[float]:
    """The values of the policies in the tables, NaN where one was not played."""
    of = dict(zip(part.labels, values, strict=True))
    return [of.get(label, math.nan) for label in SHOWN]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _verdict(measured: float, most: float) -> str:
    return "met" if measured <= most else "**missed**"


if __name__ == "__main__":
    long_scores = read(LONG_SCORES) if LONG_SCORES.exists() else None
    PAGE.write_text(which_policy_page(read(SCORES), long_scores), encoding="utf-8")
