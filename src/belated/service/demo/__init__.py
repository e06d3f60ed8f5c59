"""A demo server with simulated traffic: three experiments with late feedback, drawn from the package's delay laws.

The journal starts with a history of some hours; from then on simulated visitors send requests over HTTP."""

from __future__ import annotations

from collections.abc import Callable

from belated.service.demo.history import write_history
from belated.service.demo.traffic import DemoTraffic
from belated.service.serve import listen, serve
from belated.service.settings import Settings


def run_demo(settings: Settings, seed: int, on_ready: Callable[[str], None]) -> None:
    """Serve the demo until a signal; ``on_ready`` is called with the address."""
    with listen(settings) as listener:  # first, so that a port in use is reported at once
        write_history(settings.db, seed)
        traffic = DemoTraffic(settings.db, seed)

        def start(address: str) -> None:
            traffic.start(address)
            on_ready(address)

        try:
            serve(settings, start, listener)
        finally:
            traffic.stop()
