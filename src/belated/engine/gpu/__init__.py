"""Runs on a GPU: one thread plays one run."""
