"""The scores of the arena as a page of tables, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from belated.formatting import ratio as short_ratio
from belated.studies.arena.scores import HIGH, Scores
from belated.studies.arena.still_losing import MEANING

LOSING_SHOWN = 0.01
"""Scenarios in which some policy still loses in a larger share of the runs are listed."""


def markdown(scores: Scores) -> str:
    """The means of each policy, those of held-out scenarios separately; twins, runs that still lose, every ratio."""
    blocks = ["# Arena", *_summary(scores, "All scenarios", (False, True))]
    if len({scenario.held_out for scenario in scores.scenarios}) > 1:
        blocks += _summary(scores, "Development scenarios", (False,))
        blocks += _summary(scores, "Held-out scenarios", (True,))
    blocks += [*_twins(scores), *_losing(scores)]
    lines = [f"| scenario | {' | '.join(map(cell, scores.labels))} |", "| :-- |" + " --: |" * len(scores.labels)]
    for scenario, ratios in zip(scores.scenarios, scores.ratio, strict=True):
        cells = " | ".join(f"**{ratio:.2f}**" if ratio == 1.0 else f"{ratio:.2f}" for ratio in ratios)
        lines.append(f"| {scenario.name}{' (held out)' if scenario.held_out else ''} | {cells} |")
    blocks += ["## Regret divided by the lowest in the scenario", "\n".join(lines)]
    blocks += [scores.precision] if scores.precision else []
    lines = ["| policy | scenarios |", "| :-- | :-- |"]
    for label in scores.ranked():
        column = scores.ratio[:, scores.labels.index(label)]
        ratio_of = {scenario.name: ratio for scenario, ratio in zip(scores.scenarios, column, strict=True)}
        worst = sorted(scores.above(label), key=lambda name: -ratio_of[name])
        lines.append(f"| {cell(label)} | {', '.join(f'{name} ({ratio_of[name]:.2f})' for name in worst) or 'none'} |")
    return "\n\n".join([*blocks, f"## Scenarios above {HIGH:g}", "\n".join(lines)]) + "\n"


def cell(text: str) -> str:
    """A text for a cell of a table, escaped."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


def _summary(scores: Scores, title: str, held_out: Sequence[bool]) -> list[str]:
    """A heading, a table with a line for each policy, the best first, and a remark."""
    kept = scores.select(lambda scenario: scenario.held_out in held_out)
    parts = [kept, *(kept.of_kind(kind) for kind in kept.kinds)]
    limited = bool((kept.limits > 1.0).any())
    head = ["all", *kept.kinds, *(["to the limit"] if limited else [])]
    lines = [
        f"| policy | {' | '.join(head)} | worst scenario | above {HIGH:g} | still losing |",
        "| :-- |" + " --: |" * len(head) + " :-- | --: | :-- |",
    ]
    for label in kept.ranked():
        means = [part.geometric_mean(label) for part in parts] + ([kept.relative_mean(label)] if limited else [])
        name, ratio = kept.worst(label)
        above = f"{len(kept.above(label))} of {len(kept.scenarios)}"
        columns = " | ".join(f"{mean:.2f}" for mean in means)
        lines.append(f"| {cell(label)} | {columns} | {name} ({ratio:.2f}) | {above} | {losing_text(kept, label)} |")
    remark = "Geometric means of the ratio to the best policy of each scenario."
    if limited:
        remark += " To the limit: ratios divided by what the twin lemma leaves to every policy."
    if not np.isnan(kept.losing).any():
        remark += f" Still losing: {MEANING}."
    return [f"## {title} ({len(kept.scenarios)})", "\n".join(lines), remark]


def losing_text(scores: Scores, label: str) -> str:
    """The share of a policy's runs that still lose, and the scenario with most of them.

    An empty text where it is not known."""
    mean = scores.losing_mean(label)
    if math.isnan(mean):
        return ""
    name, share = scores.most_losing(label)
    return f"{100 * mean:.1f} % ({name} {100 * share:.0f} %)" if share > 0.0 else "0"


def _twins(scores: Scores) -> Iterator[str]:
    """Each pair of twins with what no policy can have, and what each policy has."""
    lines = []
    for twins in scores.twins():
        means = " | ".join(short_ratio(float(mean)) for mean in twins.means)
        limit = f"{twins.limit.rounds:,} | {twins.limit.regret:,.0f} | {short_ratio(twins.least)}"
        lines.append(f"| {twins.first.name} and {twins.second.name} | {limit} | {means} |")
    if lines:
        head = ["twins", "alike for", "regret", "limit", *map(cell, scores.labels)]
        yield "## Twins"
        yield "\n".join([f"| {' | '.join(head)} |", "| :-- |" + " --: |" * (len(head) - 1), *lines])
        yield (
            "Each pair looks alike for that many rounds, and has different best arms. The larger of a policy's two "
            "regrets is at least the one given; the geometric mean of its two ratios, in the columns of the policies, "
            "at least the limit."
        )


def _losing(scores: Scores) -> Iterator[str]:
    """The scenarios in which some policy still loses in many runs, in per cent."""
    lines = []
    for scenario, shares in zip(scores.scenarios, scores.losing, strict=True):
        if shares.max() > LOSING_SHOWN:  # False where they are not known
            lines.append(f"| {scenario.name} | {' | '.join(f'{100 * share:.0f}' for share in shares)} |")
    if lines:
        yield "## Runs that still lose at the end, in per cent"
        head = f"| scenario | {' | '.join(map(cell, scores.labels))} |"
        yield "\n".join([head, "| :-- |" + " --: |" * len(scores.labels), *lines])
