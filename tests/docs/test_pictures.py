"""The pictures of the documentation show what the pages say about them."""

from __future__ import annotations

import pytest
from pages import ROOT

from belated.policies import UCB, OptimisticPessimisticElimination


def test_a_bracket_holds_where_an_interval_around_what_came_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    from brackets import DECISIONS, MEAN, STEP, bounds_over_time  # type: ignore[import-not-found]

    decisions, _, lower, upper = bounds_over_time(OptimisticPessimisticElimination(confidence=2.0)).T
    assert len(decisions) == DECISIONS // STEP
    assert ((lower <= MEAN) & (upper >= MEAN)).all()
    _, _, lower, upper = bounds_over_time(UCB(confidence=2.0)).T
    assert ((lower > MEAN) | (upper < MEAN)).mean() > 0.9
