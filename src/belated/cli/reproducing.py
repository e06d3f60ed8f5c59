"""The bar of a reproduction: which experiment, which study, how many runs, how far."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from belated.cli.console import console
from belated.cli.numbers import seconds, short
from belated.experiments import Experiment
from belated.reproduce import Step


@contextmanager
def watched(experiments: Sequence[Experiment], quiet: bool) -> Iterator[Callable[[Step], None] | None]:
    """What to give as ``watch``: a bar on a terminal, None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    names = [experiment.name for experiment in experiments]
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[pace]}", style="cyan"),
    )
    with Progress(*columns, console=console(stderr=True), transient=True, expand=True) as bars:
        task = bars.add_task("preparing", total=None, pace="")

        def show(step: Step) -> None:
            done, speed = step.progress, step.progress.rounds_per_second
            left = seconds((done.total - done.done) / speed) if speed > 0.0 else "?"
            place = (
                f"{names.index(step.experiment) + 1}/{len(names)} {step.experiment}, {step.study}, {step.runs:,} runs"
            )
            bars.update(
                task, description=place, total=done.total, completed=done.done, pace=f"{short(speed)}/s, {left} left"
            )

        yield show
