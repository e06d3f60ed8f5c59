"""Which compiled loop the engine uses, and how to make it use the general one."""

from __future__ import annotations

from typing import Any

import pytest

from belated.engine import runner
from belated.engine.speculative import packed_wheel


def watch_loops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that collects the name of each loop that is called."""
    called: list[str] = []
    call = runner._call

    def recorded(loop: Any, *arguments: Any) -> int:
        called.append(loop.__name__)
        return call(loop, *arguments)

    monkeypatch.setattr(runner, "_call", recorded)
    return called


def only_timing_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play all problems with a timing wheel."""
    monkeypatch.setattr(runner, "LONGEST_RING", 0)
    monkeypatch.setattr(packed_wheel, "MAX_DELAY_BITS", -1)
