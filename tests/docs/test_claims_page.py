"""The page of claims has the current experiments."""

from __future__ import annotations

import pytest
from pages import ROOT

from belated.studies.experiments import NAMES, load

PAGE = (
    (ROOT / "docs/claims.md").read_text(encoding="utf-8").replace("\\|", "|").replace("&lt;", "<").replace("&amp;", "&")
)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_claim(name: str) -> None:
    experiment = load(name)
    assert f"## {name}: {experiment.title}" in PAGE, "run make claims"
    missing = [claim.reading for claim in experiment.claims if claim.reading not in PAGE]
    assert not missing, "run make claims"


def test_the_page_is_of_a_whole_reproduction() -> None:
    assert "quick look" not in PAGE
    claims = sum(len(load(name).claims) for name in NAMES)
    rows = [line for line in PAGE.splitlines() if line.startswith(("| ✓ holds |", "| ✗ fails |", "| ? undecided |"))]
    assert len(rows) == claims
