"""``belated import``: restore an export."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import guarded, note
from belated.cli.serve import Db, needed


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="An export.", show_default=False)], db: Db = None
) -> None:
    """Take in the events of an export that are not there yet."""
    with guarded(), needed():
        from belated.journal.journal import open_journal
        from belated.service.export import take_in
        from belated.service.settings import settings

        with closing(open_journal(settings({"db": db}).db)) as journal:
            name, new = take_in(journal, file)
        note(f"{name}: {new:,} events taken in." if new else f"{name}: everything was there already.")
