"""A claim that is judged for every value of two axes, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from belated.studies.claims import Case, ClaimVerdict


@dataclass(frozen=True)
class Grid:
    """One row a value of the first axis, one column a value of the second."""

    first: str
    second: str
    columns: tuple[Any, ...]
    rows: dict[Any, tuple[Case, ...]]


def grid(judgement: ClaimVerdict) -> Grid | None:
    """The cases of a claim as a grid; None if it has not two axes."""
    if len(judgement.claim.each) != 2:
        return None
    first, second = judgement.claim.each
    values = list(dict.fromkeys(case.place[first] for case in judgement.cases))
    rows = {value: tuple(case for case in judgement.cases if case.place[first] == value) for value in values}
    return Grid(first, second, tuple(case.place[second] for case in rows[values[0]]), rows)
