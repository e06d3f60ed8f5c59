"""The bar of a reproduction: which experiment, which study, how many runs, how far."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from belated.cli.console import console
from belated.cli.numbers import seconds, short
from belated.experiments import Experiment
from belated.reproduce import Outcome, Step

Watch = Callable[[Step], None]
Done = Callable[[Outcome], None]


@contextmanager
def watched(experiments: Sequence[Experiment], quiet: bool, show: Done) -> Iterator[tuple[Watch | None, Done | None]]:
    """What to give as ``watch`` and ``done``: a bar on a terminal, which makes room when an outcome is shown; nothing
    where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None, None if quiet else show
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

        def watch(step: Step) -> None:
            far, speed = step.progress, step.progress.rounds_per_second
            left = seconds((far.total - far.done) / speed) if speed > 0.0 else "?"
            place = f"{names.index(step.experiment) + 1}/{len(names)} {step.experiment}"
            bars.update(
                task,
                description=f"{place}, {step.study}, {step.runs:,} runs",
                total=far.total,
                completed=far.done,
                pace=f"{short(speed)} rounds/s, {left} left",
            )

        def done(outcome: Outcome) -> None:
            bars.stop()
            show(outcome)
            bars.start()

        yield watch, done
