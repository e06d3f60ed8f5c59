"""Experiments and operations on them: events are the truth, one writer appends them."""
