"""Options that commands share; each takes the place of what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

File = Annotated[
    Path, typer.Argument(metavar="FILE.toml", help="What to play; its form is told above.", show_default=False)
]
Runs = Annotated[
    int | None, typer.Option(metavar="N", help="Independent runs, instead of the file's.", show_default=False)
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="The seed, instead of the file's.", show_default=False)]
Horizon = Annotated[
    int | None, typer.Option(metavar="T", help="Rounds of a run, instead of the file's.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where the files go, instead of the file's out.", show_default=False),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Threads: all cores if left out. No result depends on it.", show_default=False
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No bar and no table, errors alone.")]


def overrides(runs: int | None, seed: int | None, horizon: int | None, out: Path | None) -> dict[str, Any]:
    """The options that take the place of a file's keys."""
    return {"runs": runs, "seed": seed, "horizon": horizon, "out": out}
