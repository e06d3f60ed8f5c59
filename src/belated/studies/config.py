"""Files: what a TOML file asks to simulate or to sweep, read and checked before anything is played.

The form of a file is told by ``belated simulate --help`` and ``belated sweep --help``. Every mistake is a
:class:`~belated.errors.ConfigurationError` that names the file, the key, what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from belated.errors import ConfigurationError
from belated.policies import Policy, default_policies
from belated.problem import Family, Problem
from belated.specs import read_policy, read_problem
from belated.specs.paths import set_path, sweep_section, values_of
from belated.specs.tables import fmt, integer, reject_unknown
from belated.specs.toml import find_modules_beside, load_toml
from belated.validation import MAX_HORIZON

KEYS = ("horizon", "runs", "seed", "checkpoints", "out", "problem", "policies", "sweep")
LIMITS: dict[str, tuple[int, int | None]] = {"horizon": (1, MAX_HORIZON), "runs": (1, 2**31), "seed": (0, None)}
RUNS = 100
"""Runs where a file says nothing."""
OUT = Path("out")
"""The folder in which a file that says nothing gets a folder of its own name."""


@dataclass(frozen=True)
class SimulationFile:
    """What to simulate, and the folder for what comes of it."""

    problem: Problem | Family
    policies: list[Policy]
    horizon: int
    runs: int
    seed: int
    checkpoints: int | list[int]
    out: Path
    swept: str | None = None
    """The key that the file's section [sweep] names, if it has one."""


@dataclass(frozen=True)
class SweepFile:
    """An experiment for each value of one key."""

    key: str
    name: str
    values: list[Any]
    experiments: list[SimulationFile]


def read_experiment(path: Path, **overrides: Any) -> SimulationFile:
    """The experiment of a file; what is given here (and is not None) takes the place of the file's top-level key."""
    given = _options(overrides)
    with _naming(path):
        data = _load(path, given)
        swept = sweep_section(data)["key"] if "sweep" in data else None
        return replace(_experiment(data, path), swept=swept)


def read_sweep(path: Path, **overrides: Any) -> SweepFile:
    """The sweep of a file, each value read and checked."""
    given = _options(overrides)
    with _naming(path):
        data = _load(path, given)
        if "sweep" not in data:
            raise ConfigurationError(
                'sweep is missing; add a section such as [sweep] with key = "problem.delays.rounds" and '
                "values = [0, 100, 200], or call belated simulate."
            )
        asked = sweep_section(data)
        key = asked["key"]
        if key == "horizon" and "horizon" in given:
            raise ConfigurationError('sweep.key is "horizon", and --horizon was given too; leave out --horizon.')
        values = values_of(asked["values"], "sweep.values")
        experiments = []
        for value in values:
            changed = set_path(data, key, value, "sweep.key")
            try:
                experiments.append(_experiment(changed, path))
            except ConfigurationError as error:
                raise ConfigurationError(f"with {key} = {fmt(value)}: {error}") from error
        return SweepFile(key, asked.get("name", key), values, experiments)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Puts the file's name before every message."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error.__cause__


def _options(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What is given in place of a file's keys; errors name the option."""
    given = {key: value for key, value in overrides.items() if value is not None}
    for key, (low, high) in LIMITS.items():
        if key in given:
            given[key] = integer(given[key], f"--{key}", low, high)
    return given


def _load(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    data = load_toml(path)
    data.update(given)
    reject_unknown(data, KEYS, "", "A file")
    return data


def _experiment(data: Mapping[str, Any], path: Path) -> SimulationFile:
    _misplaced(data)
    for key, example in (
        ("horizon", "the rounds of a run, such as horizon = 20_000"),
        ("problem", "a section [problem] with rewards and delays"),
    ):
        if key not in data:
            raise ConfigurationError(f"{key} is missing; give {example}.")
    find_modules_beside(path)
    numbers = {"runs": RUNS, "seed": 0, **data}
    horizon, runs, seed = (integer(numbers[key], key, *LIMITS[key]) for key in ("horizon", "runs", "seed"))
    return SimulationFile(
        problem=read_problem(data["problem"]),
        policies=_policies(data["policies"]) if "policies" in data else default_policies(),
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=_checkpoints(data.get("checkpoints", 100), horizon),
        out=_folder(data.get("out"), path),
    )


def _misplaced(data: Mapping[str, Any]) -> None:
    """In TOML a key below a [section] belongs to it: say so where a file's own key stands there."""
    given = data.get("policies")
    policies = given if isinstance(given, list) else []
    sections = [("problem", data.get("problem")), *((f"policies[{j}]", policy) for j, policy in enumerate(policies))]
    for at, section in sections:
        if isinstance(section, Mapping):
            for key in ("runs", "seed", "checkpoints", "out", *(("horizon",) if at == "problem" else ())):
                if key in section:
                    raise ConfigurationError(
                        f"{at}.{key} is not known; put {key} at the top of the file, before the first [section]."
                    )


def _policies(data: Any) -> list[Policy]:
    if not isinstance(data, list) or not data:
        raise ConfigurationError(
            f'policies is {fmt(data)}; give a section [[policies]] with policy = "NAME" for each policy.'
        )
    return [read_policy(policy, f"policies[{place}]") for place, policy in enumerate(data)]


def _checkpoints(data: Any, horizon: int) -> int | list[int]:
    if isinstance(data, list) and data:
        return [integer(value, f"checkpoints[{place}]", 1, horizon) for place, value in enumerate(data)]
    if isinstance(data, int | float):
        return integer(data, "checkpoints", 1, 10_000_000)
    raise ConfigurationError(f"checkpoints is {fmt(data)}; give a number of checkpoints, or a list of rounds.")


def _folder(data: Any, path: Path) -> Path:
    if data is None:
        return OUT / path.stem
    if not isinstance(data, str | Path) or not str(data).strip():
        raise ConfigurationError(f'out is {fmt(data)}; give a folder, such as "out/{path.stem}".')
    return Path(data).expanduser()
