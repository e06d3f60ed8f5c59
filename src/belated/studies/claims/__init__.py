"""Claims about results, each put to a statistical test: *holds*, *fails* or *undecided*, with the numbers."""

from belated.studies.claims import order, runs, theorems, trends  # noqa: F401  (they register their kinds of tests)
from belated.studies.claims.base import (
    TESTS,
    Case,
    Claim,
    ClaimTest,
    ClaimVerdict,
    Finding,
    SentenceVerdict,
    Status,
    Verdict,
    by_sentence,
)
from belated.studies.claims.evidence import Evidence

__all__ = [
    "TESTS",
    "Case",
    "Claim",
    "ClaimTest",
    "ClaimVerdict",
    "Evidence",
    "Finding",
    "SentenceVerdict",
    "Status",
    "Verdict",
    "by_sentence",
]
