"""``belated demo``: a server with traffic of its own, to look around."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import guarded, note


def command(
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    db: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Where to keep it. [default: a temporary file]", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the visitors and the policies.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Serve simulated traffic until Ctrl-C."""
    with guarded(), tempfile.TemporaryDirectory(prefix="belated-demo-") as folder:
        from belated.cli.serve import needed

        needed()  # or an error with the install line
        from belated.service.demo import run_demo
        from belated.service.settings import Settings

        def listening(address: str) -> None:
            note(f"the demo is at {address}; Ctrl-C ends it.", stderr=True)
            if not no_browser and _has_screen():
                import webbrowser

                webbrowser.open(address)

        note(f"simulating {'three experiments' if db is None else f'three experiments in {db}'} ...", stderr=True)
        run_demo(Settings(db or str(Path(folder) / "demo.db"), "127.0.0.1", port, "warning"), seed, listening)


def _has_screen() -> bool:
    """Whether a browser would have somewhere to show itself; one in the terminal would be in the way."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
