"""Policies that others submit to the leaderboard: a folder each, with the policy's file and who wrote it. They are
played with a fixed seed, and recorded so that anyone can check the record to the bit."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from belated._version import __version__
from belated.atomic_output import new_file
from belated.errors import ConfigurationError, StateError
from belated.policies import Policy
from belated.simulation.result import Result
from belated.specs.tables import Key, Text, from_table, text
from belated.studies.arena import FIRST_RUNS, Scenario, contestants, labels_of, scenarios, study_of, variants
from belated.studies.arena.still_losing import still_losing
from belated.studies.runner import RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.validation import MAX_HORIZON

POLICY, ABOUT, RECORD = "policy.py", "submission.toml", "record.json"
"""The files of a submission: the policy, who wrote it, and what was measured."""
FORMAT = "belated.submission.1"
SEED, RUNS = 0, FIRST_RUNS
"""Of all records: the first runs of the arena."""


def _day(value: Any, at: str) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise ConfigurationError(f"{at} is {value!r}; give a day, such as 2026-01-31.") from None


@dataclass(frozen=True)
class About:
    """What ``submission.toml`` says."""

    class_name: Annotated[str, Key(name="class", read=text, give="the name of the policy's class")]
    author: Text
    reference: Text
    licence: Text
    date: Annotated[str, Key(read=_day, give="a day, such as 2026-01-31")]


@dataclass(frozen=True)
class Submission:
    """A submitted policy."""

    folder: Path
    about: About

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def sha256(self) -> str:
        """Of the policy's file."""
        return hashlib.sha256((self.folder / POLICY).read_bytes()).hexdigest()

    def policy(self) -> Policy:
        """The policy, with its defaults; the file is imported, which runs it."""
        path = self.folder / POLICY
        module_name = f"belated_submission_{self.name.replace('-', '_')}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[module_name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # a user's module may fail in any way
            del sys.modules[module_name]
            raise ConfigurationError(f"{path} fails with {type(error).__name__}: {error}; fix it.") from error
        cls = getattr(module, self.about.class_name, None)
        if not isinstance(cls, type) or not issubclass(cls, Policy):
            raise ConfigurationError(
                f"{self.folder / ABOUT}: class is {self.about.class_name!r}, which is not a policy of {POLICY}; give "
                "the name of a class decorated with @policy."
            )
        several = list(variants(self.about.class_name, cls))
        if len(several) > 1:
            raise ConfigurationError(f"{path}: {cls.__name__} has several arena_variants; submit each on its own.")
        if several[0].label in labels_of(contestants()):
            raise ConfigurationError(
                f"{path}: label is {several[0].label!r}, which is that of a built-in policy; give another."
            )
        return several[0]


@dataclass(frozen=True)
class Entry:
    """What was measured on a scenario."""

    problem: str
    """A hash of the problem and its horizon."""
    runs: int
    regret: float
    stderr: float
    losing: float
    """The share of runs that still lose at the end."""
    bits: str
    """A hash of the final regrets of all runs, in their order, as 64-bit numbers, little-endian."""


@dataclass(frozen=True)
class Record:
    """What was measured, and of what: it does not depend on the machine."""

    label: str
    policy: str
    """The hash of the policy's file."""
    version: str
    """Of this package."""
    scenarios: dict[str, Entry]
    seed: int = SEED


def read_submissions(folder: Path) -> list[Submission]:
    """The submission in a folder, or those in the folders that it contains, by name."""
    if (folder / ABOUT).exists():
        return [_read_submission(folder)]
    found = [_read_submission(path.parent) for path in sorted(folder.glob(f"*/{ABOUT}"))]
    if not found:
        raise ConfigurationError(f"{str(folder)!r} has no {ABOUT}; give the folder of a submission, or one of several.")
    return found


def _read_submission(folder: Path) -> Submission:
    path = folder / ABOUT
    try:
        about = from_table(About, tomllib.loads(path.read_text(encoding="utf-8")), "", "A submission")
    except (ConfigurationError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    if not (folder / POLICY).exists():
        raise ConfigurationError(f"{str(folder)!r} has no {POLICY}; write the policy there.")
    return Submission(folder, about)


# ---- playing ----


def play_record(
    submission: Submission,
    scenarios: Sequence[Scenario],
    *,
    workers: int | None = None,
    device: str = "cpu",
    watch: Callable[[RunnerStep], None] | None = None,
) -> Record:
    """Play a submission on the scenarios."""
    policy = submission.policy()
    entries = {}
    with StudyRunner(
        seed=SEED, workers=workers, device=device, watch=watch, max_horizon_on_device=MAX_HORIZON
    ) as runner:
        for scenario in scenarios:
            study = study_of(scenario, [policy], [policy.label], RUNS)
            result = runner.run(study, _once())
            entries[scenario.name] = _entry(scenario, result)
    return Record(policy.label, submission.sha256, __version__, entries)


def _once() -> StoppingRule[Result]:
    results = yield RunBatch([0], RUNS)
    return results[0]


def _entry(scenario: Scenario, result: Result) -> Entry:
    final = result.final[0]
    return Entry(
        problem=problem_hash(scenario),
        runs=final.size,
        regret=float(final.mean()),
        stderr=float(final.std(ddof=1) / np.sqrt(final.size)),
        losing=float(still_losing(scenario.problem, result).mean()),
        bits=hashlib.sha256(np.asarray(final, "<f8").tobytes()).hexdigest(),
    )


def problem_hash(scenario: Scenario) -> str:
    """A hash of what is played: the problem and its horizon."""
    played = json.dumps({"horizon": scenario.horizon, "problem": scenario.spec}, sort_keys=True)
    return hashlib.sha256(played.encode()).hexdigest()


def verify(submission: Submission, record: Record, rows: Sequence[Scenario], **options: Any) -> dict[str, str]:
    """Play what is recorded again, on these scenarios; what is wrong, by scenario, and nothing if all of it is the
    same. A record of another file is wrong everywhere, and so is one that has none of the scenarios."""
    if record.policy != submission.sha256:
        return {POLICY: "is not the file that was recorded; play it again, or restore the file"}
    known = {scenario.name for scenario in (*rows, *scenarios(), *scenarios(long=True))}
    wrong = {
        name: "is not a scenario of this version; remove it from the record"
        for name in record.scenarios
        if name not in known
    }
    recorded = [scenario for scenario in rows if scenario.name in record.scenarios]
    if not recorded:
        return {**wrong, RECORD: "has none of the scenarios to verify; play them first"}
    changed = {
        scenario.name: "is another problem than the one that was recorded; play it again"
        for scenario in recorded
        if record.scenarios[scenario.name].problem != problem_hash(scenario)
    }
    again = play_record(submission, [scenario for scenario in recorded if scenario.name not in changed], **options)
    return {**wrong, **changed, **differences(record, again)}


def differences(record: Record, again: Record) -> dict[str, str]:
    """Where a record differs from one that was played again: by scenario, of those that were; its label and seed."""
    pairs = {name: (record.scenarios[name], entry) for name, entry in again.scenarios.items()}
    wrong = {
        name: "differs: " + "; ".join(found)
        for name, (one, other) in pairs.items()
        if (
            found := [
                f"{key} {before!r} is recorded, {after!r} is played"
                for key in (field.name for field in fields(Entry))
                if not _same(before := getattr(one, key), after := getattr(other, key))
            ]
        )
    }
    for key in ("label", "seed"):
        if (before := getattr(record, key)) != (after := getattr(again, key)):
            wrong[key] = f"is {before!r} in the record, and {after!r} in what is played"
    return wrong


def _same(recorded: Any, played: str | float) -> bool:
    """Whether two values are equal; numbers up to rounding, as the mean may be summed in another order elsewhere."""
    if isinstance(played, str) or not isinstance(recorded, (int, float)):
        return bool(recorded == played)
    return math.isclose(recorded, played, rel_tol=1e-12)


# ---- files ----


def replaced(submission: Submission, record: Record) -> dict[str, str]:
    """Where the record on disk, if it is of the same file and version, differs from this one on the same problems."""
    if not (submission.folder / RECORD).exists():
        return {}
    before = read_record(submission)
    if (before.policy, before.version) != (record.policy, record.version):
        return {}
    kept = {
        name: entry
        for name, entry in record.scenarios.items()
        if name in before.scenarios and before.scenarios[name].problem == entry.problem
    }
    return differences(before, replace(record, scenarios=kept))


def write_record(submission: Submission, record: Record) -> Path:
    """Write a record; entries of the same file and version for other scenarios are kept."""
    path = submission.folder / RECORD
    before = read_record(submission) if path.exists() else None
    entries = dict(record.scenarios)
    if before is not None and _source(before) == _source(record):
        entries = {**before.scenarios, **entries}
    data = {"format": FORMAT, "seed": record.seed, **asdict(record)}
    data["scenarios"] = {name: asdict(entries[name]) for name in sorted(entries)}
    with new_file(path) as file:
        file.write((json.dumps(data, indent=1) + "\n").encode())
    return path


def _source(record: Record) -> tuple[str, str, str, int]:
    """What a record depends on beside its scenarios."""
    return record.label, record.policy, record.version, record.seed


def read_record(submission: Submission) -> Record:
    """The record of a submission."""
    path = submission.folder / RECORD
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise StateError(f"{str(path)!r} has the format {data['format']!r}; this version reads {FORMAT!r}.")
        entries = {name: Entry(**entry) for name, entry in data["scenarios"].items()}
        return Record(data["label"], data["policy"], data["version"], entries, data["seed"])
    except FileNotFoundError:
        raise StateError(
            f"there is no {str(path)!r}; play the submission with belated arena --submissions {submission.folder}."
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"{str(path)!r} is not a record, or is damaged: {error!r}.") from error
