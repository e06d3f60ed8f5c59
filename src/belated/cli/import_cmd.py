"""``belated import``: restore an export."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.console import error_messages, note
from belated.cli.options import Db
from belated.cli.serve import service_components
from belated.formatting import plural


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE.parquet", help="An export.", show_default=False)], db: Db = None
) -> None:
    """Import the events of an export that are not there yet."""
    with error_messages(), service_components():
        from belated.service.core.export import import_parquet
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db)) as journal:
            known = {stored.name for stored in journal.experiments()}
            name, new = import_parquet(journal, file)
        if new:
            note(f"{name}: {plural(new, 'event')} imported.")
        elif name not in known:
            note(f"{name}: created; the export has no events.")
        else:
            note(f"{name}: everything was already there.")
