"""The arena: every policy meets every kind of delay, on named rows with paired runs."""

from belated.arena.rows import Row, rows
from belated.arena.scores import Scores

__all__ = ["Row", "Scores", "rows"]
