"""``belated reproduce``: the paper's experiments, and what it says about them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.console import INTERRUPTED, console, guarded, interrupted_once, note
from belated.cli.options import Quiet, Workers

if TYPE_CHECKING:
    from belated.studies.experiments import PaperExperiment
    from belated.studies.reproduce import ExperimentOutcome

OUT = Path("out/paper")
STYLES = {"holds": "bold green", "fails": "bold red", "undecided": "bold yellow"}


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="What to reproduce: see --list. All of the paper if left out."),
    ] = None,
    fraction: Annotated[
        float, typer.Option(metavar="F", help="Play this fraction of the repetitions: 0.05 is a quick look.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same bits.")] = 0,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where results and report go.")] = OUT,
    workers: Workers = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="Where it is played.")] = "cpu",
    listed: Annotated[bool, typer.Option("--list", help="Say what can be reproduced, and play nothing.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Play everything anew, also what is finished.")] = False,
    quiet: Quiet = False,
) -> None:
    """Play the paper's experiments, and test what it says about them."""
    with guarded():
        from belated.studies.experiments import chosen

        if listed:
            _list(chosen(names or ["all"]))
            return
        experiments = chosen(names or [])
        from belated.cli.reproducing import watched
        from belated.errors import ReproductionInterrupted
        from belated.studies.report import Report, summed
        from belated.studies.report.phrasing import tally
        from belated.studies.reproduce import reproduce

        started = time.perf_counter()
        stopped = None
        with interrupted_once(), Report(out) as report:

            def finished(outcome: ExperimentOutcome) -> None:
                report.add(outcome)
                if not quiet:
                    _show(outcome)

            try:
                with watched(experiments, quiet, finished) as (watch, done):
                    outcomes = reproduce(
                        experiments,
                        out=out,
                        fraction=fraction,
                        seed=seed,
                        workers=workers,
                        device=device,
                        fresh=fresh,
                        watch=watch,
                        done=done,
                    )
            except ReproductionInterrupted as error:
                if not error.outcomes:
                    raise
                stopped, outcomes = error, error.outcomes
            seconds = time.perf_counter() - started
            summary = summed(outcomes, seed, fraction, seconds, stopped is not None)
            page = report.finish(summary, outcomes)
        if not quiet:
            from belated.formatting import compact, duration

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
            note(str(page), "bold green", "wrote ")
        if stopped is not None:
            note(str(stopped), "bold yellow", "", stderr=True)
            raise typer.Exit(INTERRUPTED)


def _show(outcome: ExperimentOutcome) -> None:
    """The claims of an experiment, when it is finished."""
    from rich.table import Table
    from rich.text import Text

    from belated.studies.report.phrasing import MARKS, summary

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
    for judgement in outcome.judgements:
        mark = Text(f"{MARKS[judgement.status]} {judgement.status}", style=STYLES[judgement.status])
        told = Text.assemble(judgement.claim.reading, ("\n" + summary(judgement), "dim"))
        rows.add_row(mark, told)
    screen.print(rows)


def _list(experiments: list[PaperExperiment]) -> None:
    """What there is: names, claims, runs, rounds."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from belated.formatting import compact

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what", overflow="fold")
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
            f"{max(study.most for study in studies):,}",
            compact(rounds),
        )
    screen = console()
    screen.print(table)
    screen.print(
        "\nWhere a claim is undecided, runs are added up to the most. Rounds are those of the first runs. Without a "
        "name, belated reproduce plays all but robustness and beyond, which go further than the paper; all plays "
        "everything.",
        style="dim",
    )
