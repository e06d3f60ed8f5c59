"""``belated keys``: create, list and revoke API keys."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from belated.cli.console import error_messages, note
from belated.cli.options import Db
from belated.cli.serve import service_components

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@app.command("create")
def create(
    role: Annotated[str, typer.Option(metavar="ROLE", help="reader, writer or admin.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the key. [default: ROLE-N]", show_default=False)
    ] = None,
    db: Db = None,
) -> None:
    """Create a key and print it, only this once."""
    with error_messages(), service_components():
        from belated.service.auth import check_role, free_name, make_key
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
    """List all keys, without the secrets."""
    with error_messages(), service_components():
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal
        from belated.service.timestamps import isoformat

        with closing(open_journal(settings({"db": db}).db, create=False, read_only=True)) as journal:
            stored = journal.all_keys()
        if not stored:
            note("there are no keys: everyone who reaches the server may do everything.")
            return
        rows = [
            (name, role, isoformat(created), isoformat(revoked) if revoked is not None else "")
            for _, name, role, created, revoked in stored
        ]
        lines = [("name", "role", "created", "revoked"), *rows]
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        for line in lines:
            note("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


@app.command("revoke")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.")], db: Db = None) -> None:
    """Revoke a key."""
    with error_messages(), service_components():
        from belated.service.auth import revoke_key
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db, create=False)) as journal:
            revoke_key(journal, name)
        note(f"{name} is revoked; servers stop accepting it within seconds.")
