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

from belated.cli import completion
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
from belated.cli.json_output import experiment_data, print_json, written
from belated.cli.options import Device, Json, Quiet, Workers
from belated.formatting import compact, duration

if TYPE_CHECKING:
    from belated.studies.claims import Status
    from belated.studies.experiments import ExperimentFile
    from belated.studies.reproduce import ExperimentOutcome
    from belated.studies.runner import RunnerStep

OUT = Path("out/paper")
STYLES = {"holds": "bold green", "fails": "bold red", "undecided": "bold yellow", "arithmetic": "bold blue"}


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Experiments: see --list; by default the whole paper. Your own is FILE.toml, or - for standard input.",
            autocompletion=completion.experiments,
        ),
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
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's experiments and test its claims."""
    with error_messages():
        from belated.studies.experiments import select
        from belated.studies.report import Report, report_data, summarize
        from belated.studies.report.phrasing import PROVISIONAL, is_provisional, tally
        from belated.studies.reproduce import reproduce
        from belated.studies.study import ENOUGH_RUNS

        if listed:
            chosen = select(names or ["all"])
            if json:
                print_json({"experiments": list(map(experiment_data, chosen))})
            else:
                _list(chosen)
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
                        if not (quiet or json):
                            _show(outcome)

                start = partial(reproduce, out=out, fraction=fraction, seed=seed, workers=workers, device=device)
                play = partial(start, experiments, fresh=fresh, watch=watch, done=done)
                outcomes, interrupted = finished_part(play, "outcomes")
            seconds = time.perf_counter() - started
            summary = summarize(outcomes, seed, fraction, seconds, interrupted is not None)
            page = report.finish(summary, outcomes)
        if json:
            print_json(report_data(summary, outcomes) | written(out, ["report/index.html"], interrupted))
        elif not quiet:
            screen = console()
            screen.print()
            if sum(summary.paper.values()):
                screen.print(f"The paper's sentences: {tally(summary.paper)}.", style="bold")
            if sum(summary.others.values()):
                screen.print(f"Other sentences: {tally(summary.others)}.", style="bold")
            if any(is_provisional(verdict) for outcome in outcomes for verdict in outcome.verdicts):
                screen.print(f"Verdicts from fewer than {ENOUGH_RUNS:,} runs are provisional: {PROVISIONAL}.")
            screen.print(
                f"{compact(summary.rounds)} rounds, played in {duration(summary.spent)}; this call took "
                f"{duration(time.perf_counter() - started)}. Confidence of a test: {summary.confidence}.",
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
    for one in outcome.sentences:
        quoted = one.sentence if one.own else f"“{one.sentence}”"
        rows.add_row(_mark(one.status), Text(quoted, style="bold"))
        for verdict in one.tests:
            mark = Text("") if len(one.tests) == 1 else Text(f"  {MARKS[verdict.status]}", STYLES[verdict.status])
            rows.add_row(mark, Text.assemble(verdict.claim.reading, ("\n" + summary_line(verdict), "dim")))
    screen.print(rows)


def _mark(status: Status) -> Text:
    from belated.studies.report.phrasing import MARKS

    return Text(f"{MARKS[status]} {status}", style=STYLES[status])


def _list(experiments: list[ExperimentFile]) -> None:
    table = plain_table()
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("title", overflow="fold")
    for name in ("sentences", "runs", "at most", "rounds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in map(experiment_data, experiments):
        table.add_row(
            row["name"],
            Text(row["title"]),
            str(row["sentences"]),
            f"{row['runs']:,}",
            f"{row['max_runs']:,}",
            compact(row["rounds"]),
        )
    screen = console()
    screen.print(table)
    screen.print(
        "\nWhile a claim is undecided, runs are added up to the maximum. Rounds are those of the initial runs. Without "
        "a name, belated reproduce plays everything but robustness and beyond, which go further than the paper; all "
        "plays everything.",
        style="dim",
    )
