"""``belated simulate``: simulate what a file describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    interrupted_once,
    note,
    note_written,
    progress_callback,
)
from belated.cli.options import File, Horizon, Out, Quiet, Runs, Seed, Workers, overrides

if TYPE_CHECKING:
    from belated.atomic_output import StagedOutput
    from belated.simulation.result import Result


def command(
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
        from belated.atomic_output import StagedOutput
        from belated.errors import Interrupted
        from belated.simulation.simulate import simulate
        from belated.studies.config import read_simulation

        experiment = read_simulation(file, **overrides(runs, seed, horizon, out))
        if experiment.sweep is not None and not quiet:
            note(
                f"{file} has a section [sweep], which only belated sweep uses; it is ignored here.",
                "bold yellow",
                "note: ",
                stderr=True,
            )
        with StagedOutput(experiment.out) as stage, interrupted_once():
            interrupted = False
            try:
                with progress_callback("simulating", quiet) as progress:
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
                interrupted, result = True, error.result
            _write(stage, result)
            names = stage.commit()
        if not quiet:
            from belated.cli.tables import caution, heading, speed, summary

            screen = console()
            screen.print(heading(file.stem, result))
            screen.print(summary(result, screen.width))
            screen.print()
            screen.print(speed([result]) + caution(result), style="dim")
            note_written(f"{experiment.out}: {', '.join(names)}")
        if interrupted:
            exit_interrupted(
                f"after {result.runs:,} of {experiment.runs:,} runs; the finished runs are in {experiment.out}."
            )


def _write(stage: StagedOutput, result: Result) -> None:
    """Write result.npz, regret.csv, regret.png and regret.svg."""
    from belated.simulation.figures import save_figure

    result.save(stage.path("result.npz"))
    result.to_frame().to_csv(stage.path("regret.csv"), index=False, lineterminator="\n")
    figure = result.plot()
    for suffix in ("png", "svg"):
        save_figure(figure, stage.path(f"regret.{suffix}"))
