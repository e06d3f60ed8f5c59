"""The files of a simulation or a sweep: written whole, read again for a plot."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from belated.atomic_output import StagedOutput
from belated.errors import InvalidParameter, StateError
from belated.simulation.figures import plot_sweep, save_figure
from belated.simulation.result import Result
from belated.specs.paths import steps_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from belated.studies.sweep import Sweep

PICTURES = ("png", "svg")
FORMATS = (".png", ".svg", ".pdf")


def write_result(stage: StagedOutput, result: Result) -> None:
    """result.npz, regret.csv, regret.png, regret.svg."""
    result.save(stage.path("result.npz"))
    result.to_frame().to_csv(stage.path("regret.csv"), index=False, lineterminator="\n")
    figure = result.plot()
    for kind in PICTURES:
        save_figure(figure, stage.path(f"regret.{kind}"))


def write_sweep(stage: StagedOutput, sweep: Sweep, key: str) -> None:
    """sweep.csv, sweep.png, sweep.svg, and a result for each value in results."""
    last = steps_of(key, "key")[-1]
    width = len(str(len(sweep.values) - 1))
    for place, (value, result) in enumerate(zip(sweep.values, sweep.results, strict=True)):
        name = re.sub(r"[^\w.+=-]", "_", f"{place:0{width}d}-{last}={value}")
        result.save(stage.path(f"results/{name}.npz"))
    sweep.to_frame().to_csv(stage.path("sweep.csv"), index=False, lineterminator="\n")
    figure = sweep.plot()
    for kind in PICTURES:
        save_figure(figure, stage.path(f"sweep.{kind}"))


def draw(figure: Figure, target: Path) -> None:
    """Draw a figure into a file that appears whole, or not at all."""
    if target.suffix.lower() not in FORMATS:
        raise InvalidParameter(
            f"--out is {str(target)!r}; give a file that ends in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=target.parent) as aside:
            path = Path(aside) / target.name
            save_figure(figure, path)
            os.replace(path, target)
    except OSError as error:
        raise InvalidParameter(
            f"--out is {str(target)!r}, which cannot be written: {error.strerror}. Give another file."
        ) from None


def saved_figure(path: Path) -> tuple[Figure, Path]:
    """The figure of a saved result, or of the folder of a simulation or a sweep; and where it goes by default."""
    if path.is_dir():
        if (path / "result.npz").exists():
            return Result.load(path / "result.npz").plot(), path / "regret.png"
        if (path / "sweep.csv").exists():
            return _sweep_figure(path / "sweep.csv"), path / "sweep.png"
        raise StateError(
            f"the folder {str(path)!r} holds no result.npz and no sweep.csv; give the path of a result, or the folder "
            "that belated simulate or belated sweep wrote."
        )
    if path.name == "sweep.csv":
        return _sweep_figure(path), path.with_suffix(".png")
    if not zipfile.is_zipfile(path):
        what = "is no result of belated" if path.exists() else "does not exist"
        raise StateError(
            f"{str(path)!r} {what}; give a result (.npz), or the folder that belated simulate or belated sweep wrote."
        )
    return Result.load(path).plot(), path.with_suffix(
        ".png"
    ) if path.name != "result.npz" else path.parent / "regret.png"


def _sweep_figure(path: Path) -> Figure:
    """The figure of a sweep's table."""
    import pandas

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
        raise StateError(f"{str(path)!r} is no table of a sweep, or is damaged: {error}.") from error
