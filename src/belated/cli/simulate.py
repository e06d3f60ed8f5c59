"""``belated simulate`` and ``belated sweep``: simulate what a file describes, once or for each value of a key; and
``belated plot``: plot the result again."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.table import Table
from rich.text import Text

from belated.atomic_output import StagedOutput
from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    finished_part,
    interrupted_once,
    note_written,
    progress_bar,
)
from belated.cli.json_output import print_json, simulation_data, sweep_data, written
from belated.cli.options import Device, File, Horizon, Json, Out, Quiet, Runs, Seed, Shuffle, Workers
from belated.errors import InvalidParameter, StateError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from belated.simulation.result import Result
    from belated.studies.sweep import Sweep

FORMATS = (".png", ".svg", ".pdf")


def simulate_command(
    file: File,
    runs: Runs = None,
    seed: Seed = None,
    horizon: Horizon = None,
    out: Out = None,
    workers: Workers = None,
    shuffle: Shuffle = None,
    device: Device = "cpu",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate what a file describes; write a result, a table and a plot."""
    with error_messages():
        from belated.simulation.simulate import simulate
        from belated.specs.tables import source_stem
        from belated.studies.config import read_simulation

        unused = {"sweep": "the file is simulated once, as it stands; belated sweep goes through the values"}
        experiment = read_simulation(file, unused, runs=runs, seed=seed, horizon=horizon, out=out, shuffle=shuffle)
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
                    shuffle=experiment.shuffle,
                    workers=workers,
                    device=device,
                    progress=False if bar is None else partial(bar.show, description="simulating"),
                )
                result, interrupted = finished_part(play, "result")
            result.save(stage.path("result.npz"))
            _write_regret(stage, result, "regret")
            names = stage.commit()
        if json:
            print_json(simulation_data(source_stem(file), result) | written(experiment.out, names, interrupted))
        elif not quiet:
            from belated.cli.tables import caution, heading, speed, summary

            table = summary(result, console().width)
            _show(heading(source_stem(file), result), table, speed([result]) + caution(result))
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
    shuffle: Shuffle = None,
    device: Device = "cpu",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute regret as a function of one or two keys of a file."""
    with error_messages():
        from belated.specs.tables import source_stem
        from belated.studies.config import read_sweep
        from belated.studies.sweep import sweep_study

        plan = read_sweep(file, runs=runs, seed=seed, horizon=horizon, out=out, shuffle=shuffle)
        with StagedOutput(plan.out) as stage, interrupted_once():
            with progress_bar(quiet) as bar:
                progress = False if bar is None else partial(bar.show, description="sweeping")
                play = partial(
                    sweep_study, plan.study, seed=plan.seed, workers=workers, device=device, progress=progress
                )
                swept, interrupted = finished_part(play, "sweep")
            _write_results(stage, swept, plan.keys)
            swept.save(stage.path("sweep.sweep"))
            _write_regret(stage, swept, "sweep")
            names = stage.commit()
        if json:
            print_json(sweep_data(source_stem(file), plan.keys, swept) | written(plan.out, names, interrupted))
        elif not quiet:
            from belated.cli.tables import heading, speed, sweep_table

            title = heading(source_stem(file), swept.results[0], same_horizon="horizon" not in plan.keys)
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


def _write_results(stage: StagedOutput, sweep: Sweep, keys: Sequence[str]) -> None:
    from belated.specs.paths import steps_of

    parameters = [steps_of(key, "key")[-1] for key in keys]
    width = len(str(len(sweep.values) - 1))
    for index, (value, result) in enumerate(zip(sweep.values, sweep.results, strict=True)):
        point = value if len(keys) > 1 else [value]
        parts = [f"{parameter}={part}" for parameter, part in zip(parameters, point, strict=True)]
        name = re.sub(r"[^\w.+=-]", "_", "-".join([f"{index:0{width}d}", *parts]))
        result.save(stage.path(f"results/{name}.npz"))


# ---- belated plot ----


def plot_command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A result (.npz), a sweep (.sweep), or the folder of either.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The file to write: .png, .svg or .pdf.", show_default="next to the result, .png"
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plot a saved result again."""
    with error_messages():
        figure, target = _figure_of(result)
        target = out if out is not None else target
        _save(figure, target)
        if json:
            print_json({"file": target})
        elif not quiet:
            note_written(str(target))


def _figure_of(path: Path) -> tuple[Figure, Path]:
    """The figure of a saved result or sweep, or of the folder of either, and its default path. A folder of 0.1.0 has
    the table of a sweep alone."""
    from belated.simulation.result import Result
    from belated.studies.sweep import Sweep

    if path.is_dir():
        found = [path / name for name in ("result.npz", "sweep.sweep", "sweep.csv") if (path / name).exists()]
        if not found:
            raise StateError(
                f"the folder {str(path)!r} contains neither result.npz nor sweep.sweep; give the path of a result, "
                "or the folder that belated simulate or belated sweep wrote."
            )
        path = found[0]
    elif path.name != "sweep.csv" and not zipfile.is_zipfile(path):
        problem = "is not a result of belated" if path.exists() else "does not exist"
        raise StateError(
            f"{str(path)!r} {problem}; give a result (.npz), a sweep (.sweep), or the folder that belated simulate or "
            "belated sweep wrote."
        )
    if path.name == "sweep.csv":
        saved = path.with_suffix(".sweep")  # which has all of it
        return Sweep.load(saved).plot() if saved.exists() else _sweep_figure(path), path.with_suffix(".png")
    if path.suffix == ".sweep":
        return Sweep.load(path).plot(), path.with_suffix(".png")
    target = path.with_name("regret.png") if path.name == "result.npz" else path.with_suffix(".png")
    return Result.load(path).plot(), target


def _sweep_figure(path: Path) -> Figure:
    """The figure of the table of a sweep over one parameter."""
    import pandas

    from belated.simulation.figures import plot_sweep

    try:
        frame: Any = pandas.read_csv(path)
        labels = list(dict.fromkeys(frame["policy"]))
        shape = (len(labels), -1)
        figure = plot_sweep(
            str(frame["parameter"].iloc[0]),
            frame["value"].to_numpy().reshape(shape)[0],
            frame["mean"].to_numpy().reshape(shape),
            frame["stderr"].to_numpy().reshape(shape),
            labels,
            int(frame["runs"].iloc[0]),
        )
        return cast("Figure", figure)
    except FileNotFoundError:
        raise StateError(f"there is no file {str(path)!r}; give the folder that belated sweep wrote.") from None
    except (KeyError, ValueError, IndexError) as error:
        raise StateError(f"{str(path)!r} is not a sweep's table, or is damaged: {error}.") from error


def _save(figure: Figure, target: Path) -> None:
    """Save a figure atomically."""
    from belated.simulation.figures import save_figure

    if target.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            f"--out is {str(target)!r}; give a file that ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=target.parent) as folder:
            path = Path(folder) / target.name
            save_figure(figure, path)
            os.replace(path, target)
    except OSError as error:
        raise InvalidParameter(
            f"--out is {str(target)!r}, which cannot be written: {error.strerror}. Give another file."
        ) from None
