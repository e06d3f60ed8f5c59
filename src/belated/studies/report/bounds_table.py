"""What the theorems guarantee in the set-up of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from belated.formatting import grouped
from belated.studies.claims import Evidence
from belated.studies.claims.evidence import in_words
from belated.studies.study import first_problem
from belated.theory import bound_of

MAX_CELLS = 5


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
    def nontrivial(self) -> bool:
        """Whether the bound says anything."""
        return self.bound < self.trivial


StudyBounds = tuple[str, list[Guarantee]]
"""The name of a study, and its bounds."""


def bounds_table(studies: Mapping[str, Evidence]) -> list[StudyBounds]:
    """The bounds for each study of an experiment, where there are some."""
    tables = [(name, guarantees(evidence)) for name, evidence in studies.items()]
    return [(name, rows) for name, rows in tables if rows]


def guarantees(evidence: Evidence) -> list[Guarantee]:
    """The theorems' bounds for a study: at its first and last cells and some between. Where each run has its own
    problem, for that of the first run."""
    last = len(evidence.study.cells) - 1
    rows = []
    for number in sorted({round(step * last / (MAX_CELLS - 1)) for step in range(MAX_CELLS)}):
        cell, result = evidence.study.cells[number], evidence.results[number]
        problem = first_problem(cell, result.manifest.seed)
        for label, policy in zip(evidence.study.labels, cell.policies, strict=True):
            played = getattr(policy, "confidence", None)
            theory = policy if played is None else replace(cast("Any", policy), confidence=None)
            bound = bound_of(theory, problem, cell.horizon)
            if bound is None or bound.order:
                continue
            mean = float(result.final[evidence.study.policy(label)].mean())
            trivial = cell.horizon * float(problem.gaps.max())
            confidence = "ln T" if played is None else grouped(played)
            where = in_words(cell.coordinates)
            rows.append(Guarantee(where, label, bound.value, bound.source, trivial, mean, confidence))
    return rows
