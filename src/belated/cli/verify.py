"""``belated verify``: everything computed anew from the journal."""

from __future__ import annotations

from contextlib import closing

import typer

from belated.cli.console import guarded, note
from belated.cli.serve import Db, needed
from belated.formatting import plural

DAMAGED = 1
"""Exit status where something is not as it should be."""


def command(db: Db = None) -> None:
    """Compute everything anew, and compare."""
    with guarded(), needed():
        from belated.service.core.verify import verify
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db, create=False, read_only=True)) as journal:
            found = verify(journal)
        for each in found:
            text = f"{each.name}: {plural(each.events, 'event')}, {plural(each.decisions, 'decision')}"
            if each.error is None:
                note(f"{text}: as it should be")
            else:
                note(f"{text}: {each.error}", "bold red", "damaged: ", stderr=True)
        if not found:
            note("there are no experiments.")
        if any(each.error is not None for each in found):
            raise typer.Exit(DAMAGED)
