"""``belated arena``: every policy on every kind of delay."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.console import INTERRUPTED, console, guarded, interrupted_once, note
from belated.cli.options import Quiet, Workers

if TYPE_CHECKING:
    from belated.studies.arena import Scenario

OUT = Path("out/arena")


def command(
    rows: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Rows of these names; fixed-* is several. All if left out: see --list."),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Policies of these names or labels, such as UCB,SE. All if left out."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE:CLASS", help="A policy of your own enters too: package.module:MyPolicy."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Runs of each row. As many as are needed if left out.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same bits.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where table, picture and scores go.")] = OUT,
    workers: Workers = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where it is played.")] = "cpu",
    listed: Annotated[bool, typer.Option("--list", help="Say what rows there are, and play nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Play every policy on every kind of delay, and compare."""
    with guarded():
        from belated.studies.arena import scenarios as find

        chosen = find(_split("rows", rows) or ["*"])
        if listed:
            _list(chosen)
            return
        from belated.atomic_output import StagedOutput
        from belated.cli.arena_tables import ratios, standings
        from belated.cli.progress_bar import terminal_bar
        from belated.errors import ArenaInterrupted
        from belated.formatting import duration
        from belated.specs.toml import find_modules_beside
        from belated.studies.arena import contestants, play
        from belated.studies.arena.files import write

        find_modules_beside(Path("here"))  # a policy of the user's own may lie in the current folder
        players = contestants(_split("policies", policies), _split("policy", policy))
        started = time.perf_counter()
        stopped = None
        with StagedOutput(out) as stage, interrupted_once():
            try:
                with terminal_bar(quiet) as bar:
                    scores = play(
                        chosen,
                        players,
                        runs=runs,
                        seed=seed,
                        workers=workers,
                        device=device,
                        watch=None
                        if bar is None
                        else lambda step: bar[1](
                            f"{step.finished + 1}/{step.rows} {step.row}, {step.runs:,} runs", step.progress
                        ),
                    )
            except ArenaInterrupted as error:
                if error.scores is None:
                    raise
                stopped, scores = error, error.scores
            write(stage, scores)
            names = stage.commit()
        if not quiet:
            screen = console()
            whole = ratios(scores, screen.width)
            if whole is not None:
                screen.print(whole)
                screen.print()
            else:
                screen.print(f"The table of ratios needs a wider terminal; it is in {out / 'arena.md'}.\n", style="dim")
            screen.print(standings(scores, screen.width))
            precision = f" {scores.precision}" if scores.precision else ""
            screen.print(
                f"\nRegret over the least regret of each row; geometric means.{precision} "
                f"{int(scores.runs.sum()):,} runs of each policy in {duration(time.perf_counter() - started)}.",
                style="dim",
            )
            note(f"{out}: {', '.join(names)}", "bold green", "wrote ")
        if stopped is not None:
            note(f"{stopped} They are in {out}.", "bold yellow", "", stderr=True)
            raise typer.Exit(INTERRUPTED)


def _split(option: str, names: list[str] | None) -> list[str]:
    """Names may be given one by one, or with commas between them; an error where an option is given and none is in
    it."""
    from belated.errors import ConfigurationError

    for name in names or []:
        if not name.replace(",", "").strip():
            raise ConfigurationError(
                f"{option} is {name!r}, which names nothing; give a name or more, or leave --{option} out."
            )
    return [part.strip() for name in names or [] for part in name.split(",") if part.strip()]


def _list(rows: list[Scenario]) -> None:
    """What there is: names and reasons, by kind."""
    from rich.table import Table
    from rich.text import Text

    screen = console()
    for kind in dict.fromkeys(row.kind for row in rows):
        screen.print(Text(f"\n{kind}", style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for row in rows:
            if row.kind == kind:
                held = (" (held out)", "dim") if row.held else ""
                table.add_row(Text(row.name, style="bold"), Text.assemble(row.reason, held))
        screen.print(table)
