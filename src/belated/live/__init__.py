"""The live bandit: the same policies, one decision at a time."""
