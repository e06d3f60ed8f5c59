"""The table of New York's delays, by Kaplan and Meier, against numbers worked out by hand."""

from __future__ import annotations

from types import ModuleType

import pytest
from pages import ROOT


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    import violation_delays  # type: ignore[import-not-found]

    found: ModuleType = violation_delays
    return found


def test_delays_are_days_until_the_disposition_or_until_now(script: ModuleType) -> None:
    rows = [
        {"type": "E", "issue_date": "2017-01-01", "disposition_date": "2017-01-31", "now": "2018-01-01"},
        {"type": "E", "issue_date": "2017-12-30", "disposition_date": "", "now": "2018-01-01"},
        {"type": "C", "issue_date": "2017-12-31", "disposition_date": "2018-01-01", "now": "2018-01-01"},
    ]
    assert script.delays_by_type(rows) == {"E": [(30, True), (2, False)], "C": [(1, True)]}


def test_without_young_ones_quantiles_are_those_of_the_sample(script: ModuleType) -> None:
    sample = [(days, True) for days in (1, 2, 3, 4)] + [(100, False)] * 4
    assert script.quantile_table(sample, quantiles=4, at_risk=1) == ([1, 2, 3, 4], pytest.approx(0.5))


def test_one_that_is_too_young_to_tell_counts_as_long_as_it_is_there(script: ModuleType) -> None:
    """Two of four are closed on day 1, one is one day old, the last is closed on day 5: half of the rest."""
    sample = [(1, True), (1, True), (1, False), (5, True)]
    assert script.quantile_table(sample, quantiles=2, at_risk=1) == ([1, 5], 0.0)
    assert script.quantile_table(sample, quantiles=2, at_risk=2) == ([1, 1], 0.5)  # too few are left on day 5


def test_laws_of_the_arena_are_what_it_prints(script: ModuleType) -> None:
    text = (ROOT / "src" / "belated" / "studies" / "arena" / "data" / "real.toml").read_text(encoding="utf-8")
    for name in script.TYPES:
        laws = {line for line in text.splitlines() if line.endswith(f"# {name}")}
        (law,) = laws  # the same in each row
        assert law.startswith('    {law = "Empirical", delays = [')
        assert law.count(",") == 1 + script.QUANTILES + 1
