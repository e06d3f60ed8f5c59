"""Every bound of the paper as a number for a problem, and its hard instances as problems.

Upper bounds: :func:`successive_elimination` (Theorem 2), :func:`phased_elimination` (3),
:func:`optimistic_pessimistic` (5) and the order of :func:`optimistic_ucb`. Our own, for policies that know which pull
an answer belongs to: :func:`prefix_elimination` and :func:`prefix_ucb`. Earlier work: :func:`joulani`, :func:`dudik`,
:func:`manegueu`, and the paper's :func:`table`. Lower bounds and the instances behind them: :func:`ucb_hard_instance`
(1), :func:`lower_bound_independent` with :func:`independent_hard_instance` (4), :func:`lower_bound_dependent` with
:func:`dependent_hard_pair` (6), and the :func:`reduction` of the appendix."""

from belated.theory.bound import Bound
from belated.theory.chosen import THEOREMS, bound_of
from belated.theory.earlier import TableRow, dudik, joulani, manegueu, table, without_delays
from belated.theory.lower import (
    dependent_hard_pair,
    independent_hard_family,
    independent_hard_instance,
    lower_bound_dependent,
    lower_bound_independent,
    ucb_hard_instance,
)
from belated.theory.prefix import prefix_elimination, prefix_ucb
from belated.theory.upper import (
    optimistic_pessimistic,
    optimistic_ucb,
    phased_elimination,
    successive_elimination,
)

__all__ = [
    "THEOREMS",
    "Bound",
    "TableRow",
    "bound_of",
    "dependent_hard_pair",
    "dudik",
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
