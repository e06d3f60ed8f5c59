"""Claims about results, each put to a statistical test: *holds*, *fails* or *undecided*, with the numbers."""

from belated.claims import change, counts, course, order, shape, theorems  # noqa: F401  (they list their kinds of tests)
from belated.claims.base import TESTS, Case, Claim, Judgement, Test
from belated.claims.evidence import Evidence
from belated.claims.judged import Finding, Judged, Status

__all__ = ["TESTS", "Case", "Claim", "Evidence", "Finding", "Judged", "Judgement", "Status", "Test"]
