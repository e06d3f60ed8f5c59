"""The elementary functions against wider arithmetic, the samplers against scipy's distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.special
import scipy.stats

from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.math import beta_draw, exp, log, log_gamma_draw, normal_quantile

Reals = npt.NDArray[np.float64]
RARE = 1e-4
DRAWS = 40_000


@entry
def _logs(x: Any, out: Any) -> None:
    for place in range(x.shape[0]):
        out[place] = log(x[place])


@entry
def _exps(x: Any, out: Any) -> None:
    for place in range(x.shape[0]):
        out[place] = exp(x[place])


@entry
def _normals(x: Any, out: Any) -> None:
    for place in range(x.shape[0]):
        out[place] = normal_quantile(x[place])


@entry
def _gammas(shape: Any, z: Any, out: Any) -> None:
    for place in range(z.shape[0]):
        out[place] = log_gamma_draw(shape, z[place])[0]


@entry
def _betas(a: Any, b: Any, z: Any, out: Any) -> None:
    for place in range(z.shape[0]):
        out[place] = beta_draw(a, b, z[place])


def each(function: Any, x: Reals) -> Reals:
    out = np.zeros(len(x))
    with ignore_overflow():
        function(x, out)
    return out


def ulps(found: Reals, truth: npt.NDArray[np.longdouble]) -> float:
    """The largest error in units of the last place of the true value."""
    return float(np.max(np.abs(found - truth) / np.spacing(np.abs(truth.astype(np.float64)))))


wider = pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no type wider than float64")
_rng = np.random.default_rng(1)
POSITIVE = np.concatenate(
    [
        2.0 ** _rng.uniform(-1022, 1023, 50_000),
        _rng.uniform(0.5, 2.0, 50_000),
        1.0 + np.concatenate([2.0 ** -np.arange(1, 53), -(2.0 ** -np.arange(1, 54))]),
        np.arange(1, 5000, dtype=np.float64),
        2.0 ** np.arange(-1022, 1024),
        math.sqrt(0.5) * (1 + np.arange(-5, 6) * 2.0**-53),
        math.sqrt(2.0) * (1 + np.arange(-5, 6) * 2.0**-52),
        (np.arange(1000) + 0.5) * 2.0**-52,
        1.0 - (np.arange(1000) + 0.5) * 2.0**-52,
    ]
)


@wider
def test_log_to_two_units_in_the_last_place() -> None:
    assert ulps(each(_logs, POSITIVE), np.log(POSITIVE.astype(np.longdouble))) < 2.0


def test_log_of_one_is_zero() -> None:
    assert float(log(1.0)) == 0.0


@wider
def test_exp_to_two_units_in_the_last_place() -> None:
    x = np.concatenate([_rng.uniform(-700, 700, 100_000), _rng.uniform(-1, 1, 50_000), 2.0 ** -np.arange(60), [0.0]])
    assert ulps(each(_exps, x), np.exp(x.astype(np.longdouble))) < 2.0


def test_ends_of_exp() -> None:
    assert each(_exps, np.array([0.0, -0.0, -700.0000001, -1e300, -np.inf])).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert each(_exps, np.array([700.0, 701.0, 1e300, np.inf])).tolist() == [float(exp(700.0))] * 4


def test_log_and_exp_are_monotone() -> None:
    """Between neighbouring numbers too, but for the last bit or two."""
    for function, x in ((_logs, np.sort(POSITIVE)), (_exps, np.sort(_rng.uniform(-700, 700, 100_000)))):
        found = each(function, x)
        assert np.all(np.diff(found) >= -2.0 * np.spacing(np.abs(found[1:])))


def test_normal_quantile() -> None:
    tails = 2.0 ** -np.arange(2.0, 54.0)
    u = np.concatenate([_rng.uniform(0, 1, 100_000), tails, 1.0 - tails, 0.5 + np.linspace(-0.43, 0.43, 10_001)])
    u = u[(u > 0) & (u < 1)]
    np.testing.assert_allclose(each(_normals, u), scipy.special.ndtri(u), rtol=5e-15, atol=1e-17)
    assert float(normal_quantile(0.5)) == 0.0


def test_normal_quantile_is_odd() -> None:
    u = (np.arange(1, 2**12)) / 2**13
    assert np.array_equal(each(_normals, u), -each(_normals, 1.0 - u))


def words(seed: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, DRAWS, dtype=np.uint64)


@pytest.mark.parametrize("shape", [1e-4, 0.01, 0.3, 0.999, 1.0, 1.001, 2.5, 30.0, 1e4, 1e9])
def test_log_gamma_draws(shape: float) -> None:
    out = np.zeros(DRAWS)
    with ignore_overflow():
        _gammas(shape, words(5), out)
    assert scipy.stats.kstest(out, scipy.stats.loggamma(shape).cdf).pvalue > RARE


BETAS = [
    (1.0, 1.0),
    (0.5, 0.5),
    (2.0, 5.0),
    (0.05, 0.05),
    (1e-3, 1e-3),
    (1e-2, 8.0),
    (50.0, 0.2),
    (1.0, 1000.0),
    (300.0, 700.0),
    (2e5, 3e5),
    (1e8, 1e8),
    (1.0, 1e7),
]


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_beta_draws(a: float, b: float) -> None:
    """Counts between quantiles of scipy's Beta, away from the ends, where tiny shapes pile up on 0 and 1."""
    out = np.zeros(DRAWS)
    with ignore_overflow():
        _betas(a, b, words(6), out)
    assert np.all((out >= 0.0) & (out <= 1.0))
    law = scipy.stats.beta(a, b)
    edges = np.unique(law.ppf(np.linspace(0, 1, 41)[1:-1]))
    edges = edges[(edges > 1e-200) & (edges < 1.0 - 1e-9)]
    expected = DRAWS * np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    found = np.diff(np.concatenate([[0], np.searchsorted(np.sort(out), edges, side="right"), [DRAWS]]))
    assert scipy.stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > RARE
    z = (out.mean() - law.mean()) / (law.std() / math.sqrt(DRAWS))
    assert 2.0 * scipy.stats.norm.sf(abs(z)) > RARE


def test_neighbouring_words_give_independent_beta_draws() -> None:
    start = np.arange(DRAWS, dtype=np.uint64)
    out, after = np.zeros(DRAWS), np.zeros(DRAWS)
    with ignore_overflow():
        _betas(2.0, 3.0, start, out)
        _betas(2.0, 3.0, start + np.uint64(1), after)
    assert scipy.stats.kstest(out, scipy.stats.beta(2, 3).cdf).pvalue > RARE
    assert abs(np.corrcoef(out, after)[0, 1]) * math.sqrt(DRAWS) < scipy.stats.norm.isf(RARE / 2)
