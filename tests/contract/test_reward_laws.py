"""Every reward law: its draws, mean and distribution function against scipy's."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem
from belated.delays import Fixed
from belated.specs.problems import problem_spec, read_problem
from support.draws import RARE, assert_frequencies, draw
from support.laws import REWARD_CASES, RewardCase, name

reward_cases = pytest.mark.parametrize("case", REWARD_CASES, ids=name)


@reward_cases
def test_reward_draws(case: RewardCase) -> None:
    rewards, _ = draw(case.law, Fixed(0), reward_range=case.reward_range)
    low, high = case.law.support
    rounding = 1e-12 * (rewards.max() - rewards.min())
    assert np.all((rewards >= low - rounding) & (rewards <= high + rounding))
    if case.law.atoms is None:
        assert ss.kstest(rewards, case.truth.cdf).pvalue > RARE
        assert ss.kstest(rewards, case.law.cdf).pvalue > RARE
        return
    atoms = sorted(case.law.atoms)
    if case.law.support != (0.0, 1.0):  # mapped and back: up to rounding
        nearest = np.array(atoms)[np.abs(np.subtract.outer(rewards, atoms)).argmin(axis=1)]
        np.testing.assert_allclose(rewards, nearest, atol=rounding)
        rewards = nearest
    values, counts = np.unique(rewards, return_counts=True)
    assert set(values) <= set(atoms)
    found = np.array([dict(zip(values, counts, strict=True)).get(atom, 0) for atom in atoms])
    assert_frequencies(found, np.diff(np.concatenate([[0.0], case.truth.cdf(np.array(atoms))])))


@reward_cases
def test_reward_mean_and_distribution_function(case: RewardCase) -> None:
    low, high = case.law.support if case.reward_range is None else case.reward_range
    assert case.law.mean == pytest.approx(case.truth.mean(), rel=1e-14, abs=1e-15)
    spread = low + (high - low) * np.linspace(-0.5, 1.5, 4001)
    x = np.concatenate([spread, list(case.law.atoms or []), [-np.inf, np.inf]])
    np.testing.assert_allclose(case.law.cdf(x), case.truth.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(float(case.law.cdf(0.4)), float(case.truth.cdf(0.4)), rtol=1e-12, atol=1e-15)
    if case.law.atoms is not None:
        assert math.fsum(case.law.atoms.values()) == pytest.approx(1.0, abs=1e-15)
        mean = math.fsum(v * p for v, p in case.law.atoms.items())
        assert mean == pytest.approx(case.law.mean, rel=1e-12, abs=1e-15)


@reward_cases
def test_specs_in_both_directions(case: RewardCase) -> None:
    problem = Problem([case.law] * 2, Fixed(3), reward_range=case.reward_range)
    spec = problem_spec(problem)
    again = read_problem(json.loads(json.dumps(spec)))
    assert isinstance(again, Problem)
    assert problem_spec(again) == spec
    assert again.scale == problem.scale
    assert again.means.tolist() == problem.means.tolist()
