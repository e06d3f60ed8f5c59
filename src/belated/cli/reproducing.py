"""The bar of a reproduction: which experiment, which study, how many runs, how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from belated.cli.progress_bar import terminal_bar
from belated.studies.experiments import PaperExperiment
from belated.studies.reproduce import ExperimentOutcome, ReproductionStep

Watch = Callable[[ReproductionStep], None]
Done = Callable[[ExperimentOutcome], None]


@contextmanager
def watched(experiments: Sequence[PaperExperiment], quiet: bool, finished: Done) -> Iterator[tuple[Watch | None, Done]]:
    """What to give as ``watch`` and ``done``: a bar on a terminal, which makes room when an experiment is finished; no
    bar where nobody looks."""
    names = [experiment.name for experiment in experiments]
    with terminal_bar(quiet) as found:
        if found is None:
            yield None, finished
            return
        bars, move = found

        def watch(step: ReproductionStep) -> None:
            place = f"{names.index(step.experiment) + 1}/{len(names)} {step.experiment}"
            move(f"{place}, {step.study}, {step.runs:,} runs", step.progress)

        def done(outcome: ExperimentOutcome) -> None:
            bars.stop()
            finished(outcome)
            bars.start()

        yield watch, done
