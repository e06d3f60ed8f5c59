"""``belated verify``: everything computed anew from the journal."""

from __future__ import annotations

from contextlib import closing

import typer

from belated.cli.console import guarded, note
from belated.cli.numbers import many
from belated.cli.serve import Db, needed

DAMAGED = 1
"""Exit status where something is not as it should be."""


def command(db: Db = None) -> None:
    """Compute everything anew, and compare."""
    with guarded(), needed():
        from belated.journal.journal import open_journal
        from belated.service.settings import settings
        from belated.service.verify import verify

        with closing(open_journal(settings({"db": db}).db, make=False, read_only=True)) as journal:
            found = verify(journal)
        for each in found:
            text = f"{each.name}: {many(each.events, 'event')}, {many(each.decisions, 'decision')}"
            if each.error is None:
                note(f"{text}: as it should be")
            else:
                note(f"{text}: {each.error}", "bold red", "damaged: ", stderr=True)
        if not found:
            note("there are no experiments.")
        if any(each.error is not None for each in found):
            raise typer.Exit(DAMAGED)
