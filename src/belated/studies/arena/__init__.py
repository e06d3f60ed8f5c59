"""The arena: every policy meets every kind of delay, on named scenarios with paired runs."""

from belated.studies.arena.contestants import contestants
from belated.studies.arena.play import play
from belated.studies.arena.scenarios import Scenario, scenarios
from belated.studies.arena.scores import Scores

__all__ = ["Scenario", "Scores", "contestants", "play", "scenarios"]
