"""Results of simulations: arrays with a manifest (everything needed to rerun it), statistics, plots and files."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.atomic_output import new_file
from belated.delays._base import check_level
from belated.engine.runner import LOOPS
from belated.errors import InvalidParameter, NotReproducible, StateError
from belated.formatting import unique_labels
from belated.kernel.code_key import modules_digest
from belated.policies import Policy
from belated.policies._base.entry_points import policy_key
from belated.problem import Family, Problem
from belated.simulation.result_views import ResultViews
from belated.specs.laws import policy_spec, read_policy
from belated.specs.problems import DeclaredFamily, problem_spec, read_problem

if TYPE_CHECKING:
    import pandas

FORMAT = 1
"""Version of the format of a manifest."""


@dataclass(frozen=True)
class Manifest:
    """What was simulated (problem, policies, horizon, runs, seed, checkpoints, shuffle), and by which version."""

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
    shuffle: bool = False
    """Whether the arms were relabelled in each run; manifests of 0.1.0 do not say."""

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
        shuffle: bool = False,
    ) -> Manifest:
        """The manifest of a simulation."""
        specs = [policy_spec(policy) for policy in policies]
        sources = _sources(problem, policies)
        return cls(
            problem_spec(problem),
            specs,
            horizon,
            runs,
            seed,
            checkpoints.tolist(),
            seconds,
            sources=sources,
            shuffle=shuffle,
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
        return tuple(read_policy(spec, saved=True) for spec in self.policies)

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
    packages = ("kernel", "rewards", "delays", "policies/_base", "engine", "specs")
    modules = ("problem.py", "simulation/simulate.py", "simulation/result.py", "simulation/result_builder.py")
    return modules_digest(*modules, *(f"{package}/**/*.py" for package in packages))


def labels_of(policies: Sequence[Policy]) -> list[str]:
    """A unique label for each policy: the short one where it is unique, otherwise with parameters, or numbered."""
    return unique_labels([policy.label for policy in policies], [policy.describe() for policy in policies])


MAX_PULL_NUMBERS = 2**22
"""The pulls of the arms at the checkpoints are recorded up to this many numbers (32 MiB)."""

_ARRAYS = ("rounds", "mean", "stderr", "curves", "final", "pulls", "observed", "in_flight", "lost", "eliminated_at")


@dataclass(frozen=True, eq=False, repr=False)
class Result(ResultViews):
    """Pseudo-regret of P policies in R runs, at C checkpoints; K arms.

    Pseudo-regret is the sum over rounds of (best mean - mean of the pulled arm). At the horizon T, the feedback of
    round s with delay d is *observed* if s + d <= T, *in flight* if it comes later, *lost* if it never comes; the three
    add up to the pulls."""

    labels: list[str]
    """(P,) a name for each policy."""
    rounds: npt.NDArray[np.int64]
    """(C,) the checkpoints."""
    mean: npt.NDArray[np.float64]
    """(P, C) mean pseudo-regret over all runs."""
    stderr: npt.NDArray[np.float64]
    """(P, C) its standard error; NaN for a single run."""
    curves: npt.NDArray[np.float64]
    """(P, stored, C) the curves of all runs, or of the first ones if all would take more than 128 MiB."""
    final: npt.NDArray[np.float64]
    """(P, R) pseudo-regret at the horizon."""
    pulls: npt.NDArray[np.int32]
    """(P, R, K)"""
    observed: npt.NDArray[np.int32]
    """(P, R, K)"""
    in_flight: npt.NDArray[np.int32]
    """(P, R, K)"""
    lost: npt.NDArray[np.int32]
    """(P, R, K)"""
    eliminated_at: npt.NDArray[np.int32]
    """(P, R, K) the first round without the arm; -1 if it was never eliminated."""
    horizon: int
    """T, the number of rounds."""
    record: Callable[[], Manifest] = field(repr=False)
    """Makes the manifest on first use."""
    source: tuple[Problem | Family, tuple[Policy, ...]] | None = field(default=None, repr=False)
    pull_sums: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    """(P, C, K) pulls of each arm up to the checkpoints, summed over the runs; None if they were not recorded."""

    @cached_property
    def manifest(self) -> Manifest:
        """What was simulated, as plain data: enough to rerun it."""
        return self.record()

    @property
    def runs(self) -> int:
        """R, the number of runs."""
        return int(self.final.shape[1])

    @property
    def quantiles_exact(self) -> bool:
        """Whether the curves of all runs are stored, so that :meth:`quantile` is exact and not that of the first
        runs."""
        return bool(self.curves.shape[1] == self.runs)

    @property
    def mean_pulls(self) -> npt.NDArray[np.float64]:
        """(P, C, K) mean number of pulls of each arm up to each checkpoint, over all runs."""
        return self._summed_pulls() / self.runs

    @property
    def pull_share(self) -> npt.NDArray[np.float64]:
        """(P, C, K) the share of the rounds up to each checkpoint in which an arm was pulled, over all runs; the shares
        of the arms add up to 1."""
        return self._summed_pulls() / (self.runs * self.rounds[:, None])

    def _summed_pulls(self) -> npt.NDArray[np.int64]:
        if self.pull_sums is None:
            raise StateError(
                "this result has no pulls at its checkpoints: it was saved by belated 0.1.0, or policies x checkpoints "
                f"x arms are more than {MAX_PULL_NUMBERS:,}. Use result.rerun(), or simulate with fewer checkpoints; "
                "result.pulls has the pulls of each run at the horizon."
            )
        return self.pull_sums

    def quantile(self, q: float) -> npt.NDArray[np.float64]:
        """(P, C) the q-quantile of the pseudo-regret over the stored runs; see :attr:`quantiles_exact`.

        Parameters
        ----------
        q
            The level, a number in [0, 1]; 0.5 gives the median.
        """
        return np.asarray(np.quantile(self.curves, check_level(q), axis=1))

    def to_frame(self) -> pandas.DataFrame:
        """A tidy table: one row for each policy and checkpoint, with mean, standard error and quantiles of the
        pseudo-regret."""
        import pandas

        count = self.rounds.size
        return pandas.DataFrame(
            {
                "policy": np.repeat(self.labels, count),
                "round": np.tile(self.rounds, len(self.labels)),
                "mean": self.mean.ravel(),
                "stderr": self.stderr.ravel(),
                "q05": self.quantile(0.05).ravel(),
                "median": self.quantile(0.5).ravel(),
                "q95": self.quantile(0.95).ravel(),
                "runs": self.runs,
            }
        )

    def rerun(
        self,
        *,
        problem: Problem | Family | None = None,
        policies: Sequence[Policy] | None = None,
        runs: int | None = None,
        workers: int | None = None,
        device: str = "cpu",
    ) -> Result:
        """Simulate again what the manifest describes, with the same bits. Arguments override the manifest; unless the
        policies are others, the labels stay, too.

        Parameters
        ----------
        problem
            Another problem or family; needed where the manifest cannot describe it.
        policies
            Other policies; needed where the manifest's cannot be imported.
        runs
            Another number of runs.
        workers
            The number of threads; by default one for each core.
        device
            "cpu" or "cuda"; a GPU gives the same bits.
        """
        from belated.simulation.simulate import simulate

        labels = self.labels if policies is None else None
        manifest = self.manifest
        again = simulate(
            self.problem if problem is None else problem,
            self.policies if policies is None else policies,
            horizon=manifest.horizon,
            runs=manifest.runs if runs is None else runs,
            seed=manifest.seed,
            checkpoints=np.array(manifest.checkpoints),
            workers=workers,
            shuffle=manifest.shuffle,
            device=device,
        )
        return again if labels is None else replace(again, labels=labels)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the arrays and the manifest to one file, atomically; return its path.

        Parameters
        ----------
        path
            Where to; ``.npz`` is added if it is missing.
        """
        target = Path(path)
        if target.suffix != ".npz":
            target = target.with_name(target.name + ".npz")
        text = np.array(self.manifest.to_json())
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        if self.pull_sums is not None:
            arrays["pull_sums"] = self.pull_sums
        with new_file(target) as file:
            _write(file, {"manifest": text, "labels": np.array(self.labels), **arrays})
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a file that :meth:`save` wrote.

        Parameters
        ----------
        path
            The path that :meth:`save` returned.
        """
        if not isinstance(path, str | os.PathLike):
            raise InvalidParameter(f"path is {path!r}; give the path of a file that Result.save wrote.")
        try:
            data = io.BytesIO(Path(path).read_bytes())
            if not zipfile.is_zipfile(data):
                raise StateError(f"{os.fspath(path)!r} is not a result of belated, or is damaged: it is no .npz file.")
            data.seek(0)
            with np.load(data, allow_pickle=False) as file:
                manifest = Manifest.from_json(str(file["manifest"]))
                arrays = {name: file[name] for name in _ARRAYS}
                arrays["pull_sums"] = file["pull_sums"] if "pull_sums" in file else None  # noqa: SIM401
                labels = [str(label) for label in file["labels"]]
                return cls(labels=labels, horizon=manifest.horizon, record=lambda: manifest, **arrays)
        except FileNotFoundError:
            raise StateError(
                f"there is no file {os.fspath(path)!r}; give the path that Result.save returned."
            ) from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(f"{os.fspath(path)!r} is not a result of belated, or is damaged: {error}.") from error


def _write(file: IO[bytes], arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Like ``np.savez_compressed`` in a third of the time, and almost as small for random data."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
