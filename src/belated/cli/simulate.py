"""``belated simulate`` and ``belated sweep``: simulate what a file describes, once or for each value of a key."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from belated.atomic_output import StagedOutput
from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    finished_part,
    interrupted_once,
    note,
    note_written,
    progress_bar,
)
from belated.cli.options import File, Horizon, Out, Quiet, Runs, Seed, Workers

if TYPE_CHECKING:
    from belated.simulation.result import Result
    from belated.studies.sweep import Sweep


def simulate_command(
    file: File,
    runs: Runs = None,
    seed: Seed = None,
    horizon: Horizon = None,
    out: Out = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Simulate what a file describes; write a result, a table and a plot."""
    with error_messages():
        from belated.simulation.simulate import simulate
        from belated.studies.config import read_simulation

        experiment = read_simulation(file, runs=runs, seed=seed, horizon=horizon, out=out)
        if experiment.sweep is not None and not quiet:
            text = f"{file} has a section [sweep], which only belated sweep uses; it is ignored here."
            note(text, "bold yellow", "note: ", stderr=True)
        with StagedOutput(experiment.out) as stage, interrupted_once():
            with progress_bar(quiet) as bar:
                play = partial(
                    simulate,
                    experiment.problem,
                    experiment.policies,
                    horizon=experiment.horizon,
                    runs=experiment.runs,
                    seed=experiment.seed,
                    checkpoints=experiment.checkpoints,
                    workers=workers,
                    progress=False if bar is None else partial(bar.show, description="simulating"),
                )
                result, interrupted = finished_part(play, "result")
            result.save(stage.path("result.npz"))
            _write_regret(stage, result, "regret")
            names = stage.commit()
        if not quiet:
            from belated.cli.tables import caution, heading, speed, summary

            table = summary(result, console().width)
            _show(heading(file.stem, result), table, speed([result]) + caution(result))
            note_written(f"{experiment.out}: {', '.join(names)}")
        if interrupted is not None:
            exit_interrupted(
                f"after {result.runs:,} of {experiment.runs:,} runs; the finished runs are in {experiment.out}."
            )


def sweep_command(
    file: File,
    runs: Runs = None,
    seed: Seed = None,
    horizon: Horizon = None,
    out: Out = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Compute regret as a function of one key of a file."""
    with error_messages():
        from belated.studies.config import read_sweep
        from belated.studies.sweep import sweep_study

        plan = read_sweep(file, runs=runs, seed=seed, horizon=horizon, out=out)
        with StagedOutput(plan.out) as stage, interrupted_once():
            with progress_bar(quiet) as bar:
                progress = False if bar is None else partial(bar.show, description="sweeping")
                play = partial(sweep_study, plan.study, seed=plan.seed, workers=workers, progress=progress)
                swept, interrupted = finished_part(play, "sweep")
            _write_results(stage, swept, plan.key)
            _write_regret(stage, swept, "sweep")
            names = stage.commit()
        if not quiet:
            from belated.cli.tables import heading, speed, sweep_table

            title = heading(file.stem, swept.results[0], same_horizon=plan.key != "horizon")
            _show(title, sweep_table(swept), speed(swept.results))
            note_written(f"{plan.out}: {', '.join(names)}")
        if interrupted is not None:
            exit_interrupted(
                f"after {len(swept.values)} of {len(plan.study.cells)} values; the finished values are in {plan.out}."
            )


def _show(title: Text, table: Table, remark: str) -> None:
    screen = console()
    screen.print(title)
    screen.print(table)
    screen.print()
    screen.print(remark, style="dim")


def _write_regret(stage: StagedOutput, result: Result | Sweep, name: str) -> None:
    """Write the regret as a table (csv) and as a plot (png and svg)."""
    from belated.simulation.figures import save_figure

    result.to_frame().to_csv(stage.path(f"{name}.csv"), index=False, lineterminator="\n")
    figure = result.plot()
    for suffix in ("png", "svg"):
        save_figure(figure, stage.path(f"{name}.{suffix}"))


def _write_results(stage: StagedOutput, sweep: Sweep, key: str) -> None:
    """Write a result for each value in results."""
    from belated.specs.paths import steps_of

    parameter = steps_of(key, "key")[-1]
    width = len(str(len(sweep.values) - 1))
    for index, (value, result) in enumerate(zip(sweep.values, sweep.results, strict=True)):
        name = re.sub(r"[^\w.+=-]", "_", f"{index:0{width}d}-{parameter}={value}")
        result.save(stage.path(f"results/{name}.npz"))
