"""An experiment of one's own that takes no time. Of its three claims one is decided at once, with the fewest runs with
which claims are judged; one with more runs: it is about the share of runs in which something happens that never does;
and one never: uniform choice has a regret of exactly 25 there."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from belated.simulation.result import Result
from belated.simulation.simulate import simulate
from belated.studies.experiments import ExperimentFile, read_file
from belated.studies.report import Report, Summary
from belated.studies.reproduce import ExperimentOutcome
from belated.studies.study import Cell

HEAD = """\
title = "Two arms"
place = "nowhere"
about = "A good arm and a bad one."
assumed = ["Nothing."]
"""

STUDY = """
[studies.pair]
about = "regret for three gaps"
horizon = 100
runs = 8
most = 25600
checkpoints = 2
problem.rewards = [{law = "Bernoulli", mean = 0.4}, {law = "Bernoulli", mean = 0.4}]
problem.delays = {law = "Fixed", rounds = 5}
policies = [{policy = "UCB", confidence = 1.0}, {policy = "UniformChoice"}]
[[studies.pair.axes]]
name = "gap"
values = [0.6, 0.2, 0.5]
set."problem.rewards[1].mean" = [1.0, 0.6, 0.9]
"""

AT_ONCE = """
[[claims]]
sentence = "With a wide gap it is easy"
place = "here"
reading = "UCB's regret is below that of uniform choice."
study = "pair"
where = {gap = 0.6}
test = {kind = "below", policy = "UCB", than = "Uniform"}
"""

IN_TIME = """
[[claims]]
sentence = "This is always so"
place = "there"
reading = "In less than 0.4 % of the runs uniform choice has no regret in the first half, and some in the second."
study = "pair"
where = {gap = 0.2}
test = {kind = "flat stretches", policy = "Uniform", least = 1, steps = 1, high = 0.004}
"""

NEVER = """
[[claims]]
sentence = "This is exactly so"
place = "everywhere"
reading = "The regret of uniform choice is above T gap / 2."
study = "pair"
where = {gap = 0.5}
test = {kind = "level", policies = ["Uniform"], unit = 25.0, low = 1.0}
"""

FIGURE = """
[[figures]]
name = "tiny"
caption = "Regret against the gap."
rows = [{kind = "against", study = "pair", x = "gap"}]
"""

TINY = HEAD + STUDY + AT_ONCE + IN_TIME + NEVER + FIGURE
GAPS = [0.6, 0.2, 0.5]
FRACTION = 0.001
"""Of the paper's repetitions: so small that every study has its fewest runs, and next to none is added."""


HORIZON = 4000
"""The most rounds of a run."""


def _shorter(cell: Cell, horizon: int) -> Cell:
    return replace(cell, horizon=horizon, policies=tuple(replace(one, horizon=horizon) for one in cell.policies))


def shortened(given: ExperimentFile) -> ExperimentFile:
    """The experiment with fewer rounds."""
    studies = {}
    for name, study in given.studies.items():
        cells = tuple(_shorter(cell, min(cell.horizon, HORIZON)) for cell in study.cells)
        marks = study.checkpoints
        few = marks if isinstance(marks, int) else tuple(mark for mark in marks if mark <= HORIZON)
        studies[name] = replace(study, cells=cells, checkpoints=few)
    return replace(given, studies=studies)


def written(folder: Path, text: str = TINY, name: str = "tiny") -> Path:
    """The text as a file."""
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def experiment(folder: Path, text: str = TINY, name: str = "tiny") -> ExperimentFile:
    """The text as an experiment."""
    return read_file(written(folder, text, name))


def write_report(out: Path, summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> Path:
    """Write the report of outcomes; its page."""
    with Report(out) as report:
        return report.finish(summary, outcomes)


class Played:
    """Takes the place of ``simulate`` in a reproduction, and notes what it plays: gap and runs. ``stop`` is the number
    of calls after which Ctrl-C is pressed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop: int | None = None) -> None:
        self.calls: list[tuple[float, int]] = []
        self.stop = stop
        monkeypatch.setattr(importlib.import_module("belated.studies.runner"), "simulate", self)

    def __call__(self, problem: Any, policies: Any, **options: Any) -> Result:
        if self.stop is not None and len(self.calls) >= self.stop:
            raise KeyboardInterrupt
        self.calls.append((round(float(problem.gaps.max()), 6), options["runs"]))
        return simulate(problem, policies, **options)
