"""``belated demo``: a server with simulated traffic."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import error_messages, note
from belated.cli.serve import service_components


def command(
    port: Annotated[str, typer.Option(metavar="N", help="The port; 0 takes a free one.")] = "8000",
    db: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Database to keep. [default: a temporary file]", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the visitors and the policies.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Serve simulated traffic until Ctrl-C."""
    with error_messages(), service_components(), tempfile.TemporaryDirectory(prefix="belated-demo-") as folder:
        from belated.service.demo import run_demo
        from belated.service.settings import Settings, port_of
        from belated.service.storage.database import without_password

        def listening(address: str) -> None:
            note(f"the demo is at {address}; Ctrl-C ends it.", stderr=True)
            if not no_browser and _has_display():
                import webbrowser

                webbrowser.open(address)

        number = port_of(port)
        location = "" if db is None else f" in {without_password(db)}"
        note(f"simulating three experiments{location} ...", stderr=True)
        run_demo(Settings(db or str(Path(folder) / "demo.db"), "127.0.0.1", number, "warning"), seed, listening)


def _has_display() -> bool:
    """Whether a graphical browser can open; one in the terminal would be in the way."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
