"""Print the delay laws of New York's building violations, by type, as the arena's ``real.toml`` has them.

``python docs/scripts/violation_delays.py VIOLATIONS.csv``; a line of the file has a type, an issue_date, a
disposition_date (empty while there is none) and now, the date of the download. The data are "DOB Violations" of New
York's open data. Delays are in days.

A law is 20 quantiles of the delays, by Kaplan and Meier's estimate, since young violations without a disposition may
still get one. The estimate ends where fewer than 20 violations are that old; what it leaves counts as never.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

QUANTILES, AT_RISK = 20, 20
TYPES = ("E", "LL6291", "C", "LBLVIO", "LL1081", "AEUHAZ1", "ACC1", "EVCAT1")
"""The eight types with the most violations."""


def delays_by_type(rows: Iterable[Mapping[str, str]]) -> dict[str, list[tuple[int, bool]]]:
    """Of each violation the days until its disposition, or until now where there is none; and whether there is one."""
    found = defaultdict(list)
    for row in rows:
        issued, ended = (date.fromisoformat(row[key] or row["now"]) for key in ("issue_date", "disposition_date"))
        found[row["type"]].append(((ended - issued).days, bool(row["disposition_date"])))
    return dict(found)


def quantile_table(
    sample: Sequence[tuple[int, bool]], quantiles: int = QUANTILES, at_risk: int = AT_RISK
) -> tuple[list[int], float]:
    """Equally likely delays that stand for a sample of (days, whether it ended then), and the share of never."""
    steps, left = [], 1.0  # (delay, share that has ended by then)
    for days in sorted({days for days, ended in sample if ended}):
        old = sum(other >= days for other, _ in sample)
        if old < at_risk:
            break
        left *= 1.0 - sum(other == days and ended for other, ended in sample) / old
        steps.append((days, 1.0 - left))
    levels = [(number + 0.5) / quantiles * (1.0 - left) for number in range(quantiles)]
    return [next(days for days, share in steps if share >= level) for level in levels], left


def main() -> None:
    """Print a law for each type."""
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        by_type = delays_by_type(csv.DictReader(file))
    for name in TYPES:
        delays, never = quantile_table(by_type[name])
        print(f'    {{law = "Empirical", delays = {delays}, never = {never:.3f}}},  # {name}')


if __name__ == "__main__":
    main()
