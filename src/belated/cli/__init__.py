"""The command line: ``belated`` and ``python -m belated``. One module a command; what is heavy is imported when a
command runs."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from belated.cli import (
    arena,
    bounds,
    demo,
    import_cmd,
    keys,
    laws,
    plot,
    policies,
    reproduce,
    serve,
    simulate,
    sweep,
    verify,
)
from belated.cli.help_text import APP, ARENA, BOUNDS, LAWS, PLOT, POLICIES, REPRODUCE, SIMULATE, SWEEP
from belated.cli.service_helps import DEMO, IMPORT, KEYS, SERVE, VERIFY

app = typer.Typer(
    help=APP,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from belated._version import __version__

        typer.echo(f"belated {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _belated(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


app.command("policies", help=POLICIES)(policies.command)
app.command("laws", help=LAWS)(laws.command)
app.command("simulate", help=SIMULATE)(simulate.command)
app.command("sweep", help=SWEEP)(sweep.command)
app.command("plot", help=PLOT)(plot.command)
app.command("bounds", help=BOUNDS)(bounds.command)
app.command("reproduce", help=REPRODUCE)(reproduce.command)
app.command("arena", help=ARENA)(arena.command)
app.command("serve", help=SERVE)(serve.command)
app.command("verify", help=VERIFY)(verify.command)
app.command("import", help=IMPORT)(import_cmd.command)
app.command("demo", help=DEMO)(demo.command)
app.add_typer(keys.app, name="keys", help=KEYS)


def main() -> None:
    """Run the command line; the process ends with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app()
