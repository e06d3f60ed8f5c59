"""``belated reproduce``: run the paper's experiments and test its claims."""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from belated.cli.console import (
    console,
    error_messages,
    exit_interrupted,
    finished_part,
    interrupted_once,
    note_written,
    plain_table,
    progress_bar,
)
from belated.cli.options import Device, Quiet, Workers
from belated.formatting import compact, duration

if TYPE_CHECKING:
    from belated.studies.experiments import ExperimentFile
    from belated.studies.reproduce import ExperimentOutcome
    from belated.studies.runner import RunnerStep

OUT = Path("out/paper")
STYLES = {"holds": "bold green", "fails": "bold red", "undecided": "bold yellow"}


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Experiments: see --list; by default the whole paper."),
    ] = None,
    fraction: Annotated[
        float, typer.Option(metavar="F", help="Play only this fraction of the runs; 0.05 is a quick look.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same result.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for results and report.")] = OUT,
    workers: Workers = None,
    device: Device = "cpu",
    listed: Annotated[bool, typer.Option("--list", help="List the experiments, and exit.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play everything again, also what is finished.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's experiments and test its claims."""
    with error_messages():
        from belated.studies.experiments import select
        from belated.studies.report import Report, summarize
        from belated.studies.report.phrasing import tally
        from belated.studies.reproduce import reproduce

        if listed:
            _list(select(names or ["all"]))
            return
        experiments = select(names or [])
        started = time.perf_counter()
        numbers = {experiment.name: number for number, experiment in enumerate(experiments, 1)}
        with interrupted_once(), Report(out) as report:
            with progress_bar(quiet) as bar:

                def watch(step: RunnerStep) -> None:
                    if bar is not None:
                        position = f"{numbers[step.experiment]}/{len(numbers)} {step.experiment}"
                        bar.show(step.progress, f"{position}, {step.study}, {step.runs:,} runs")

                def done(outcome: ExperimentOutcome) -> None:
                    with bar.hidden() if bar is not None else nullcontext():
                        report.add(outcome)
                        if not quiet:
                            _show(outcome)

                start = partial(reproduce, out=out, fraction=fraction, seed=seed, workers=workers, device=device)
                play = partial(start, experiments, fresh=fresh, watch=watch, done=done)
                outcomes, interrupted = finished_part(play, "outcomes")
            seconds = time.perf_counter() - started
            summary = summarize(outcomes, seed, fraction, seconds, interrupted is not None)
            page = report.finish(summary, outcomes)
        if not quiet:
            screen = console()
            screen.print()
            if sum(summary.paper.values()):
                screen.print(f"The paper's claims: {tally(summary.paper)}.", style="bold")
            if sum(summary.others.values()):
                screen.print(f"Other claims: {tally(summary.others)}.", style="bold")
            screen.print(
                f"{compact(summary.rounds)} rounds, played in {duration(summary.spent)}; this call took "
                f"{duration(time.perf_counter() - started)}. Nominal confidence of a claim: {summary.confidence}.",
                style="dim",
            )
            note_written(str(page))
        if interrupted is not None:
            exit_interrupted(str(interrupted), "")


def _show(outcome: ExperimentOutcome) -> None:
    from belated.studies.report.phrasing import MARKS, summary_line

    screen = console()
    screen.print(
        Text.assemble(
            ("\n" + outcome.experiment.name, "bold"),
            f"  {outcome.experiment.title} ",
            (f"({outcome.experiment.place})", "dim"),
        )
    )
    rows = Table.grid(padding=(0, 1))
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for verdict in outcome.verdicts:
        mark = Text(f"{MARKS[verdict.status]} {verdict.status}", style=STYLES[verdict.status])
        rows.add_row(mark, Text.assemble(verdict.claim.reading, ("\n" + summary_line(verdict), "dim")))
    screen.print(rows)


def _list(experiments: list[ExperimentFile]) -> None:
    table = plain_table()
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("title", overflow="fold")
    for name in ("claims", "runs", "at most", "rounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for experiment in experiments:
        studies = experiment.studies.values()
        rounds = sum(cell.horizon * study.runs * len(study.labels) for study in studies for cell in study.cells)
        table.add_row(
            experiment.name,
            Text(experiment.title),
            str(len(experiment.claims)),
            f"{max(study.runs for study in studies):,}",
            f"{max(study.max_runs for study in studies):,}",
            compact(rounds),
        )
    screen = console()
    screen.print(table)
    screen.print(
        "\nWhile a claim is undecided, runs are added up to the maximum. Rounds are those of the initial runs. Without "
        "a name, belated reproduce plays everything but robustness and beyond, which go further than the paper; all "
        "plays everything.",
        style="dim",
    )
