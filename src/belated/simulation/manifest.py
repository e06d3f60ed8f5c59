"""The manifest of a result: everything needed to rerun it, as plain data."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.engine.runner import LOOPS
from belated.errors import NotReproducible, StateError
from belated.formatting import unique_labels
from belated.kernel.cache import modules_digest
from belated.policies import Policy
from belated.policies._base.entry_points import policy_key
from belated.problem import Family, Problem
from belated.specs import DeclaredFamily, policy_spec, problem_spec, read_policy, read_problem

FORMAT = 1
"""Version of the format."""


@dataclass(frozen=True)
class Manifest:
    """What was simulated (problem, policies, horizon, runs, seed, checkpoints), and by which version."""

    problem: dict[str, Any]
    policies: list[dict[str, Any]]
    horizon: int
    runs: int
    seed: int
    checkpoints: list[int]
    seconds: float
    version: str = __version__
    sources: str = ""
    """A hash of the code that decided it: the package's, and that of policies and families from outside."""
    format: int = FORMAT

    @classmethod
    def of(
        cls,
        problem: Problem | Family,
        policies: Sequence[Policy],
        horizon: int,
        runs: int,
        seed: int,
        checkpoints: npt.NDArray[np.int64],
        seconds: float,
    ) -> Manifest:
        """The manifest of a simulation."""
        specs = [policy_spec(policy) for policy in policies]
        return cls(
            problem_spec(problem),
            specs,
            horizon,
            runs,
            seed,
            checkpoints.tolist(),
            seconds,
            sources=_sources(problem, policies),
        )

    def make_problem(self) -> Problem | Family:
        """Recreate the problem or family."""
        if "unknown" in self.problem:
            raise NotReproducible(
                f"the problem of this result cannot be recreated: {self.problem['unknown']} "
                "Pass it, as result.rerun(problem=...)."
            )
        return read_problem(self.problem)

    def make_policies(self) -> tuple[Policy, ...]:
        """Recreate the policies."""
        own = [str(spec["policy"]) for spec in self.policies if str(spec["policy"]).startswith("__main__:")]
        if own:
            raise NotReproducible(
                f"the policy {own[0]} of this result is not in a module that can be imported. "
                "Pass the policies, as result.rerun(policies=...)."
            )
        return tuple(read_policy(spec) for spec in self.policies)

    def to_json(self) -> str:
        """The manifest as JSON text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read JSON from :meth:`to_json`."""
        try:
            data = json.loads(text)
            version = int(data["format"])
            if version != FORMAT:
                raise StateError(
                    f"the manifest has format {version}; this version of belated reads format {FORMAT}. Use belated "
                    f"{data.get('version')}."
                )
            return cls(**data)
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"the manifest cannot be read: {error}.") from error


def _sources(problem: Problem | Family, policies: Sequence[Policy]) -> str:
    parts = [_package(), *(_policy(type(policy)) for policy in policies)]
    if not isinstance(problem, Problem | DeclaredFamily):
        file = Path(inspect.getsourcefile(inspect.unwrap(problem)) or "" if inspect.isroutine(problem) else "")
        parts.append(hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else str(file))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _policy(policy: type[Policy]) -> str:
    return policy_key(policy, *LOOPS)


@cache
def _package() -> str:
    """A hash of the code that all policies share."""
    return modules_digest(
        "kernel/*.py",
        "rewards/*.py",
        "delays/*.py",
        "problem.py",
        "policies/_base/*.py",
        "engine/*.py",
        "engine/gpu/*.py",
        "specs/*.py",
        "simulation/*.py",
    )


def labels_of(policies: Sequence[Policy]) -> list[str]:
    """A unique label for each policy: the short one where it is unique, otherwise with parameters, or numbered."""
    return unique_labels([policy.label for policy in policies], [policy.describe() for policy in policies])
