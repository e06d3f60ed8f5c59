"""Reading problems and families of problems; each error names the key."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from belated.errors import BelatedError, ConfigurationError
from belated.problem import Family, Problem
from belated.specs.arms import READERS, build_problem
from belated.specs.families import DeclaredFamily, is_random
from belated.specs.tables import fmt, mapping, reject_unknown


def read_problem(data: Any, at: str = "problem") -> Problem | Family:
    """A problem or a family from plain data."""
    values = mapping(data, at, "a table with rewards and delays")
    if "family" in values:
        reject_unknown(values, ("family",), at, "A problem with a family of its own")
        return _imported_family(values["family"], f"{at}.family")
    reject_unknown(values, ("rewards", "delays"), at, "A problem")
    for key in ("rewards", "delays"):
        if key not in values:
            raise ConfigurationError(f"{at}.{key} is missing; a problem needs rewards and delays.")
    if is_random(values):
        return DeclaredFamily(dict(values), at)
    read = {key: READERS[key](values[key], f"{at}.{key}") for key in ("rewards", "delays")}
    return build_problem(read["rewards"], read["delays"], at)


def _imported_family(name: Any, at: str) -> Family:
    module, _, function = str(name).partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:  # a user's module may fail in any way
        why = str(error) if isinstance(error, ImportError | AttributeError | ValueError) else repr(error)
        raise ConfigurationError(
            f"{at} is {fmt(name)}, which cannot be imported: {why}. Give 'package.module:function'."
        ) from error
    if not callable(found):
        raise ConfigurationError(f"{at} is {fmt(name)}, which is no function. Give 'package.module:function'.")
    try:
        drawn = found(np.random.default_rng(0))  # a mistake shows here, not in the middle of a simulation
    except Exception as error:
        why = str(error) if isinstance(error, BelatedError) else repr(error)
        raise ConfigurationError(f"{at} is {fmt(name)}, which failed when it was called: {why}") from error
    if not isinstance(drawn, Problem):
        raise ConfigurationError(f"{at} is {fmt(name)}, which returned {drawn!r}; it must return a Problem.")
    return found  # type: ignore[no-any-return]
