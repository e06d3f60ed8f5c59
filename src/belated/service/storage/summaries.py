"""What the dashboard asks of the journal: sums made by the database, over ranges of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from belated.service.storage.database import Database


class Group(NamedTuple):
    """Events of one kind, about one arm and one block of decisions."""

    kind: str
    block: int
    """The decision's number divided by the size of a block."""
    arm: int
    events: int
    rewards: int
    """How many of them have a reward."""
    total: float
    """The sum of these rewards."""
    first_seq: int
    last_seq: int
    first_at: int
    last_at: int


def groups(database: Database, experiment: int, after: int, until: int, size: int) -> list[Group]:
    """The events of decisions behind one place and up to another, counted."""
    sql = (
        "SELECT kind, number / ? AS block, arm, COUNT(*), COUNT(reward), COALESCE(SUM(reward), 0), MIN(seq), MAX(seq), "
        "MIN(at), MAX(at) FROM belated_events WHERE experiment = ? AND seq > ? AND seq <= ? AND number IS NOT NULL "
        "GROUP BY 1, 2, 3"
    )
    return [Group(*row) for row in database.execute(sql, (size, experiment, after, until))]


def decisions_numbered(
    database: Database, experiment: int, numbers: Sequence[int], after: int, until: int
) -> list[tuple[int, int, int]]:
    """(number, seq, at) of the decisions of these numbers behind one place and up to another, in their order."""
    if not numbers:
        return []
    marks = ", ".join("?" * len(numbers))
    sql = (
        "SELECT number, seq, at FROM belated_events WHERE experiment = ? AND seq > ? AND seq <= ? AND kind = 'decided' "
        f"AND number IN ({marks}) ORDER BY seq"
    )
    found = database.execute(sql, (experiment, after, until, *numbers))
    return [(row[0], row[1], row[2]) for row in found]


def unanswered(database: Database, experiment: int, first: int, last: int, until: int) -> list[int]:
    """When the decisions from one place to another were made that had no answer, and were not cancelled, by a third
    one."""
    sql = (
        "SELECT e.at FROM belated_events e WHERE e.experiment = ? AND e.seq >= ? AND e.seq <= ? AND e.kind = 'decided' "
        "AND NOT EXISTS (SELECT 1 FROM belated_events a WHERE a.id = e.id AND a.kind <> 'decided' AND a.seq <= ?) "
        "ORDER BY e.seq"
    )
    return [row[0] for row in database.execute(sql, (experiment, first, last, until))]
