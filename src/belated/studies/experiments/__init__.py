"""The paper's experiments as data: one file each, with set-ups, claims and figures, and no loops.

:data:`PAPER` are those of the paper; :data:`EXTRA` go further: how robust its claims are, and what it did not plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from belated.errors import ConfigurationError, UnknownName
from belated.specs.tables import suggest
from belated.studies.experiments.read import PaperExperiment, named, read_file

PAPER = ("figure1", "figure2", "figure3", "figure4", "figure5", "table1", "theorem1", "theorem6")
EXTRA = ("robustness", "beyond")
NAMES = PAPER + EXTRA


def load(name: str) -> PaperExperiment:
    """The experiment of this name."""
    if name not in NAMES:
        raise UnknownName(
            f"{name!r} is no experiment.{suggest(name, NAMES)} There are {', '.join(NAMES)}; 'all' means all of these; "
            "files of your own end in .toml."
        )
    return replace(read_file(Path(__file__).parent / f"{name}.toml"), paper=name in PAPER)


def chosen(names: Sequence[str]) -> list[PaperExperiment]:
    """The experiments of these names, each once: all of the paper for none, all there are for "all"; files of a user's
    own by their path."""
    wanted: list[str] = []
    for name in names or PAPER:
        wanted += NAMES if name == "all" else [name]
    found = [read_file(Path(name)) if name.endswith(".toml") else load(name) for name in dict.fromkeys(wanted)]
    for place, experiment in enumerate(found):
        if experiment.name in [other.name for other in found[:place]]:
            raise ConfigurationError(
                f"two experiments are named {experiment.name!r}; rename a file, or give one of them."
            )
    files = [named(experiment, picture) for experiment in found for picture in experiment.figures]
    for place, name in enumerate(files):
        if name in files[:place]:
            raise ConfigurationError(f"two figures would be written to {name!r}; rename one of them, or its file.")
    return found


__all__ = ["EXTRA", "NAMES", "PAPER", "PaperExperiment", "chosen", "load", "named", "read_file"]
