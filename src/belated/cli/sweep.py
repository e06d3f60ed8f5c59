"""``belated sweep``: regret against one key of a file."""

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
    """Regret against one key of a file: the delay, the gap, the number of arms, ..."""
    with guarded():
        from belated.atomic_output import StagedOutput
        from belated.cli.progress_bar import bar
        from belated.cli.tables import heading, pace, sweep_table
        from belated.errors import SweepInterrupted
        from belated.studies.config import read_sweep
        from belated.studies.sweep import sweep

        plan = read_sweep(file, **overrides(runs, seed, horizon, out))
        from belated.cli.output import write_sweep  # heavy, and not needed to find a mistake

        first = plan.experiments[0]
        each = dict(zip(plan.values, plan.experiments, strict=True))
        with StagedOutput(first.out) as stage, interrupted_once():
            stopped = None
            try:
                with bar("sweeping", quiet) as progress:
                    swept = sweep(
                        lambda value: each[value].problem,
                        plan.values,
                        lambda value: each[value].policies,
                        horizon=lambda value: each[value].horizon,
                        runs=first.runs,
                        seed=first.seed,
                        name=plan.name,
                        checkpoints=first.checkpoints,
                        workers=workers,
                        progress=progress,
                    )
            except SweepInterrupted as error:
                if error.sweep is None:
                    raise
                stopped, swept = error, error.sweep
            write_sweep(stage, swept, plan.key)
            names = stage.commit()
        if not quiet:
            screen = console()
            screen.print(heading(file.stem, swept.results[0], same_horizon=plan.key != "horizon"))
            screen.print(sweep_table(swept))
            screen.print()
            screen.print(pace(swept.results), style="dim")
            note(f"{first.out}: {', '.join(names)}", "bold green", "wrote ")
        if stopped is not None:
            note(
                f"after {len(swept.values)} of {len(plan.values)} values; the finished values are in {first.out}.",
                "bold yellow",
                "interrupted ",
                stderr=True,
            )
            raise typer.Exit(INTERRUPTED)
