"""``belated policies``: what can be played."""

from __future__ import annotations

from typing import Annotated

import typer

from belated.cli.console import console, guarded

SYMBOLS = """Of an arm: m pulls, n answers that came (at least 1), S their sum. K arms, T the horizon.
c is confidence; without it, c = ln T. horizon is filled in by a simulation; delta matters to a
live bandit that knows neither confidence nor horizon."""


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Tell all about one policy.")] = None,
) -> None:
    """List the policies, or tell all about one."""
    with guarded():
        import belated.policies  # noqa: F401  (registers them)
        from belated.cli.catalogue import look_up, overview
        from belated.policies._base.policy import POLICIES

        screen = console()
        if name is not None:
            screen.print(*look_up(name, {"policies": POLICIES}))
            return
        screen.print(overview("Policies", POLICIES))
        screen.print(SYMBOLS.replace("\n", " "), style="dim")
        screen.print("All about one of them: belated policies NAME", style="dim")
