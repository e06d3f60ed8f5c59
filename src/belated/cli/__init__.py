"""The command line: ``belated`` and ``python -m belated``.

A command imports what it needs when it runs, so that ``--help`` starts quickly."""

from __future__ import annotations

import contextlib
import sys
from typing import Annotated

import typer

from belated._version import __version__
from belated.cli import arena, bounds, catalogue, help_text, reproduce, service, simulate

app = typer.Typer(
    help=help_text.APP,
    rich_markup_mode="rich",
    add_completion=False,
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
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


app.command("policies", help=help_text.POLICIES)(catalogue.policies_command)
app.command("laws", help=help_text.LAWS)(catalogue.laws_command)
app.command("simulate", help=help_text.SIMULATE)(simulate.simulate_command)
app.command("sweep", help=help_text.SWEEP)(simulate.sweep_command)
app.command("plot", help=help_text.PLOT)(simulate.plot_command)
app.command("bounds", help=help_text.BOUNDS)(bounds.command)
app.command("reproduce", help=help_text.REPRODUCE)(reproduce.command)
app.command("arena", help=help_text.ARENA)(arena.command)
app.command("serve", help=help_text.SERVE)(service.serve_command)
app.command("verify", help=help_text.VERIFY)(service.verify_command)
app.command("import", help=help_text.IMPORT)(service.import_command)
app.command("demo", help=help_text.DEMO)(service.demo_command)
app.add_typer(service.keys_app, name="keys")


def main() -> None:
    """Run the command line; the process ends with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app()
