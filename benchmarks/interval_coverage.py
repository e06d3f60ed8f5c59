"""How often the intervals of claims miss: on the experiments' own regrets, for several numbers of runs.

    python benchmarks/interval_coverage.py            writes the table of docs/notes/statistics.md

A large population of runs is played once (and kept in out/coverage-of-intervals); samples are drawn from it, with
replacement, so that the number that an interval should contain is known."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from belated.simulation.result import Result
from belated.studies.claims.evidence import BoundedMean, DeltaMethod, Estimate, log_slope, mean, ratio
from belated.studies.experiments import load
from belated.studies.runner import ResultCache, RunBatch, StudyRunner
from belated.studies.study import ENOUGH_RUNS, Study

ROOT = Path(__file__).parents[1]
NOTES = ROOT / "docs" / "notes" / "statistics.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
SEED = 77
RUNS = (100, 400, ENOUGH_RUNS, 4 * ENOUGH_RUNS)
RISK, SMALL = 1e-3, 1e-4
SAMPLES, LONG = 10_000, 3_000
"""Samples drawn, and of the largest size."""

Numbers = npt.NDArray[np.float64]
Estimator = Callable[..., Estimate]


def population(experiment: str, study: str, where: dict[str, Any], runs: int) -> tuple[Study, list[Result]]:
    """The cells of a study with many runs."""
    part, _ = load(experiment).studies[study].within(where)

    def all_cells() -> Generator[RunBatch, dict[int, Result], dict[int, Result]]:
        return (yield RunBatch(range(len(part.cells)), runs))

    with StudyRunner(seed=SEED, cache=ResultCache(ROOT / "out" / "coverage-of-intervals")) as runner:
        results = runner.run(part, all_cells(), experiment)
    return part, [results[cell] for cell in range(len(part.cells))]


def statistics() -> Iterator[tuple[str, Estimator, list[Numbers]]]:
    """What claims compare: its name, the estimate, and the numbers of each run that it is made of."""
    study, (none, some) = population("figure1", "bottom", {"delay": [0, 100]}, 12_000)
    ucb, se = (none.final[study.policy(label)].astype(np.float64) for label in ("UCB", "SE"))
    later = some.final[study.policy("UCB")].astype(np.float64)
    yield "Figure 1, no delay: UCB's regret", mean, [ucb]
    yield "the same: UCB less SE", lambda x, y: mean(x - y), [ucb, se]
    yield "the same: SE over UCB", ratio, [se, ucb]
    yield "UCB, delay 100 over delay 0", ratio, [later, ucb]
    yield "the same: slope between the logarithms", lambda x, y: log_slope([1.0, 100.0], [x, y]), [ucb, later]
    study, (near, far) = population("figure2", "pareto", {"gap": [0.04, 0.28]}, 40_000)
    first, second = (study.policy(label) for label in ("SE", "PB (1/2)"))
    yield "Figure 2, gap 0.04: SE less PB (1/2)", lambda x, y: mean(x - y), [near.final[first], near.final[second]]
    yield "Figure 2, SE: gap 0.28 less gap 0.04", lambda x, y: mean(x - y), [far.final[first], near.final[first]]
    study, (one, two) = population("theorem6", "before", {}, 20_000)
    number = study.policy("Thompson")
    shares = (result.pulls[number, :, 1] / one.horizon for result in (one, two))
    yield "Theorem 6, Thompson: share of pulls, I1 less I2", lambda x, y: BoundedMean(x - y, -1.0, 1.0), [*shares]


def missed(estimator: Estimator, data: list[Numbers], runs: int, samples: int) -> tuple[float, float, float, float]:
    """Shares of samples whose interval misses: with the risk, with the smaller one, and Student's alone; and the median
    of the interval's width over Student's."""
    truth, rng = estimator(*data).value, np.random.default_rng(runs)
    counts, widths = np.zeros(3), []
    for _ in range(samples):
        chosen = rng.integers(0, data[0].size, runs)
        estimate = estimator(*(numbers[chosen] for numbers in data))
        influence = estimate.influence if isinstance(estimate, DeltaMethod) else estimate.samples  # type: ignore[union-attr]
        half = float(stdtrit(runs - 1, 1.0 - RISK / 2.0)) * float(influence.std(ddof=1)) / math.sqrt(runs)
        ends = [*(estimate.interval(risk) for risk in (RISK, SMALL)), (estimate.value - half, estimate.value + half)]
        counts += [not low <= truth <= high for low, high in ends]
        widths.append((ends[0][1] - ends[0][0]) / (2.0 * half))
    with_risk, with_small, student = counts / samples
    return with_risk, with_small, student, float(np.median(widths))


def percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


def table() -> str:
    head = [f"{runs:,} runs" for runs in RUNS]
    lines = [
        f"| | skewness | {' | '.join(head)} | {ENOUGH_RUNS:,}: risk {SMALL:g} | Student's | width over Student's |",
        "|:--|--:" + "|--:" * (len(RUNS) + 3) + "|",
    ]
    for name, estimator, data in statistics():
        estimate = estimator(*data)
        influence = estimate.influence if isinstance(estimate, DeltaMethod) else estimate.samples  # type: ignore[union-attr]
        apart = influence - influence.mean()
        skewness = float((apart**3).mean() / (apart**2).mean() ** 1.5)
        found = {runs: missed(estimator, data, runs, LONG if runs > ENOUGH_RUNS else SAMPLES) for runs in RUNS}
        _, small, student, width = found[ENOUGH_RUNS]
        shares = " | ".join(percent(found[runs][0]) for runs in RUNS)
        line = f"| {name} | {skewness:.1f} | {shares} | {percent(small)} | {percent(student)} | {width:.2f} |"
        print(line, file=sys.stderr, flush=True)
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    text = NOTES.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    NOTES.write_text(f"{before}\n\n{table()}\n\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
