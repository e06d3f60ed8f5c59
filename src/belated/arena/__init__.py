"""The arena: every policy meets every kind of delay, on named rows with paired runs."""

from belated.arena.entrants import entrants
from belated.arena.play import play
from belated.arena.rows import Row, rows
from belated.arena.scores import Scores

__all__ = ["Row", "Scores", "entrants", "play", "rows"]
