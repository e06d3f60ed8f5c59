"""``belated simulate``: play what a file says."""

from __future__ import annotations

import typer

from belated.cli.console import INTERRUPTED, console, guarded, interrupted_once, note
from belated.cli.options import File, Horizon, Out, Quiet, Runs, Seed, Workers, overrides


def command(
    file: File,
    runs: Runs = None,
    seed: Seed = None,
    horizon: Horizon = None,
    out: Out = None,
    workers: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Play what a file says; write a result, a table and a plot."""
    with guarded():
        from belated.atomic_output import StagedOutput
        from belated.cli.progress_bar import bar
        from belated.cli.tables import caution, heading, pace, summary
        from belated.errors import Interrupted
        from belated.simulation.simulate import simulate
        from belated.studies.config import read_experiment

        experiment = read_experiment(file, **overrides(runs, seed, horizon, out))
        from belated.cli.output import write_result  # heavy, and not needed to find a mistake

        if experiment.swept is not None and not quiet:
            note(
                f"{file} has a section [sweep]; belated sweep plays that, this is the file without it.",
                "bold yellow",
                "note: ",
                stderr=True,
            )
        with StagedOutput(experiment.out) as stage, interrupted_once():
            stopped = None
            try:
                with bar("simulating", quiet) as progress:
                    result = simulate(
                        experiment.problem,
                        experiment.policies,
                        horizon=experiment.horizon,
                        runs=experiment.runs,
                        seed=experiment.seed,
                        checkpoints=experiment.checkpoints,
                        workers=workers,
                        progress=progress,
                    )
            except Interrupted as error:
                if error.result is None:
                    raise
                stopped, result = error, error.result
            write_result(stage, result)
            names = stage.commit()
        if not quiet:
            screen = console()
            screen.print(heading(file.stem, result))
            screen.print(summary(result, screen.width))
            screen.print()
            screen.print(pace([result]) + caution(result), style="dim")
            note(f"{experiment.out}: {', '.join(names)}", "bold green", "wrote ")
        if stopped is not None:
            note(
                f"after {result.runs:,} of {experiment.runs:,} runs; the finished runs are in {experiment.out}.",
                "bold yellow",
                "interrupted ",
                stderr=True,
            )
            raise typer.Exit(INTERRUPTED)
