"""Of the kinds of tests about order and shape: evidence on which each holds, fails, is left open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from belated.studies.claims import ClaimTest, Evidence
from belated.studies.claims.order import Below, Best, NoneBelow, Ratio
from belated.studies.claims.trends import Crosses, Falls, Increase, Peak, PeakMovesRight, Rises, Slope, Steady
from synthetic import constant, grid


@dataclass(frozen=True)
class Trial:
    """One test before three kinds of evidence. The numbers are those of its findings where it holds."""

    kind: str
    test: ClaimTest
    numbers: tuple[float, ...]
    holds: Evidence
    fails: Evidence
    undecided: Evidence | None


NOISE = 200.0
"""A spread that hides every difference of the means below."""


# ---- along axes ----


def steps(*means: float, spread: float = 0.1, other: tuple[float, ...] = (), start: int = 0) -> Evidence:
    """Regret of A along the axis d = start, start + 1, ...; of B, where it is given."""

    def of(d: int) -> Mapping[str, float]:
        return {"A": means[d - start], **({"B": other[d - start]} if other else {})}

    return grid(of, spread, d=range(start, start + len(means)))


def three(*means: tuple[float, ...]) -> Evidence:
    """Regret of A, B and C along the axis d = 0, 1, ...; of D too, which is 0."""
    return grid(lambda d: {**{label: row[d] for label, row in zip("ABC", means, strict=True)}, "D": 0}, d=range(2))


def square(of: Callable[..., Mapping[str, float]], spread: float = 0.01) -> Evidence:
    return grid(of, spread, arms=(2, 4), d=(10, 30))


def gaps(*rows: tuple[float, ...], spread: float = 0.1) -> Evidence:
    """Regret of A at the gaps 0.1, 0.2, ...; a row for each of the tails 0, 1, ..."""
    return grid(
        lambda tail, gap: {"A": rows[tail][round(10 * gap) - 1]},
        spread,
        tail=range(len(rows)),
        gap=[j / 10 for j in range(1, len(rows[0]) + 1)],
    )


def top(*places: int) -> Evidence:
    """A clear peak in each row, at this place of five."""
    return gaps(*[tuple(5.0 - abs(j - place) for j in range(5)) for place in places])


def powers(power: float) -> Evidence:
    return grid(lambda d: {"A": 10 * d**power}, 0.5, d=(1, 10, 100))


ORDER = [
    Trial("below", Below("A", "B"), (-1,), constant(A=1, B=2), constant(A=2, B=1), constant(NOISE, A=1, B=2)),
    Trial("below", Below("A", "B", 0.5), (-0.5,), constant(A=1, B=3), constant(A=1, B=1.5), constant(NOISE, A=1, B=3)),
    Trial(
        "below",
        Below("A", "B"),
        (-1, -1, -1),
        steps(1, 1, 1, other=(2, 2, 2)),
        steps(1, 1, 2, other=(2, 2, 1)),
        steps(1, 1, 2, other=(2, 2, 2)),
    ),
    Trial(
        "best",
        Best("A"),
        (-1, -2),
        constant(A=1, B=2, C=3),
        constant(A=2, B=3, C=1),
        constant(A=2, B=3, C=2),
    ),
    Trial(
        "best",
        Best("B", among=("C", "A")),
        (-1, -1, -2, -3),
        three((5, 6), (3, 3), (4, 4)),
        three((5, 2), (3, 3), (4, 4)),
        three((5, 6), (3, 3), (4, 3)),
    ),
    Trial(
        "none below",
        NoneBelow("B"),
        (1, 2),
        constant(A=3, B=2, C=4),
        constant(A=3, B=2, C=1),
        constant(A=3, B=2, C=2),
    ),
    Trial(
        "none below",
        NoneBelow("B", 0.5, among=("C",)),
        (1.5, 0.5),
        three((1, 1), (5, 5), (4, 3)),
        three((9, 9), (5, 5), (4, 2)),
        three((9, 9), (5, 5), (2.5, 4)),
    ),
    Trial("ratio", Ratio("A", "B", 3, 5), (4,), constant(A=4, B=1), constant(A=6, B=1), constant(NOISE, A=400, B=99)),
    Trial("ratio", Ratio("A", "B", low=3), (6,), constant(A=6, B=1), constant(A=2, B=1), constant(A=3, B=1)),
    Trial("ratio", Ratio("A", "B", high=3), (2,), constant(A=2, B=1), constant(A=6, B=1), constant(A=3, B=1)),
    Trial(
        "ratio",
        Ratio("A", "B", 1, 3, pooled=True),
        (2,),
        steps(10, 30, other=(19, 1)),
        steps(40, 30, other=(19, 1)),
        steps(10, 30, other=(19, 1), spread=NOISE),
    ),
    Trial(
        "ratio",
        Ratio("A", "B", 1, 3),
        (2, 2),
        steps(20, 40, other=(10, 20)),
        steps(10, 30, other=(19, 1)),
        steps(20, 40, other=(10, 20), spread=NOISE),
    ),
    Trial("rises", Rises("A", "d"), (2, 1.5), steps(2, 4, 6), steps(2, 4, 3), steps(2, 4, 4)),
    Trial("rises", Rises("A", "d", 1.4), (2, 1.5), steps(2, 4, 6), steps(2, 4, 5), steps(20, 40, 60, spread=NOISE)),
    Trial("rises", Rises("A", "d", 2, steps=False), (3,), steps(2, 1, 6), steps(2, 5, 3), steps(2, 1, 4)),
    Trial(
        "rises",
        Rises("A", "d"),
        (3,),
        square(lambda arms, d: {"A": arms * d}),
        square(lambda arms, d: {"A": arms * (40 - d)}),
        square(lambda arms, d: {"A": 1 + arms * (20 - d) ** 2}),
    ),
    Trial("falls", Falls("A", "d", 1), (2, -1, -2), steps(2, 4, 3, 1), steps(2, 4, 3, 5), steps(2, 4, 3, 3)),
    Trial("falls", Falls("A", "d", 2), (2, 1), steps(2, 4, 5), steps(2, 4, 3), steps(2, 4, 5, spread=NOISE)),
    Trial("falls", Falls("A", "d", 0), (-1, -1), steps(5, 4, 3), steps(5, 6, 3), steps(5, 5, 3)),
    Trial(
        "falls",
        Falls("A", "d", 10),
        (-60,),
        square(lambda arms, d: {"A": arms * (40 - d)}),
        square(lambda arms, d: {"A": arms * d}),
        square(lambda arms, d: {"A": 1 + arms * (20 - d) ** 2}),
    ),
    Trial("steady", Steady("A", "d", 0.25), (1.1, 0.8), steps(10, 11, 8), steps(10, 11, 13), steps(10, 12.5, 10)),
    Trial("steady", Steady("A", "d", 0.25), (1.1,), steps(10, 11), steps(10, 7), steps(10, 7.5)),
    Trial(
        "crosses",
        Crosses("A", "B", "d", 1, 3),
        (2, 1, -2),
        steps(4, 4, 4, 4, other=(2, 3, 3.9, 6)),
        steps(4, 4, 4, 4, other=(2, 5, 5, 6)),
        steps(4, 4, 4, 4, other=(2, 3, 5, 4)),
    ),
    Trial(
        "crosses",
        Crosses("A", "B", "d", 0, 1),
        (1, -1),
        steps(4, 4, other=(3, 5)),
        steps(4, 4, other=(3, 2)),
        steps(4, 4, other=(4, 5)),
    ),
    Trial(
        "increase",
        Increase("A", "d", 1.5, 2.5),
        (2,),
        steps(1, 9, 5),
        steps(1, 5, 9),
        steps(1, 9, 5, spread=NOISE),
    ),
    Trial(
        "increase",
        Increase("A", "d", 0.4, 0.6, per="arms"),
        (0.5, 0.5),
        square(lambda arms, d: {"A": 0.5 * arms * d}),
        square(lambda arms, d: {"A": 0.5 * d}),
        square(lambda arms, d: {"A": 0.6 * arms * d}),
    ),
]

FLAT_TOP = gaps((1, 2, 2, 1), (1, 1, 2, 2))
"""The peak is at 0.2 or 0.3, then at 0.3 or 0.4."""

SHAPE = [
    Trial("peak", Peak("A", "gap", 0.3, 0.4), (2, 1, 2), top(2), top(1), gaps((1, 2, 4, 3, 4))),
    Trial("peak", Peak("A", "gap", 0.3, 0.3), (2, 1, 1, 2), top(2), top(4), gaps((5, 4, 4.99, 3, 2))),
    Trial(
        "peak moves right",
        PeakMovesRight("A", "gap", "tail", 0.0),
        (0.1, 0.1, 0.2),
        top(1, 2, 3),
        top(1, 3, 2),
        FLAT_TOP,
    ),
    Trial(
        "peak moves right",
        PeakMovesRight("A", "gap", "tail", 0.15),
        (0.2, -0.1, 0.1),
        top(1, 3, 2),
        top(2, 3, 2),
        FLAT_TOP,
    ),
    Trial(
        "peak moves right",
        PeakMovesRight("A", "gap", "tail", 0.05),
        (0.0, 0.1, 0.1),
        top(1, 1, 2),
        top(1, 3, 2),
        FLAT_TOP,
    ),
    Trial("slope", Slope("A", "d", 0.4, 0.6), (0.5,), powers(0.5), powers(1.0), powers(0.6)),
    Trial(
        "slope",
        Slope("A", "d", 0.4, 0.6),
        (0.5, 0.5),
        square(lambda arms, d: {"A": arms * d**0.5}),
        square(lambda arms, d: {"A": d ** (arms / 4)}),
        square(lambda arms, d: {"A": arms * d**0.4}),
    ),
]
