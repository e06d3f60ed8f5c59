"""What the theorems guarantee in the set-up of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from belated.studies.claims import Evidence
from belated.studies.claims.evidence import in_words
from belated.studies.study import first_problem
from belated.theory import bound_of

MOST_CELLS = 5


@dataclass(frozen=True)
class Guarantee:
    """A bound on the regret of a policy, for c = ln T, beside what was measured and what is trivial."""

    place: str
    policy: str
    bound: float
    source: str
    trivial: float
    """T times the largest gap: no policy's regret is above."""
    measured: float
    confidence: str

    @property
    def says(self) -> bool:
        """Whether the bound says anything."""
        return self.bound < self.trivial


def guarantees(evidence: Evidence) -> list[Guarantee]:
    """The theorems' bounds for a study: at its first and last cells and some between. Where each run has a problem of
    its own, for that of the first run."""
    count = len(evidence.study.cells)
    chosen = sorted({round(place * (count - 1) / (MOST_CELLS - 1)) for place in range(MOST_CELLS)})
    found = []
    for number in chosen:
        cell = evidence.study.cells[number]
        problem = first_problem(cell, evidence.results[number].manifest.seed)
        for label, policy in zip(evidence.study.labels, cell.policies, strict=True):
            given = getattr(policy, "confidence", None)
            theory = policy if given is None else replace(cast("Any", policy), confidence=None)
            bound = bound_of(theory, problem, cell.horizon)
            if bound is None or bound.order:
                continue
            mean = float(evidence.results[number].final[evidence.study.policy(label)].mean())
            trivial = cell.horizon * float(problem.gaps.max())
            confidence = "ln T" if given is None else f"{given:g}"
            found.append(Guarantee(in_words(cell.place), label, bound.value, bound.source, trivial, mean, confidence))
    return found


def bounds_table(studies: Mapping[str, Evidence]) -> list[tuple[str, list[Guarantee]]]:
    """The bounds for each study of an experiment, where there are some."""
    return [(study, found) for study, evidence in studies.items() if (found := guarantees(evidence))]
