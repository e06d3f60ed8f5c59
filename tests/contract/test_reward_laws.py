"""Every reward law: its draws, mean and distribution function against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as ss

from belated.delays import Fixed
from support.draws import RARE, assert_frequencies, draw
from support.laws import REWARD_CASES, RewardCase, name

reward_cases = pytest.mark.parametrize("case", REWARD_CASES, ids=name)


@reward_cases
def test_reward_draws(case: RewardCase) -> None:
    rewards, _ = draw(case.law, Fixed(0))
    assert np.all((rewards >= 0.0) & (rewards <= 1.0))
    if case.law.atoms is None:
        assert ss.kstest(rewards, case.truth.cdf).pvalue > RARE
        assert ss.kstest(rewards, case.law.cdf).pvalue > RARE
        return
    atoms = sorted(case.law.atoms)
    values, counts = np.unique(rewards, return_counts=True)
    assert set(values) <= set(atoms)
    found = np.array([dict(zip(values, counts, strict=True)).get(atom, 0) for atom in atoms])
    assert_frequencies(found, np.diff(np.concatenate([[0.0], case.truth.cdf(np.array(atoms))])))


@reward_cases
def test_reward_mean_and_distribution_function(case: RewardCase) -> None:
    assert case.law.mean == pytest.approx(case.truth.mean(), abs=1e-15)
    x = np.concatenate([np.linspace(-0.5, 1.5, 4001), list(case.law.atoms or []), [-np.inf, np.inf]])
    np.testing.assert_allclose(case.law.cdf(x), case.truth.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(float(case.law.cdf(0.4)), float(case.truth.cdf(0.4)), rtol=1e-12)
    if case.law.atoms is not None:
        assert sum(case.law.atoms.values()) == pytest.approx(1.0, abs=1e-15)
        assert sum(v * p for v, p in case.law.atoms.items()) == pytest.approx(case.law.mean, abs=1e-15)
