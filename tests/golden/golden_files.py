"""What the command line makes of files: numbers of what it writes, as plain data."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from golden_serving import belated
from record import FIELDS, digest

from belated import Result, policies

HERE = Path(__file__).parent
TOML = HERE / "toml"
QUESTION = TOML / "question.toml"
SIMULATED = ("everything", "family")
SWEPT = ("gaps", "confidences", "horizons")
ARENA_ROWS = "fixed-500,bias-5000,bias-1000,bias-2000-two-arms,bias-2000-ten-arms,bias-500-twenty-arms"
ARENA = ("--rows", ARENA_ROWS, "--policies", "UCB,SE,PrefixUCB,PendingUCB", "--runs", "3", "--seed", "5")


ARENA_COLUMNS = 10
"""Columns of ratios.csv in 0.1.0; more may follow."""


def numbers(result: Result) -> dict[str, Any]:
    """What is recorded of a result: a digest of each field, for each policy."""
    digests = [
        " ".join(digest(*(getattr(result, field)[place] for field in fields)) for fields in FIELDS.values())
        for place in range(len(result.labels))
    ]
    return {"labels": result.labels, "rounds": result.rounds.tolist(), "runs": result.runs, "digests": digests}


def with_theory(name: str, folder: Path) -> Path:
    """A copy of a file as 0.1.0 meant it: where it leaves a policy's confidence out, that was "theory"; now it is 1."""
    blocks = (TOML / f"{name}.toml").read_text(encoding="utf-8").split("[[policies]]\n")
    for place, block in enumerate(blocks[1:], 1):
        table = tomllib.loads(block)
        takes = {field.name for field in dataclasses.fields(getattr(policies, table["policy"]))}
        if "confidence" in takes - set(table):
            blocks[place] = f'confidence = "theory"\n{block}'
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text("[[policies]]\n".join(blocks), encoding="utf-8")
    return path


LABELS = {"UCB(confidence=1)": "UCB", "UCB(delta=0.2)": "UCB(confidence=theory, delta=0.2)"}
"""Of two policies that would have the same label, parameters are shown if they are not the default: now the others."""


def simulated(name: str, out: Path) -> dict[str, Any]:
    """``belated simulate`` of a file, into a folder."""
    belated("simulate", str(with_theory(name, out.parent / "files")), "--out", str(out), "--quiet")
    return numbers(Result.load(out / "result.npz"))


def swept(name: str, out: Path) -> dict[str, Any]:
    """``belated sweep`` of a file, into a folder: each result by the name of its file."""
    belated("sweep", str(TOML / f"{name}.toml"), "--out", str(out), "--quiet")
    return {path.name: numbers(Result.load(path)) for path in sorted((out / "results").glob("*.npz"))}


def reproduced(out: Path) -> list[Any]:
    """``belated reproduce`` of the question, into a folder: what became of the claims."""
    belated("reproduce", str(QUESTION), "--out", str(out), "--quiet")
    return judged(out)


def judged(out: Path) -> list[Any]:
    """Of each claim of a report: its sentence, and what became of it."""
    report = json.loads((out / "report" / "claims.json").read_text(encoding="utf-8"))
    return [
        [claim["sentence"], claim["status"]] for experiment in report["experiments"] for claim in experiment["claims"]
    ]


def arena(out: Path) -> dict[str, Any]:
    """``belated arena`` with some rows and policies: the scores, without reasons in words, in the columns of 0.1.0."""
    belated("arena", *ARENA, "--out", str(out), "--quiet")
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    rows = [{key: row[key] for key in ("name", "horizon", "spec")} for row in scores["rows"]]
    ratios = [line[:ARENA_COLUMNS] for line in table_of(out / "ratios.csv")]
    return {"labels": scores["labels"], "rows": rows, "ratios.csv": ratios}


def table_of(path: Path) -> list[list[Any]]:
    """A table of values separated by commas; numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        return [[_number(cell) for cell in row] for row in csv.reader(file)]


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def close(one: Any, other: Any) -> bool:
    """Whether plain data is the same, but for the last bits of numbers: means and quantiles are numpy's and scipy's,
    whose versions may differ there."""
    if isinstance(one, float) and isinstance(other, int | float) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)
