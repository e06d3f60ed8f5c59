"""Which way the engine plays, and how to make it take the general one."""

from __future__ import annotations

from typing import Any

import pytest

from belated.engine import feedback_boxes, runner


def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which the name of the function is added with which a policy is played."""
    called: list[str] = []
    call = runner._call

    def noted(function: Any, *given: Any) -> int:
        called.append(function.__name__)
        return call(function, *given)

    monkeypatch.setattr(runner, "_call", noted)
    return called


def only_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """All problems are played in a wheel, as those that no other way is for."""
    monkeypatch.setattr(runner, "LONGEST_RING", 0)
    monkeypatch.setattr(feedback_boxes, "LARGEST_BITS", -1)
