"""The commands of the service, run in this process."""

from __future__ import annotations

from typing import Any, NamedTuple

import structlog
from serving import only_warnings
from typer.testing import CliRunner

from belated.cli import app

ASKED = {"name": "e", "arms": ["a", "b"], "policy": {"name": "UCB"}}


class Ended(NamedTuple):
    """What became of a command."""

    returncode: int
    stdout: str
    stderr: str


def belated(*arguments: str, **surroundings: str) -> Ended:
    """Run a command to its end, in this process."""
    try:
        found = CliRunner().invoke(app, arguments, env=surroundings)
    finally:
        structlog.reset_defaults()
        only_warnings()
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return Ended(found.exit_code, found.stdout, found.stderr)


def mistake(ended: Any, said: str) -> None:
    """It ended with a message, not with a traceback."""
    assert ended.returncode == 2, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
