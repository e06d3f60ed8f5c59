"""The paper's experiments as data: one file each, with set-ups, claims and figures.

:data:`PAPER` are those of the paper; :data:`EXTRA` go further: how robust its claims are, and what it did not plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from belated.errors import ConfigurationError, UnknownName
from belated.specs.tables import suggest
from belated.studies.experiments.reader import PaperExperiment, read_file

PAPER = ("figure1", "figure2", "figure3", "figure4", "figure5", "table1", "theorem1", "theorem6")
EXTRA = ("robustness", "beyond")
NAMES = PAPER + EXTRA


def load(name: str) -> PaperExperiment:
    """The experiment of this name."""
    if name not in NAMES:
        raise UnknownName(
            f"{name!r} is not an experiment.{suggest(name, NAMES)} There are {', '.join(NAMES)}; 'all' means all of "
            "these; files of your own end in .toml."
        )
    return replace(read_file(Path(__file__).parent / f"{name}.toml"), paper=name in PAPER)


def select(names: Sequence[str]) -> list[PaperExperiment]:
    """The experiments of these names, each once: all of the paper's for none, all there are for "all"; a user's own
    files by their path."""
    listed = [part for name in names or PAPER for part in (NAMES if name == "all" else [name])]
    experiments = [read_file(Path(name)) if name.endswith(".toml") else load(name) for name in dict.fromkeys(listed)]
    taken: set[str] = set()
    files: set[str] = set()
    for experiment in experiments:
        if experiment.name in taken:
            raise ConfigurationError(
                f"two experiments are named {experiment.name!r}; rename a file, or give one of them."
            )
        taken.add(experiment.name)
    for name in (experiment.file_name(figure) for experiment in experiments for figure in experiment.figures):
        if name in files:
            raise ConfigurationError(f"two figures would be written to {name!r}; rename one of them, or its file.")
        files.add(name)
    return experiments


__all__ = ["EXTRA", "NAMES", "PAPER", "PaperExperiment", "load", "read_file", "select"]
