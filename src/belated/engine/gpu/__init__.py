"""Runs on a GPU: one thread a run."""
