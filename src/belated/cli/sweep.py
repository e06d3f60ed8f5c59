"""``belated sweep``: regret as a function of one key of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    interrupted_once,
    note_written,
    progress_callback,
)
from belated.cli.options import File, Horizon, Out, Quiet, Runs, Seed, Workers, overrides

if TYPE_CHECKING:
    from belated.atomic_output import StagedOutput
    from belated.studies.sweep import Sweep


def command(
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
        from belated.atomic_output import StagedOutput
        from belated.errors import SweepInterrupted
        from belated.studies.config import read_sweep
        from belated.studies.sweep import sweep_study

        plan = read_sweep(file, **overrides(runs, seed, horizon, out))
        with StagedOutput(plan.out) as stage, interrupted_once():
            interrupted = False
            try:
                with progress_callback("sweeping", quiet) as progress:
                    swept = sweep_study(plan.study, seed=plan.seed, workers=workers, progress=progress)
            except SweepInterrupted as error:
                if error.sweep is None:
                    raise
                interrupted, swept = True, error.sweep
            _write(stage, swept, plan.key)
            names = stage.commit()
        if not quiet:
            from belated.cli.tables import heading, speed, sweep_table

            screen = console()
            screen.print(heading(file.stem, swept.results[0], same_horizon=plan.key != "horizon"))
            screen.print(sweep_table(swept))
            screen.print()
            screen.print(speed(swept.results), style="dim")
            note_written(f"{plan.out}: {', '.join(names)}")
        if interrupted:
            exit_interrupted(
                f"after {len(swept.values)} of {len(plan.study.cells)} values; the finished values are in {plan.out}."
            )


def _write(stage: StagedOutput, sweep: Sweep, key: str) -> None:
    """Write sweep.csv, sweep.png, sweep.svg, and a result for each value in results."""
    from belated.simulation.figures import save_figure
    from belated.specs.paths import steps_of

    parameter = steps_of(key, "key")[-1]
    width = len(str(len(sweep.values) - 1))
    for index, (value, result) in enumerate(zip(sweep.values, sweep.results, strict=True)):
        name = re.sub(r"[^\w.+=-]", "_", f"{index:0{width}d}-{parameter}={value}")
        result.save(stage.path(f"results/{name}.npz"))
    sweep.to_frame().to_csv(stage.path("sweep.csv"), index=False, lineterminator="\n")
    figure = sweep.plot()
    for suffix in ("png", "svg"):
        save_figure(figure, stage.path(f"sweep.{suffix}"))
