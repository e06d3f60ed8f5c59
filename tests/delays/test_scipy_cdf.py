"""Distribution functions of scipy.stats in tables: the same numbers as scipy's, in a fraction of the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats as ss
from scipy.stats import rv_continuous, rv_discrete

from belated.delays import FromScipy
from belated.delays._scipy_cdf import _InterpolatedCdf, scipy_cdf
from belated.kernel.law_table import LawTableBuilder
from belated.rewards import Bernoulli

HORIZON = 10**6


def table_of(frozen: Any, horizon: int = HORIZON) -> np.ndarray:
    """The distribution function that the engine draws from."""
    builder = LawTableBuilder(horizon)
    row = FromScipy(frozen).encode(builder, Bernoulli(0.5))
    return builder.build().real[row.i : row.i + row.j]


def zipf_cdf(a: float, last: np.ndarray) -> np.ndarray:
    """In closed form: Hurwitz' zeta function is the tail."""
    return 1.0 - scipy.special.zeta(a, last + 1.0) / scipy.special.zeta(a)


def count_points(owner: Any, name: str) -> list[int]:
    """From now on, at how many points each call of a function of the owner, or of itself alone, was computed."""
    counts: list[int] = []
    function = getattr(owner, name)

    def counted(x: Any, *more: Any) -> Any:
        counts.append(int(np.size(x)))
        return function(x, *more)

    setattr(owner, name, counted)
    return counts


@pytest.mark.parametrize("frozen", [ss.zipf(1.6), ss.betanbinom(5, 0.5, 1)])
def test_each_probability_of_a_long_table_is_computed_once_or_twice(frozen: Any) -> None:
    """In 0.1.0, every entry was a sum from 0 on, which took an hour."""
    probabilities, sums = count_points(frozen.dist, "_pmf"), count_points(frozen, "cdf")
    table = table_of(frozen)
    assert table.size <= sum(probabilities) <= 2 * HORIZON + 100
    assert sum(sums) < 10
    assert table.size == HORIZON + 1 or table[-1] >= 1.0 - 2.0**-53
    assert np.all(np.diff(table[1 << 15 :]) >= 0.0)
    for g in (40_000, 100_000, table.size - 1):
        assert table[g] == pytest.approx(float(frozen.cdf(g)), abs=2e-15)


def test_the_first_entries_are_scipys_own_to_the_last_bit() -> None:
    for frozen in (
        ss.zipf(1.6),
        ss.zipf(2.5, loc=3),
        ss.betanbinom(5, 9.3, 1),
        ss.nhypergeom(200, 90, 30),
        ss.logser(0.9),
    ):
        places = np.unique(np.geomspace(1, 20_001, 60).astype(int)) - 1
        table = table_of(frozen, 20_000)
        places = places[places < table.size]
        assert np.array_equal(table[places], frozen.cdf(places)), frozen.dist.name


def test_quantiles_reach_beyond_any_table() -> None:
    law = FromScipy(ss.zipf(1.6))
    far = np.array([2.0**22, 2.0**30, 2.0**40])
    assert law.cdf(far) == pytest.approx(zipf_cdf(1.6, far), abs=1e-13)
    for level in (0.5, 0.99, 0.9999, 1 - 1e-7):
        g = law.quantile(level)
        assert zipf_cdf(1.6, np.array(float(g))) >= level - 1e-13
        assert zipf_cdf(1.6, np.array(g * (1 - 1e-6) - 1)) < level
    assert law.expected == np.inf


class Ramp(rv_continuous):
    """A user's distribution that has only a density."""

    def _pdf(self, x: Any) -> Any:
        return 2.0 * (1.0 - x)


class Steps(rv_discrete):
    """A user's distribution that has only probabilities."""

    def _pmf(self, k: Any) -> Any:
        return 1.0 / ((k + 1.0) * (k + 2.0))


def test_own_distributions_need_only_a_density_or_probabilities() -> None:
    ramp = Ramp(a=0.0, b=1.0, name="ramp")(scale=30_000)
    x = (np.arange(30_000) + 1.0) / 30_000
    assert table_of(ramp) == pytest.approx(1.0 - (1.0 - x) ** 2, abs=1e-11)
    assert FromScipy(ramp).expected == pytest.approx(10_000 - 0.5, rel=1e-6)
    steps = Steps(a=0, name="steps")()
    table = table_of(steps, 100_000)
    assert table == pytest.approx(1.0 - 1.0 / (np.arange(100_001) + 2.0), abs=1e-14)


def test_integrals_are_interpolated_where_they_are_smooth() -> None:
    frozen = ss.geninvgauss(2.3, 1.5, scale=1000)
    table = table_of(frozen, 50_000)
    assert np.array_equal(table[:4000:400], frozen.cdf(np.arange(0, 4000, 400) + 1.0))
    places = np.linspace(4097, 50_000, 40).astype(int)
    assert table[places] == pytest.approx(frozen.cdf(places + 1.0), abs=1e-8)  # scipy's own has errors of 1e-9
    assert np.all(np.diff(table) >= 0.0)


def test_entries_behind_the_last_that_is_not_one_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = ss.expon(scale=2.0)
    before = frozen.cdf(np.arange(1.0, 4097.0))
    assert np.array_equal(table_of(frozen), before)
    asked: list[int] = []
    plain = frozen.cdf
    monkeypatch.setattr(frozen, "cdf", lambda x: (asked.append(np.size(x)), plain(x))[1])
    assert np.array_equal(table_of(frozen), before)
    assert sum(asked) < 500


@pytest.mark.slow
def test_no_distribution_of_scipy_takes_minutes() -> None:
    """With the parameters with which scipy tests them, and a scale of a thousand rounds: formulas and probabilities are
    computed a few times for each round, integrals for few rounds. (That of studentized_range takes 5 ms.)"""
    from scipy.stats._distr_params import distcont, distdiscrete

    horizon, slow = 100_000, []
    for name, parameters in [*distdiscrete, *distcont]:
        dist = getattr(ss, name) if isinstance(name, str) else name
        scales = (1.0, 1000.0) if isinstance(dist, rv_continuous) and name != "studentized_range" else (1.0,)
        for scale in scales:
            frozen = dist(*parameters, **({"scale": scale} if scale > 1.0 else {}))
            if not frozen.support()[0] >= 0.0:
                continue
            formulas = [count_points(frozen, "cdf"), count_points(frozen, "sf")]
            probabilities = count_points(frozen.dist, "_pmf") if isinstance(dist, rv_discrete) else []
            with np.errstate(all="ignore"):
                law = FromScipy(frozen)
                table_of(frozen, horizon)
                law.quantile(0.999)
                law.expected  # noqa: B018
            counts = sum(map(sum, formulas)), sum(probabilities)
            most = 20_000 if isinstance(scipy_cdf(frozen), _InterpolatedCdf) else 1_000_000
            if max(counts) > most:
                slow.append((name, parameters, scale, counts))
    assert slow == []
