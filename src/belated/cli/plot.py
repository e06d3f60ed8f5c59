"""``belated plot``: plot a saved result again."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.console import error_messages, note_written
from belated.cli.options import Quiet
from belated.errors import InvalidParameter, StateError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A result (.npz), or the folder of a simulation or sweep.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The file to write: .png, .svg or .pdf.", show_default="next to the result, .png"
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Plot a saved result again."""
    with error_messages():
        figure, target = _figure_of(result)
        target = out if out is not None else target
        _save(figure, target)
        if not quiet:
            note_written(str(target))


def _figure_of(path: Path) -> tuple[Figure, Path]:
    """The figure of a saved result, or of the folder of a simulation or sweep, and its default path."""
    from belated.simulation.result import Result

    if path.is_dir():
        if (path / "result.npz").exists():
            return Result.load(path / "result.npz").plot(), path / "regret.png"
        if (path / "sweep.csv").exists():
            return _sweep_figure(path / "sweep.csv"), path / "sweep.png"
        raise StateError(
            f"the folder {str(path)!r} contains neither result.npz nor sweep.csv; give the path of a result, or the "
            "folder that belated simulate or belated sweep wrote."
        )
    if path.name == "sweep.csv":
        return _sweep_figure(path), path.with_suffix(".png")
    if not zipfile.is_zipfile(path):
        problem = "is not a result of belated" if path.exists() else "does not exist"
        raise StateError(
            f"{str(path)!r} {problem}; give a result (.npz), or the folder that belated simulate or belated sweep "
            "wrote."
        )
    target = path.with_name("regret.png") if path.name == "result.npz" else path.with_suffix(".png")
    return Result.load(path).plot(), target


def _sweep_figure(path: Path) -> Figure:
    """The figure of a sweep's table."""
    import pandas

    from belated.simulation.figures import plot_sweep

    try:
        frame: Any = pandas.read_csv(path)
        labels = list(dict.fromkeys(frame["policy"]))
        shape = (len(labels), -1)
        return plot_sweep(
            str(frame["parameter"].iloc[0]),
            frame["value"].to_numpy().reshape(shape)[0],
            frame["mean"].to_numpy().reshape(shape),
            frame["stderr"].to_numpy().reshape(shape),
            labels,
            int(frame["runs"].iloc[0]),
        )
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
