"""``belated arena``: compare all policies on all kinds of delays."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from belated.atomic_output import StagedOutput
from belated.cli import completion
from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    finished_part,
    interrupted_once,
    note_written,
    progress_bar,
)
from belated.cli.json_output import arena_data, print_json, scenario_data, written
from belated.cli.options import Device, Json, Quiet, Workers
from belated.cli.submissions import play_submissions, verify_submissions
from belated.errors import ConfigurationError
from belated.formatting import duration

if TYPE_CHECKING:
    from belated.studies.arena import Scenario
    from belated.studies.arena.scores import Scores
    from belated.studies.runner import RunnerStep

OUT = Path("out/arena")


def command(
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Scenarios by name or pattern, such as fixed-*; by default all.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Policies by name or label, such as UCB,SE; by default all.",
            autocompletion=completion.policy_list,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE:CLASS", help="Your own policy as another contestant: package.module:MyPolicy."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Runs per scenario; by default as many as necessary.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same result.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Output folder.")] = OUT,
    workers: Workers = None,
    device: Device = "cpu",
    long: Annotated[bool, typer.Option("--long", help="Those of a million rounds instead; take a GPU.")] = False,
    development: Annotated[bool, typer.Option("--development", help="Leave out the held-out scenarios.")] = False,
    submissions: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Check and play submitted policies instead, and write their records."),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Play submitted policies again, and compare with their records."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the scenarios, and exit.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare all policies on all kinds of delays."""
    with error_messages():
        from belated.specs.tables import find_modules_beside
        from belated.studies.arena import contestants, play, scenarios
        from belated.studies.arena.scores import write

        chosen = scenarios(_split("rows", rows) or ["*"], long=long)
        chosen = [scenario for scenario in chosen if not (development and scenario.held_out)]
        if listed:
            if json:
                print_json({"scenarios": list(map(scenario_data, chosen))})
            else:
                _list(chosen)
            return
        if submissions is not None or verify is not None:
            _refuse_beside(submissions is not None and verify is not None, policies, policy, runs, seed)
            play_them = play_submissions if submissions is not None else verify_submissions
            play_them(submissions or verify or OUT, chosen, workers, device, json, quiet)
            return
        find_modules_beside(Path("here"))  # the user's own policy may be in the current folder
        players = contestants(_split("policies", policies), _split("policy", policy))
        started = time.perf_counter()
        with StagedOutput(out) as stage, interrupted_once():
            with progress_bar(quiet) as bar:

                def watch(step: RunnerStep) -> None:
                    if bar is not None:
                        position = f"{step.finished + 1}/{len(chosen)} {step.study}"
                        bar.show(step.progress, f"{position}, {step.runs:,} runs")

                start = partial(play, runs=runs, seed=seed, workers=workers, device=device, watch=watch)
                scores, interrupted = finished_part(lambda: start(chosen, players), "scores")
            write(stage, scores)
            names = stage.commit()
        if json:
            print_json(arena_data(scores) | {"seed": seed} | written(out, names, interrupted))
        elif not quiet:
            _show(scores, out, time.perf_counter() - started)
            note_written(f"{out}: {', '.join(names)}")
        if interrupted is not None:
            exit_interrupted(f"{interrupted} They are in {out}.", "")


def _refuse_beside(both: bool, policies: object, policy: object, runs: int | None, seed: int) -> None:
    """Refuse options that mean nothing beside submitted policies."""
    if both:
        raise ConfigurationError("submissions and verify are both given; give one of them.")
    given = {"policies": policies, "policy": policy, "runs": runs, "seed": seed or None}
    for option, value in given.items():
        if value is not None:
            raise ConfigurationError(
                f"{option} is given beside submitted policies, which are played alone, with fixed runs and a fixed "
                f"seed; omit --{option}."
            )


def _split(option: str, names: list[str] | None) -> list[str]:
    """Split names at commas; an error if an option names nothing."""
    for name in names or []:
        if not name.replace(",", "").strip():
            raise ConfigurationError(
                f"{option} is {name!r}, which names nothing; give at least one name, or omit --{option}."
            )
    return [part.strip() for name in names or [] for part in name.split(",") if part.strip()]


def _show(scores: Scores, out: Path, spent: float) -> None:
    from belated.cli.tables import ranking_table, ratio_table

    screen = console()
    ratios = ratio_table(scores, screen.width)
    if ratios is not None:
        screen.print(ratios)
        screen.print()
    else:
        screen.print(f"The table of ratios needs a wider terminal; it is in {out / 'arena.md'}.\n", style="dim")
    screen.print(ranking_table(scores, screen.width))
    precision = f" {scores.precision}" if scores.precision else ""
    screen.print(
        f"\nRegret divided by the smallest regret of each scenario; geometric means.{precision} "
        f"{int(scores.runs.sum()):,} runs in {duration(spent)}.",
        style="dim",
    )


def _list(scenarios: list[Scenario]) -> None:
    screen = console()
    for kind in dict.fromkeys(scenario.kind for scenario in scenarios):
        screen.print(Text(f"\n{kind}", style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for scenario in scenarios:
            if scenario.kind == kind:
                held_out = (" (held out)", "dim") if scenario.held_out else ""
                table.add_row(Text(scenario.name, style="bold"), Text.assemble(scenario.reason, held_out))
        screen.print(table)
