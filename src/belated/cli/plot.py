"""``belated plot``: a saved result, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import guarded, note


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A result (.npz), or the folder of a simulation or sweep.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to draw: a .png, .svg or .pdf.", show_default="beside the result, .png"
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Draw a saved result again."""
    with guarded():
        from belated.cli.output import draw, saved_figure

        figure, target = saved_figure(result)
        target = out if out is not None else target
        draw(figure, target)
        if not quiet:
            note(str(target), "bold green", "wrote ")
