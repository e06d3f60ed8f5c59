"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from belated.cli.completion import devices
from belated.validation import check_choice

File = Annotated[
    Path,
    typer.Argument(metavar="FILE.toml", help="What to simulate; - reads standard input.", show_default=False),
]
Runs = Annotated[
    int | None, typer.Option(metavar="N", help="Independent runs; overrides the file.", show_default=False)
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="The seed; overrides the file.", show_default=False)]
Horizon = Annotated[
    int | None, typer.Option(metavar="T", help="Rounds of a run; overrides the file.", show_default=False)
]
Out = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Output folder; overrides the file.", show_default=False)
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Threads; by default all cores. Results do not depend on it.", show_default=False
    ),
]


def _check_device(device: str) -> str:
    return check_choice("--device", device, ("cpu", "cuda"))


Device = Annotated[
    str,
    typer.Option(
        metavar="cpu|cuda",
        help="Where to simulate; the numbers are the same.",
        autocompletion=devices,
        callback=_check_device,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Shuffle = Annotated[
    bool | None,
    typer.Option(
        "--shuffle/--no-shuffle", help="Relabel the arms in each run; overrides the file.", show_default=False
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no results, only errors and warnings.")]
