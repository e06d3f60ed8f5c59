"""``belated serve``: the policies on real traffic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import guarded, note

Db = Annotated[
    str | None,
    typer.Option(metavar="PATH|URL", help="SQLite file, or postgresql://... [default: bandits.db]", show_default=False),
]
Host = Annotated[
    str | None, typer.Option(metavar="HOST", help="Where to listen. [default: 127.0.0.1]", show_default=False)
]
Port = Annotated[
    str | None, typer.Option(metavar="N", help="The port; 0 takes a free one. [default: 8000]", show_default=False)
]


def command(
    db: Db = None,
    host: Host = None,
    port: Port = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="debug, info, warning or error. [default: info]", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="A file with settings.", show_default=False)
    ] = None,
) -> None:
    """Serve until a signal says to end."""
    with guarded(), needed():
        from belated.service.serve import serve
        from belated.service.settings import settings
        from belated.service.storage.database import without_password

        found = settings({"db": db, "host": host, "port": port, "log": log, "config": config})
        serve(
            found,
            lambda address: note(f"serving {without_password(found.db)} at {address}; Ctrl-C ends it.", stderr=True),
        )


@contextmanager
def needed() -> Iterator[None]:
    """The parts of the service are used; where one is missing, the error has the install line."""
    from belated.errors import MissingComponent

    try:
        yield
    except MissingComponent:
        raise
    except ImportError as error:
        raise MissingComponent(
            "the service needs more parts: pip install 'belated[service]', or in a checkout pip install '.[service]' "
            f"({error})"
        ) from None
