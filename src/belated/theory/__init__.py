"""Regret bounds: every theorem of the paper evaluated on a problem, and its hard instances as problems.

- Upper bounds: :func:`successive_elimination` (Theorem 2), :func:`phased_elimination` (3),
  :func:`optimistic_pessimistic` (5), the order of :func:`optimistic_ucb`; new with this package, for policies that know
  which pull the feedback belongs to, :func:`prefix_elimination`, :func:`prefix_ucb` and :func:`imputed`.
- Earlier work: :func:`joulani`, :func:`dudik`, :func:`manegueu`, and the paper's Table 1, :func:`table`.
- Lower bounds and the instances behind them: :func:`ucb_hard_instance` (1), :func:`lower_bound_independent` with
  :func:`independent_hard_instance` (4), :func:`lower_bound_dependent` with :func:`dependent_hard_pair` (6).
- :func:`bound_of` is the bound that applies to a policy."""

from belated.theory.bound import Bound, bound_of
from belated.theory.earlier import TableRow, dudik, joulani, manegueu, table, without_delays
from belated.theory.imputed import imputed
from belated.theory.lower import (
    dependent_hard_pair,
    independent_hard_family,
    independent_hard_instance,
    lower_bound_dependent,
    lower_bound_independent,
    ucb_hard_instance,
)
from belated.theory.prefix import prefix_elimination, prefix_ucb
from belated.theory.upper import optimistic_pessimistic, optimistic_ucb, phased_elimination, successive_elimination

__all__ = [
    "Bound",
    "TableRow",
    "bound_of",
    "dependent_hard_pair",
    "dudik",
    "imputed",
    "independent_hard_family",
    "independent_hard_instance",
    "joulani",
    "lower_bound_dependent",
    "lower_bound_independent",
    "manegueu",
    "optimistic_pessimistic",
    "optimistic_ucb",
    "phased_elimination",
    "prefix_elimination",
    "prefix_ucb",
    "successive_elimination",
    "table",
    "ucb_hard_instance",
    "without_delays",
]
