"""``belated keys``: make, list and revoke keys."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from belated.cli.console import guarded, note
from belated.cli.serve import Db, needed

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@app.command("create")
def create(
    role: Annotated[str, typer.Option(metavar="ROLE", help="reader, writer or admin.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What it is called. [default: ROLE-N]", show_default=False)
    ] = None,
    db: Db = None,
) -> None:
    """Make a key and show it, this once."""
    with guarded(), needed():
        from belated.service.api_keys import check_role, free_name, make_key
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        check_role(role)
        with closing(open_journal(settings({"db": db}).db)) as journal:
            chosen = name if name is not None else free_name(journal, role)
            key = make_key(journal, role, chosen)
        note(f"{chosen}, a {role}'s key. It is not shown again:", stderr=True)
        typer.echo(key)


@app.command("list")
def listing(db: Db = None) -> None:
    """All keys, without what they are."""
    with guarded(), needed():
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal
        from belated.service.timestamps import isoformat

        with closing(open_journal(settings({"db": db}).db, create=False, read_only=True)) as journal:
            found = journal.all_keys()
        if not found:
            note("there are no keys: whoever reaches the server may do everything.")
            return
        rows = [
            (name, role, isoformat(created), isoformat(revoked) if revoked is not None else "")
            for _, name, role, created, revoked in found
        ]
        lines = [("name", "role", "made", "revoked"), *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        for line in lines:
            note("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


@app.command("revoke")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="Of the key.")], db: Db = None) -> None:
    """No longer take a key."""
    with guarded(), needed():
        from belated.service.api_keys import revoke_key
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db, create=False)) as journal:
            revoke_key(journal, name)
        note(f"{name} is revoked; servers forget it within seconds.")
