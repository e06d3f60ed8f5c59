"""``belated verify``: recompute everything from the journal and compare."""

from __future__ import annotations

from contextlib import closing

import typer

from belated.cli.console import error_messages, note
from belated.cli.options import Db
from belated.cli.serve import service_components
from belated.formatting import plural

DAMAGED = 1
"""Exit status if something differs."""


def command(db: Db = None) -> None:
    """Recompute everything from the journal and compare."""
    with error_messages(), service_components():
        from belated.service.core.verify import verify
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db, create=False, read_only=True)) as journal:
            reports = verify(journal)
        for report in reports:
            text = f"{report.name}: {plural(report.events, 'event')}, {plural(report.decisions, 'decision')}"
            if report.error is None:
                note(f"{text}: correct")
            else:
                note(f"{text}: {report.error}", "bold red", "damaged: ", stderr=True)
        if not reports:
            note("there are no experiments.")
        if any(report.error is not None for report in reports):
            raise typer.Exit(DAMAGED)
