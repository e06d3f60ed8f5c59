"""The commands of the service: ``belated serve``, ``verify``, ``import``, ``demo`` and ``keys``."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli import completion, help_text
from belated.cli.console import error_messages, note
from belated.cli.help_page import HelpCommand, HelpGroup
from belated.cli.json_output import print_json
from belated.cli.options import Json
from belated.errors import MissingComponent
from belated.formatting import plural

if TYPE_CHECKING:
    from belated.service.storage.journal import Journal

Db = Annotated[
    str | None,
    typer.Option(metavar="PATH|URL", help="SQLite file, or postgresql://... [default: bandits.db]", show_default=False),
]
keys_app = typer.Typer(cls=HelpGroup, no_args_is_help=True, rich_markup_mode="rich", help=help_text.KEYS)


@contextmanager
def _service_errors() -> Iterator[None]:
    """Like :func:`error_messages`; a missing dependency of the service is an error with the install command."""
    with error_messages():
        try:
            yield
        except MissingComponent:
            raise
        except ImportError as error:
            raise MissingComponent(
                "the service needs more packages: pip install 'belated[service]', or in a checkout pip install "
                f"'.[service]' ({error})"
            ) from None


@contextmanager
def _journal(db: str | None, **options: bool) -> Iterator[Journal]:
    """The journal that a command is about; see :func:`belated.service.storage.journal.open_journal`."""
    with _service_errors():
        from belated.service.settings import settings
        from belated.service.storage.journal import open_journal

        with closing(open_journal(settings({"db": db}).db, **options)) as journal:
            yield journal


def serve_command(
    db: Db = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on. [default: 127.0.0.1]", show_default=False)
    ] = None,
    port: Annotated[
        str | None, typer.Option(metavar="N", help="The port; 0 takes a free one. [default: 8000]", show_default=False)
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="debug, info, warning or error. [default: info]",
            show_default=False,
            autocompletion=completion.log_levels,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="A file with settings; - reads standard input.", show_default=False),
    ] = None,
) -> None:
    """Serve until a signal ends it."""
    with _service_errors():
        from belated.service.serve import serve
        from belated.service.settings import settings
        from belated.service.storage.database import without_password

        chosen = settings({"db": db, "host": host, "port": port, "log": log, "config": config})
        serve(
            chosen,
            lambda address: note(f"serving {without_password(chosen.db)} at {address}; Ctrl-C ends it.", stderr=True),
        )


def verify_command(db: Db = None, json: Json = False) -> None:
    """Recompute everything from the journal and compare."""
    with _journal(db, create=False, read_only=True, older=True) as journal:
        from belated.service.core.verify import verify

        reports = verify(journal)
        if json:
            print_json({"experiments": [asdict(report) | {"correct": report.error is None} for report in reports]})
        for report in () if json else reports:
            text = f"{report.name}: {plural(report.events, 'event')}, {plural(report.decisions, 'decision')}"
            if report.error is None:
                note(f"{text}: correct{f'; {report.note}' if report.note is not None else ''}")
            else:
                note(f"{text}: {report.error}", "bold red", "damaged: ", stderr=True)
        if not reports and not json:
            note("there are no experiments.")
        if any(report.error is not None for report in reports):
            raise typer.Exit(1)


def import_command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.parquet", help="An export; - reads standard input.", show_default=False),
    ],
    db: Db = None,
    json: Json = False,
) -> None:
    """Import the events of an export that are not there yet."""
    with _service_errors():
        from belated.service.core.export import import_parquet  # first: if it is missing, no database is created

        with _journal(db) as journal:
            known = {stored.name for stored in journal.experiments()}
            name, new = import_parquet(journal, file)
        if json:
            print_json({"experiment": name, "imported": new, "created": name not in known})
        elif new:
            note(f"{name}: {plural(new, 'event')} imported.")
        elif name not in known:
            note(f"{name}: created; the export has no events.")
        else:
            note(f"{name}: everything was already there.")


def demo_command(
    port: Annotated[str, typer.Option(metavar="N", help="The port; 0 takes a free one.")] = "8000",
    db: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Database to keep. [default: a temporary file]", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the visitors and the policies.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Serve simulated traffic until Ctrl-C."""
    with _service_errors(), tempfile.TemporaryDirectory(prefix="belated-demo-") as folder:
        from belated.service.demo import run_demo
        from belated.service.settings import Settings, port_of
        from belated.service.storage.database import without_password

        def listening(address: str) -> None:
            note(f"the demo is at {address}; Ctrl-C ends it.", stderr=True)
            if not no_browser and _has_display():
                import webbrowser

                webbrowser.open(address)

        number = port_of(port)
        location = "" if db is None else f" in {without_password(db)}"
        note(f"simulating three experiments{location} ...", stderr=True)
        run_demo(Settings(db or str(Path(folder) / "demo.db"), "127.0.0.1", number, "warning"), seed, listening)


def _has_display() -> bool:
    """Whether a graphical browser can open; one in the terminal would be in the way."""
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


@keys_app.command("create", cls=HelpCommand)
def create_key(
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE", help="reader, writer or admin.", show_default=False, autocompletion=completion.roles
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the key. [default: ROLE-N]", show_default=False)
    ] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Create a key and print it, only this once."""
    with _service_errors():
        from belated.service.auth import check_role, free_name, make_key

        check_role(role)
        with _journal(db) as journal:
            chosen = name if name is not None else free_name(journal, role)
            key = make_key(journal, role, chosen)
        note(f"{chosen}, a {role}'s key. It is not shown again:", stderr=True)
        if json:
            print_json({"name": chosen, "role": role, "key": key})
        else:
            typer.echo(key)


@keys_app.command("list", cls=HelpCommand)
def list_keys(db: Db = None, json: Json = False) -> None:
    """List all keys, without the secrets."""
    with _journal(db, create=False, read_only=True, older=True) as journal:
        from belated.service.timestamps import isoformat

        keys = [
            {
                "name": name,
                "role": role,
                "created": isoformat(created),
                "revoked": isoformat(revoked) if revoked is not None else None,
            }
            for _, name, role, created, revoked in journal.all_keys()
        ]
        if json:
            print_json({"keys": keys})
            return
        if not keys:
            note("there are no keys: everyone who reaches the server may do everything.")
            return
        lines = [tuple(keys[0]), *(tuple(value or "" for value in key.values()) for key in keys)]
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        for line in lines:
            note("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


@keys_app.command("revoke", cls=HelpCommand)
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.")], db: Db = None, json: Json = False
) -> None:
    """Revoke a key."""
    with _journal(db, create=False, older=True) as journal:
        from belated.service.auth import revoke_key

        revoke_key(journal, name)
        if json:
            print_json({"name": name, "revoked": True})
        else:
            note(f"{name} is revoked; servers stop accepting it within seconds.")
