"""The command line: ``belated`` and ``python -m belated``.

A command imports what it needs when it runs, so that ``--help`` starts quickly."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import partial
from typing import Annotated

import typer

from belated._version import __version__
from belated.cli import arena, bounds, catalogue, help_text, reproduce, service, simulate
from belated.cli.console import error_messages
from belated.cli.help_page import HelpCommand, HelpGroup
from belated.service.settings import warn_about_variables

app = typer.Typer(
    name="belated",
    cls=HelpGroup,
    help=help_text.APP,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(show: bool) -> None:
    if show:
        typer.echo(f"belated {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _belated(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    with error_messages():
        warn_about_variables(os.environ)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit


command = partial(app.command, cls=HelpCommand)
command("policies", help=help_text.POLICIES)(catalogue.policies_command)
command("laws", help=help_text.LAWS)(catalogue.laws_command)
command("simulate", help=help_text.SIMULATE)(simulate.simulate_command)
command("sweep", help=help_text.SWEEP)(simulate.sweep_command)
command("plot", help=help_text.PLOT)(simulate.plot_command)
command("bounds", help=help_text.BOUNDS)(bounds.command)
command("reproduce", help=help_text.REPRODUCE)(reproduce.command)
command("arena", help=help_text.ARENA)(arena.command)
command("serve", help=help_text.SERVE)(service.serve_command)
command("verify", help=help_text.VERIFY)(service.verify_command)
command("import", help=help_text.IMPORT)(service.import_command)
command("demo", help=help_text.DEMO)(service.demo_command)
app.add_typer(service.keys_app, name="keys")


def main() -> None:
    """Run the command line; the process ends with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app()
