"""``--json``: the results of a command as one JSON object on standard output, with the numbers of its tables.

Keys are stable: a later version may add some, and does not rename or remove any. JSON has neither infinity nor NaN: a
number that is infinite or unknown is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from belated.problem import Problem
    from belated.simulation.result import Result
    from belated.studies.arena import Scenario
    from belated.studies.arena.scores import Scores
    from belated.studies.experiments import ExperimentFile
    from belated.studies.sweep import Sweep
    from belated.theory import Bound


def print_json(data: Mapping[str, Any]) -> None:
    """Print an object; in ASCII, so that every terminal and pipe takes it."""
    typer.echo(json.dumps(_plain(data), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # of numpy
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def written(out: Path, files: Sequence[str], interrupted: object) -> dict[str, Any]:
    """Where a command left its files, and whether Ctrl-C ended it early."""
    return {"out": out, "files": files, "interrupted": interrupted is not None}


def simulation_data(name: str, result: Result) -> dict[str, Any]:
    """What ``belated simulate`` shows."""
    from belated.cli.tables import policy_rows

    manifest = result.manifest
    return {
        "name": name,
        "arms": result.pulls.shape[2],
        "horizon": manifest.horizon,
        "runs": result.runs,
        "seed": manifest.seed,
        "policies": policy_rows(result),
        "rounds": result.runs * result.horizon * len(result.labels),
        "seconds": manifest.seconds,
    }


def sweep_data(name: str, keys: Sequence[str], sweep: Sweep) -> dict[str, Any]:
    """What ``belated sweep`` shows."""
    return {
        "name": name,
        "parameter": sweep.name,
        "key": keys[0] if len(keys) == 1 else keys,
        "values": sweep.values,
        "horizons": [result.horizon for result in sweep.results],
        "runs": sweep.runs,
        "seed": sweep.results[0].manifest.seed,
        "policies": [
            {"label": label, "regret": sweep.mean[row], "stderr": sweep.stderr[row]}
            for row, label in enumerate(sweep.labels)
        ],
        "seconds": sum(result.manifest.seconds for result in sweep.results),
    }


def bounds_data(
    name: str, problem: Problem, horizon: int, bounds: Mapping[str, Bound], others: Mapping[str, str], family: bool
) -> dict[str, Any]:
    """What ``belated bounds`` shows; ``others`` are policies without a bound, each with the reason."""
    from belated.theory import table

    return {
        "name": name,
        "horizon": horizon,
        "family": family,
        "largest_regret": horizon * float(problem.gaps.max()),
        "bounds": [
            {
                "policy": label,
                "bound": bound.value,
                "terms": bound.terms,
                "quantiles": bound.quantiles,
                "order": bound.order,
                "source": bound.source,
                "driver": bound.driver,
            }
            for label, bound in bounds.items()
        ],
        "without_bound": [{"policy": label, "reason": reason} for label, reason in others.items()],
        "table1": [
            {"setting": row.setting, "earlier": row.previous, "paper": row.paper}
            for row in table(problem, horizon)
            if row.previous is not None or row.paper is not None
        ],
    }


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """A line of ``belated arena --list``."""
    return {
        "name": scenario.name,
        "kind": scenario.kind,
        "reason": scenario.reason,
        "horizon": scenario.horizon,
        "held_out": scenario.held_out,
        "twin": scenario.twin or None,
        "real": scenario.real,
    }


def arena_data(scores: Scores) -> dict[str, Any]:
    """What ``belated arena`` shows."""
    from belated.studies.arena.scores import HIGH

    held_out = scores.select(lambda scenario: scenario.held_out)
    limits = scores.limits.tolist()

    def ranked(label: str) -> dict[str, Any]:
        name, ratio = scores.worst(label)
        return {
            "policy": label,
            "all": scores.geometric_mean(label),
            "by_kind": {kind: scores.of_kind(kind).geometric_mean(label) for kind in scores.kinds},
            "held_out": held_out.geometric_mean(label),
            "to_limit": scores.relative_mean(label),
            "losing": scores.losing_mean(label),
            "above": len(scores.above(label)),
            "worst": {"scenario": name, "ratio": ratio},
        }

    return {
        "policies": list(map(ranked, scores.ranked())),
        "scenarios": [
            {
                **scenario_data(scenario),
                "runs": dict(zip(scores.labels, scores.runs[row].tolist(), strict=True)),
                "limit": limits[row],
                "regret": dict(zip(scores.labels, scores.regret[row].tolist(), strict=True)),
                "stderr": dict(zip(scores.labels, scores.stderr[row].tolist(), strict=True)),
                "ratio": dict(zip(scores.labels, scores.ratio[row].tolist(), strict=True)),
                "losing": dict(zip(scores.labels, scores.losing[row].tolist(), strict=True)),
            }
            for row, scenario in enumerate(scores.scenarios)
        ],
        "limit": HIGH,
    }


def experiment_data(experiment: ExperimentFile) -> dict[str, Any]:
    """A line of ``belated reproduce --list``."""
    studies = experiment.studies.values()
    return {
        "name": experiment.name,
        "title": experiment.title,
        "sentences": experiment.sentences,
        "tests": len(experiment.claims),
        "runs": max(study.runs for study in studies),
        "max_runs": max(study.max_runs for study in studies),
        "rounds": sum(cell.horizon * study.runs * len(study.labels) for study in studies for cell in study.cells),
    }
