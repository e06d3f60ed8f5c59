"""A reproduction in numbers, and what it ran on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from belated._version import __version__
from belated.simulation.simulate import available_cores
from belated.studies.claims import Status
from belated.studies.reproduce import ExperimentOutcome


@dataclass(frozen=True)
class Summary:
    """Counts, time and environment of a reproduction."""

    seed: int
    fraction: float
    seconds: float
    spent: float
    rounds: int
    paper: dict[str, int]
    """How many of the paper's claims hold, fail and are undecided."""
    others: dict[str, int]
    """The same for all other claims."""
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
        chosen = [outcome for outcome in outcomes if outcome.experiment.paper is paper]
        return {str(status): sum(outcome.count(status) for outcome in chosen) for status in Status}

    return Summary(
        seed,
        fraction,
        seconds,
        sum(outcome.cost.seconds for outcome in outcomes),
        sum(outcome.cost.rounds for outcome in outcomes),
        counts(paper=True),
        counts(paper=False),
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
