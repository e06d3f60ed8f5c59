"""A reproduction in numbers, what it ran on, and what the theorems guarantee in its set-ups."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from belated._version import __version__
from belated.formatting import grouped
from belated.simulation.simulate import available_cores
from belated.studies.claims import Evidence, Status
from belated.studies.claims.evidence import in_words
from belated.studies.reproduce import ExperimentOutcome
from belated.studies.study import first_problem
from belated.theory import bound_of

MAX_CELLS = 5
"""Cells of a study for which bounds are shown."""


@dataclass(frozen=True)
class Summary:
    """Counts, time and environment of a reproduction."""

    seed: int
    fraction: float
    seconds: float
    spent: float
    rounds: int
    paper: dict[str, int]
    """How many sentences of the paper hold, fail, are undecided, and are arithmetic."""
    others: dict[str, int]
    """The same for all other sentences."""
    tests: dict[str, int]
    """How many tests the sentences of the ``paper`` and the ``others`` have."""
    environment: dict[str, str]
    confidence: str
    """Of the claims, in words."""
    stopped: bool = False
    """Whether it was interrupted."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the environment is under "machine"."""
        return {"machine" if key == "environment" else key: value for key, value in asdict(self).items()}


def summarize(
    outcomes: Sequence[ExperimentOutcome], seed: int, fraction: float, seconds: float, stopped: bool = False
) -> Summary:
    """The summary of outcomes."""

    def counts(paper: bool) -> dict[str, int]:
        chosen = [one.status for outcome in outcomes if outcome.experiment.paper is paper for one in outcome.sentences]
        return {str(status): chosen.count(status) for status in Status}

    def tests(paper: bool) -> int:
        return sum(len(outcome.verdicts) for outcome in outcomes if outcome.experiment.paper is paper)

    return Summary(
        seed,
        fraction,
        seconds,
        sum(outcome.cost.seconds for outcome in outcomes),
        sum(outcome.cost.rounds for outcome in outcomes),
        counts(paper=True),
        counts(paper=False),
        {"paper": tests(paper=True), "others": tests(paper=False)},
        environment(),
        _confidence(outcomes),
        stopped,
    )


def _confidence(outcomes: Sequence[ExperimentOutcome]) -> str:
    levels = sorted({100.0 * verdict.claim.confidence for outcome in outcomes for verdict in outcome.verdicts})
    if not levels:
        return "none"
    return f"{levels[0]:g} %" if levels[0] == levels[-1] else f"{levels[0]:g} to {levels[-1]:g} %"


def environment() -> dict[str, str]:
    """Processor, cores and versions."""
    return {
        "belated": __version__,
        "processor": _processor(),
        "cores": str(available_cores()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scipy")},
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


# ---- guarantees ----


@dataclass(frozen=True)
class Guarantee:
    """A bound on the regret of a policy, for c = ln T, beside the measured and the largest possible regret."""

    coordinates: str
    policy: str
    bound: float
    source: str
    trivial: float
    """T times the largest gap: no policy's regret is above."""
    measured: float
    confidence: str

    @property
    def applies(self) -> bool:
        """Whether there is a bound; without one, the source says why."""
        return not math.isnan(self.bound)

    @property
    def nontrivial(self) -> bool:
        """Whether the bound says anything."""
        return self.bound < self.trivial


def bounds_table(studies: Mapping[str, Evidence]) -> dict[str, list[Guarantee]]:
    """The bounds for each study of an experiment, where there are some."""
    return {name: rows for name, evidence in studies.items() if (rows := guarantees(evidence))}


def guarantees(evidence: Evidence) -> list[Guarantee]:
    """The theorems' bounds for a study: at its first and last cells and some between. Where each run has its own
    problem, for that of the first run."""
    last = len(evidence.study.cells) - 1
    rows = []
    for number in sorted({round(step * last / (MAX_CELLS - 1)) for step in range(MAX_CELLS)}):
        cell, result = evidence.study.cells[number], evidence.results[number]
        problem = first_problem(cell, result.manifest.seed)
        if problem.round_dependent:
            trivial, source = (
                cell.horizon * float(problem.gaps.max()),
                "no theorem is about delays that depend on the round",
            )
            where = in_words(cell.coordinates)
            rows.append(Guarantee(where, "all policies", math.nan, source, trivial, math.nan, ""))
            continue
        for label, policy in zip(evidence.study.labels, cell.policies, strict=True):
            played = getattr(policy, "confidence", None)
            theory = policy if played is None else replace(cast("Any", policy), confidence="theory")
            bound = bound_of(theory, problem, cell.horizon)
            if bound is None or bound.order:
                continue
            mean = float(result.final[evidence.study.policy(label)].mean())
            trivial = cell.horizon * float(problem.gaps.max())
            confidence = "ln T" if played in (None, "theory") else grouped(played)
            where = in_words(cell.coordinates)
            rows.append(Guarantee(where, label, bound.value, bound.source, trivial, mean, confidence))
    return rows
