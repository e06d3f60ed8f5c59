"""``belated import``: restore an export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import guarded, note
from belated.cli.serve import Db


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="An export.", show_default=False)], db: Db = None
) -> None:
    """Take in the events of an export that are not there yet."""
    with guarded():
        from belated.journal.journal import open_journal
        from belated.service.export import take_in
        from belated.service.settings import settings

        name, new = take_in(open_journal(settings({"db": db}).db), file)
        note(f"{name}: {new:,} events taken in." if new else f"{name}: everything was there already.")
