"""``belated arena --submissions`` and ``--verify``: the policies that others submit to the leaderboard."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from belated.cli.console import console, note_written, progress_bar
from belated.cli.json_output import print_json
from belated.errors import ConfigurationError
from belated.formatting import plural

if TYPE_CHECKING:
    from belated.studies.arena import Scenario
    from belated.studies.runner import RunnerStep


def play_submissions(
    folder: Path, scenarios: Sequence[Scenario], workers: int | None, device: str, json: bool, quiet: bool
) -> None:
    """Check every submission of a folder, play it, and write its record; say where the one it replaces was not true."""
    from belated.studies.arena.submissions import play_record, read_submissions, replaced, write_record
    from belated.testing import check_policy

    written = {}
    for submission in read_submissions(folder):
        if not (json or quiet):
            console().print(f"{submission.name}: checking, then playing {len(scenarios)} scenarios")
        try:
            check_policy(submission.policy())
        except AssertionError as error:
            raise ConfigurationError(f"{submission.folder} breaks the contract of a policy: {error}") from error
        record = _watched(partial(play_record, submission, scenarios, workers=workers, device=device), scenarios, quiet)
        _tell(submission.name, replaced(submission, record))
        written[submission.name] = str(write_record(submission, record))
    if json:
        print_json({"records": written})
    elif not quiet:
        note_written(", ".join(written.values()))


def verify_submissions(
    folder: Path, scenarios: Sequence[Scenario], workers: int | None, device: str, json: bool, quiet: bool
) -> None:
    """Play what is recorded of every submission of a folder again; exit status 1 if something differs."""
    from belated.studies.arena.submissions import read_record, read_submissions, verify

    wrong = {}
    for submission in read_submissions(folder):
        record = read_record(submission)
        again = partial(verify, submission, record, scenarios, workers=workers, device=device)
        wrong[submission.name] = found = _watched(again, scenarios, quiet)
        if not json and not quiet:
            played = [scenario.name for scenario in scenarios if scenario.name in record.scenarios]
            console().print(f"{submission.name}: {_verdict(played, record.scenarios, found)}")
        if not json:
            _tell(submission.name, found)
    if json:
        print_json({"wrong": wrong, "same": not any(wrong.values())})
    if any(wrong.values()):
        raise typer.Exit(1)


def _verdict(played: Sequence[str], recorded: Collection[str], wrong: Collection[str]) -> str:
    """How many scenarios were played again, how many are wrong, and what else is."""
    from belated.studies.arena.submissions import POLICY, RECORD

    others = [name for name in wrong if name not in recorded]  # the file, the label, the seed
    count = len(wrong) - len(others)
    if any(name in (POLICY, RECORD) for name in others):
        return f"nothing was played, {' and '.join(others)} wrong"
    said = [f"{count} wrong"] if count else []
    said += [f"{name} wrong" for name in others]
    return ", ".join([plural(len(played), "scenario"), *(said or ["the same to the bit"])])


def _tell(submission: str, wrong: Mapping[str, str]) -> None:
    """Say what is wrong with a record."""
    for name, why in wrong.items():
        console(stderr=True).print(f"{submission}: {name} {why}.")


def _watched(play: Any, scenarios: Sequence[Scenario], quiet: bool) -> Any:
    """Call a function that takes ``watch``, with a progress bar."""
    with progress_bar(quiet) as bar:

        def watch(step: RunnerStep) -> None:
            if bar is not None:
                bar.show(step.progress, f"{step.finished + 1}/{len(scenarios)} {step.study}")

        return play(watch=watch)
