"""What a reproduction did, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from belated.studies.claims import Status
from belated.studies.report.environment import machine
from belated.studies.reproduce import ExperimentOutcome


@dataclass(frozen=True)
class Summary:
    """Counts, time and machine of a reproduction."""

    seed: int
    fraction: float
    seconds: float
    spent: float
    rounds: int
    paper: dict[str, int]
    """Of the paper's claims how many hold, fail and are undecided."""
    others: dict[str, int]
    """The same of all others."""
    machine: dict[str, str]
    confidence: str
    """Of the claims, in words."""
    stopped: bool = False
    """Whether it was interrupted."""


def summed(
    outcomes: Sequence[ExperimentOutcome], seed: int, fraction: float, seconds: float, stopped: bool = False
) -> Summary:
    """The summary of outcomes."""

    def counts(paper: bool) -> dict[str, int]:
        found = [outcome for outcome in outcomes if outcome.experiment.paper is paper]
        return {str(status): sum(outcome.counted(status) for outcome in found) for status in Status}

    return Summary(
        seed,
        fraction,
        seconds,
        sum(outcome.spent for outcome in outcomes),
        sum(outcome.rounds for outcome in outcomes),
        counts(paper=True),
        counts(paper=False),
        machine(),
        _confidence(outcomes),
        stopped,
    )


def _confidence(outcomes: Sequence[ExperimentOutcome]) -> str:
    found = sorted({100.0 * judgement.claim.confidence for outcome in outcomes for judgement in outcome.judgements})
    if not found:
        return "none"
    return f"{found[0]:g} %" if found[0] == found[-1] else f"{found[0]:g} to {found[-1]:g} %"
