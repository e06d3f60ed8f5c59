"""Results as small HTML tables, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from belated.formatting import percentage, plural, plus_minus, quantity
from belated.html_table import cut, html_table, join, swatch
from belated.simulation.standard_error import standard_error
from belated.simulation.styles import styles_of

if TYPE_CHECKING:
    from belated.simulation.result import Result


def result_table(result: Result) -> str:
    """Regret at the horizon and what became of the feedback, one row per policy."""
    styles = styles_of(result.labels)
    shown, hidden = cut(len(result.labels))
    rows = []
    for number in shown:
        final = result.final[number]
        stderr = float(standard_error(final))
        low, high = np.quantile(final, (0.05, 0.95))
        pulls = int(result.pulls[number].sum(dtype=np.int64))
        shares = [int(array[number].sum(dtype=np.int64)) for array in (result.observed, result.in_flight, result.lost)]
        label = result.labels[number]
        rows.append(
            [
                join(swatch(styles[label].colour), label),
                plus_minus(float(final.mean()), stderr),
                f"{quantity(float(low))} to {quantity(float(high))}",
                *(percentage(share, pulls) for share in shares),
            ]
        )
    columns = ["policy", "regret ± s.e.", "5% to 95%", "observed", "in flight", "lost"]
    title = f"{plural(result.runs, 'run')} of {plural(result.horizon, 'round')}, {plural(result.pulls.shape[2], 'arm')}"
    note = "pseudo-regret at the horizon; the last three columns say what became of the feedback"
    return html_table(title, columns, rows, note=note, hidden=hidden)
