"""What the pictures of the documentation show is what the pages say of them."""

from __future__ import annotations

import pytest
from pages import ROOT

from belated.policies import UCB, OptimisticPessimisticElimination


def test_a_bracket_holds_where_an_interval_around_what_came_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    from brackets import DECISIONS, MEAN, STEP, known  # type: ignore[import-not-found]

    decisions, _, lower, upper = known(OptimisticPessimisticElimination(confidence=2.0)).T
    assert len(decisions) == DECISIONS // STEP
    assert ((lower <= MEAN) & (upper >= MEAN)).all()
    _, _, lower, upper = known(UCB(confidence=2.0)).T
    assert ((lower > MEAN) | (upper < MEAN)).mean() > 0.9
