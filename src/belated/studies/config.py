"""Files for ``belated simulate`` and ``belated sweep``, read and checked before anything is played.

``belated simulate --help`` and ``belated sweep --help`` describe the format. Every mistake is a
:class:`~belated.errors.ConfigurationError` that names the file, the key, what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from belated.errors import ConfigurationError
from belated.policies import Policy, default_policies
from belated.problem import Family, Problem
from belated.specs.laws import read_policy
from belated.specs.paths import check_sweepable, set_path, values_of
from belated.specs.problems import read_problem
from belated.specs.tables import (
    Key,
    Text,
    find_modules_beside,
    fmt,
    from_table,
    indexed,
    integer,
    load_toml,
    mapping,
    naming,
    read_checkpoints,
    text,
    within,
)
from belated.studies.study import Axis, Cell, Study, column_labels
from belated.validation import MAX_HORIZON, Domain

OUT = Path("out")
"""Holds the folders of files that name none, each named after its file."""
_LIMITS = {
    "horizon": Domain(1, MAX_HORIZON, whole=True),
    "runs": Domain(1, 2**31, whole=True),
    "seed": Domain(0, whole=True),
}


def _read_policies(data: Any, at: str) -> list[Policy]:
    if not isinstance(data, list) or not data:
        raise ConfigurationError(
            f'{at} is {fmt(data)}; give a section [[policies]] with policy = "NAME" for each policy.'
        )
    return [read_policy(policy, key) for key, policy in indexed(data, at)]


def _read_folder(data: Any, at: str) -> Path:
    if not isinstance(data, str | Path) or not str(data).strip():
        raise ConfigurationError(f'{at} is {fmt(data)}; give a folder, such as "out/mine".')
    return Path(data).expanduser()


@dataclass(frozen=True)
class SweepSection:
    """The section [sweep] of a file."""

    key: Annotated[str, Key(read=text, give='a key, such as key = "problem.delays.rounds"')]
    values: Annotated[list[Any], Key(read=values_of, give="a list, such as values = [0, 100, 200]")]
    name: Text = ""


def _read_sweep_section(data: Any, at: str) -> SweepSection:
    section = from_table(SweepSection, mapping(data, at, "a section with key and values"), at, "A sweep")
    check_sweepable(section.key, f"{at}.key")
    return section


@dataclass(frozen=True, kw_only=True)
class SimulationFile:
    """What to simulate, and the folder for the output. The fields are the keys of a file."""

    horizon: Annotated[int, _LIMITS["horizon"], Key(give="the rounds of a run, such as horizon = 20_000")]
    runs: Annotated[int, _LIMITS["runs"]] = 100
    seed: Annotated[int, _LIMITS["seed"]] = 0
    checkpoints: Annotated[int | list[int], Key(read=read_checkpoints)] = 100
    out: Annotated[Path, Key(read=_read_folder)]
    problem: Annotated[Problem | Family, Key(read=read_problem, give="a section [problem] with rewards and delays")]
    policies: Annotated[list[Policy], Key(read=_read_policies)] = field(default_factory=default_policies)
    sweep: Annotated[SweepSection | None, Key(read=_read_sweep_section)] = None


@dataclass(frozen=True)
class SweepFile:
    """A sweep: a study whose one axis varies a key of the file."""

    key: str
    study: Study
    seed: int
    out: Path


def read_simulation(path: Path, **overrides: Any) -> SimulationFile:
    """Read a file; overrides that are not None replace its top-level keys."""
    options = _options(overrides)
    with naming(str(path)):
        return _simulation(_load(path, options))


def read_sweep(path: Path, **overrides: Any) -> SweepFile:
    """Read the sweep of a file: every value is checked."""
    options = _options(overrides)
    with naming(str(path)):
        data = _load(path, options)
        if "sweep" not in data:
            raise ConfigurationError(
                'sweep is missing; add a section such as [sweep] with key = "problem.delays.rounds" and '
                "values = [0, 100, 200], or call belated simulate."
            )
        section = _read_sweep_section(data["sweep"], "sweep")
        if section.key == "horizon" and "horizon" in options:
            raise ConfigurationError('sweep.key is "horizon", and --horizon was given too; leave out --horizon.')
        simulations = []
        for value in section.values:
            changed = set_path(data, section.key, value, "sweep.key")
            with naming(f"with {section.key} = {fmt(value)}"):
                simulations.append(_simulation(changed))
    name, first = section.name or section.key, simulations[0]
    cells = tuple(
        Cell({name: value}, simulation.problem, tuple(simulation.policies), simulation.horizon)
        for value, simulation in zip(section.values, simulations, strict=True)
    )
    axis, labels = Axis(name, tuple(section.values)), column_labels([cell.policies for cell in cells])
    study = Study(path.stem, "", (axis,), labels, cells, first.runs, first.runs, first.checkpoints)
    return SweepFile(section.key, study, first.seed, first.out)


def _options(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides that are given; errors name the option."""
    return {
        key: within(_LIMITS[key], value, f"--{key}") if key in _LIMITS else value
        for key, value in overrides.items()
        if value is not None
    }


def _load(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    data = load_toml(path)
    data.update(options)
    find_modules_beside(path)
    return {"out": OUT / path.stem, **data}


def _simulation(data: Mapping[str, Any]) -> SimulationFile:
    _reject_misplaced(data)
    simulation = from_table(SimulationFile, data, "", "A file")
    if isinstance(simulation.checkpoints, list):
        for key, checkpoint in indexed(simulation.checkpoints, "checkpoints"):
            integer(checkpoint, key, 1, simulation.horizon)
    return simulation


def _reject_misplaced(data: Mapping[str, Any]) -> None:
    """In TOML a key below a [section] belongs to that section: say so for a key of the file."""
    policies = data.get("policies")
    sections = [("problem", data.get("problem")), *indexed(policies if isinstance(policies, list) else [], "policies")]
    for at, section in sections:
        if isinstance(section, Mapping):
            for key in ("runs", "seed", "checkpoints", "out", *(("horizon",) if at == "problem" else ())):
                if key in section:
                    raise ConfigurationError(
                        f"{at}.{key} is not known; put {key} at the top of the file, before the first [section]."
                    )
