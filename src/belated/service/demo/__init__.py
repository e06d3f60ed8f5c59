"""A server with traffic of its own: three experiments whose feedback comes late, made by the package's laws.

What happened before the server started is in the journal already, with the times that it would have had; from then on
the same visitors go on, over HTTP."""

from __future__ import annotations

from collections.abc import Callable

from belated.service.demo.history import make_history
from belated.service.demo.traffic import Traffic
from belated.service.serve import listen, serve
from belated.service.settings import Settings


def run_demo(settings: Settings, seed: int, listening: Callable[[str], None]) -> None:
    """Serve the demo until a signal says to end; ``listening`` is called with the address."""
    with listen(settings) as listener:  # before the work, which would be in vain where the port is taken
        make_history(settings.db, seed)
        traffic = Traffic(settings.db, seed)

        def begin(address: str) -> None:
            traffic.start(address)
            listening(address)

        try:
            serve(settings, begin, listener)
        finally:
            traffic.stop()
