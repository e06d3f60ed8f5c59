"""``belated laws``: the rewards and delays that problems are made of."""

from __future__ import annotations

from typing import Annotated

import typer

from belated.cli.console import console, guarded


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Tell all about one law.")] = None,
) -> None:
    """List the reward and delay laws, or tell all about one."""
    with guarded():
        from belated.cli.catalogue import look_up, overview
        from belated.delays._base import DELAYS
        from belated.rewards._base import REWARDS

        screen = console()
        if name is not None:
            screen.print(*look_up(name, {"rewards": REWARDS, "delays": DELAYS}))
            return
        screen.print(overview("Reward laws: distributions on [0, 1]", REWARDS))
        screen.print(overview("Delay laws: distributions on 0, 1, 2, ..., never", DELAYS))
        screen.print("All about one of them: belated laws NAME", style="dim")
