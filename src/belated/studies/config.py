"""Files for ``belated simulate`` and ``belated sweep``, read and checked before anything is played.

``belated simulate --help`` and ``belated sweep --help`` describe the format. Every mistake is a
:class:`~belated.errors.ConfigurationError` that names the file, the key, what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from belated.errors import BelatedWarning, ConfigurationError
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
    source_name,
    source_stem,
    text,
    within,
)
from belated.studies.study import Axis, Cell, Study, column_labels
from belated.validation import MAX_HORIZON, Domain

OUT = Path("out")
"""Holds the folders of files that name none, each named after its file."""
_SECTIONS = {"policies": "[[policies]]", "sweep": "[sweep]"}
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
    """The section [sweep] of a file, or one of two sections [[sweep]]."""

    key: Annotated[str, Key(read=text, give='a key, such as key = "problem.delays.rounds"')]
    values: Annotated[list[Any], Key(read=values_of, give="a list, such as values = [0, 100, 200]")]
    name: Text = ""


def _read_sweep_sections(data: Any, at: str) -> list[SweepSection]:
    """The parameters of a sweep: one, or two."""
    if not isinstance(data, list):
        return [_read_sweep_section(data, at)]
    if len(data) not in (1, 2):
        raise ConfigurationError(
            f"{at} has {len(data)} sections [[sweep]]; give one or two: each parameter has its own, and all pairs of "
            "values are played."
        )
    sections = [_read_sweep_section(section, key) for key, section in indexed(data, at)]
    if len({section.key for section in sections}) < len(sections):
        raise ConfigurationError(f"{at}: both sections have the key {sections[0].key!r}; give two different keys.")
    return sections


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
    shuffle: bool = False
    out: Annotated[Path, Key(read=_read_folder)]
    problem: Annotated[Problem | Family, Key(read=read_problem, give="a section [problem] with rewards and delays")]
    policies: Annotated[list[Policy], Key(read=_read_policies)] = field(default_factory=default_policies)
    sweep: Annotated[list[SweepSection] | None, Key(read=_read_sweep_sections)] = None


@dataclass(frozen=True)
class SweepFile:
    """A sweep: a study whose axes, one or two, each vary a key of the file."""

    keys: tuple[str, ...]
    study: Study
    seed: int
    out: Path


def read_simulation(path: Path, unused: Mapping[str, str] | None = None, **overrides: Any) -> SimulationFile:
    """Read a file; overrides that are not None replace its top-level keys. A warning says of each section that the
    caller does not use why it does not."""
    options = _options(overrides)
    with naming(source_name(path)):
        data = _load(path, options)
        simulation = _simulation(data)
    for key, reason in (unused or {}).items():
        if key in data:
            BelatedWarning.issue(f"{source_name(path)}: {_SECTIONS[key]} is not used here: {reason}.")
    return simulation


def read_sweep(path: Path, **overrides: Any) -> SweepFile:
    """Read the sweep of a file: every value is checked."""
    options = _options(overrides)
    with naming(source_name(path)):
        data = _load(path, options)
        if "sweep" not in data:
            raise ConfigurationError(
                'sweep is missing; add a section such as [sweep] with key = "problem.delays.rounds" and '
                "values = [0, 100, 200], or call belated simulate."
            )
        sections = _read_sweep_sections(data["sweep"], "sweep")
        keys = tuple(section.key for section in sections)
        if "horizon" in keys and "horizon" in options:
            raise ConfigurationError('sweep.key is "horizon", and --horizon was given too; leave out --horizon.')
        axes = tuple(Axis(section.name or section.key, tuple(section.values)) for section in sections)
        if len({axis.name for axis in axes}) < len(axes):
            raise ConfigurationError(f"sweep: both sections have the name {axes[0].name!r}; give two different names.")
        simulations = [_simulation_at(data, keys, point) for point in product(*(axis.values for axis in axes))]
    cells = tuple(
        Cell(
            {axis.name: value for axis, value in zip(axes, point, strict=True)},
            simulation.problem,
            tuple(simulation.policies),
            simulation.horizon,
        )
        for point, simulation in zip(product(*(axis.values for axis in axes)), simulations, strict=True)
    )
    first, labels = simulations[0], column_labels([cell.policies for cell in cells])
    study = Study(source_stem(path), "", axes, labels, cells, first.runs, first.runs, first.checkpoints, first.shuffle)
    return SweepFile(keys, study, first.seed, first.out)


def _simulation_at(data: Mapping[str, Any], keys: tuple[str, ...], point: tuple[Any, ...]) -> SimulationFile:
    """The simulation with these values of the keys."""
    for key, value in zip(keys, point, strict=True):
        data = set_path(data, key, value, "sweep.key")
    with naming("with " + " and ".join(f"{key} = {fmt(value)}" for key, value in zip(keys, point, strict=True))):
        return _simulation(data)


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
    return {"out": OUT / source_stem(path), **data}


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
            for key in ("runs", "seed", "checkpoints", "shuffle", "out", *(("horizon",) if at == "problem" else ())):
                if key in section:
                    raise ConfigurationError(
                        f"{at}.{key} is not known; put {key} at the top of the file, before the first [section]."
                    )
