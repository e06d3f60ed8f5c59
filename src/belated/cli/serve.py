"""``belated serve``: run policies on real traffic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import error_messages, note
from belated.cli.options import Db


def command(
    db: Db = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on. [default: 127.0.0.1]", show_default=False)
    ] = None,
    port: Annotated[
        str | None, typer.Option(metavar="N", help="The port; 0 takes a free one. [default: 8000]", show_default=False)
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="debug, info, warning or error. [default: info]", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="A file with settings.", show_default=False)
    ] = None,
) -> None:
    """Serve until a signal ends it."""
    with error_messages(), service_components():
        from belated.service.serve import serve
        from belated.service.settings import settings
        from belated.service.storage.database import without_password

        chosen = settings({"db": db, "host": host, "port": port, "log": log, "config": config})
        serve(
            chosen,
            lambda address: note(f"serving {without_password(chosen.db)} at {address}; Ctrl-C ends it.", stderr=True),
        )


@contextmanager
def service_components() -> Iterator[None]:
    """Turn a missing dependency of the service into an error with the install command."""
    from belated.errors import MissingComponent

    try:
        yield
    except MissingComponent:
        raise
    except ImportError as error:
        raise MissingComponent(
            "the service needs more packages: pip install 'belated[service]', or in a checkout pip install "
            f"'.[service]' ({error})"
        ) from None
