"""A policy as plain Python, every step checked."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from belated.errors import BelatedError, PolicyError
from belated.kernel.helpers import reached_functions
from belated.kernel.pipeline import plain_python
from belated.kernel.rng import run_key, seed_words
from belated.own_code import is_own, is_own_file
from belated.policies._base import interface
from belated.policies._base.definition import HOOKS, kernel_methods
from belated.policies._base.encode import encode_policy
from belated.policies._base.index import IndexPolicy
from belated.policies._base.policy import Policy
from belated.policies._base.state import view
from belated.policies._check.arrays import Ledger, checked_state
from belated.policies._check.scan import has_while, reads
from belated.policies._mistakes import (
    MOST_STEPS,
    TWO_INDICES,
    Location,
    Mistake,
    code_of,
    endless,
    explain,
    location_in,
    location_of,
    policy_error,
    raise_from,
)

ROUNDS = 61
"""Rounds of a game: a prime, so that what counts rounds in secret is not back where it was after one."""

_FORMULAS = {"index", "index_at", "lower", "upper", "bonus", "bound_prefixes", "bound_keys", "bounds_at", "phase_done"}
_NUMBERS = {"index", "index_at", "lower", "upper", "bonus"}
_PAIRS = {"bound_prefixes", "bound_keys", "bounds_at"}


class _CheckedOwner:
    """A policy's class as interface functions see it: its static methods are called with checks around them."""

    def __init__(self, policy: type[Policy], ledger: Ledger) -> None:
        self._policy, self._ledger = policy, ledger

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._policy, name)
        if name not in HOOKS:
            return value
        checked = self._checked(name, value)
        setattr(self, name, checked)
        return checked

    def _checked(self, name: str, body: Any) -> Callable[..., Any]:
        ledger, is_users = self._ledger, is_own(body)

        def call(*arguments: Any) -> Any:
            before, ledger.formula = ledger.formula, ledger.formula or (name if name in _FORMULAS else "")
            try:
                result = body(*arguments)
            finally:
                ledger.formula = before
            if is_users and (wrong := _wrong_result(name, result)) is not None:
                raise _WrongResult(*wrong, body, arguments)
            return result

        return call


class _WrongResult(Mistake):
    """A static method returned what it must not."""

    def __init__(
        self, message: str, advice: str, body: Any, arguments: tuple[Any, ...], arm: int | None = None
    ) -> None:
        super().__init__(message, advice, arm)
        self.body, self.arguments = body, arguments

    def location(self) -> Location | None:
        """The line of its ``return``: it is called again, and watched."""
        lines: list[int] = []
        code = code_of(self.body)

        def watch(frame: Any, event: str, _: Any) -> None:
            if event == "return" and frame.f_code is code:
                lines.append(frame.f_lineno)

        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            self.body(*self.arguments)
        except Exception:  # another mistake, in the same place
            lines.clear()
        finally:
            sys.setprofile(before)
        return location_of(self.body, lines[-1] if lines else None)


def _wrong_result(name: str, result: Any) -> tuple[str, str] | None:
    """What is wrong with what a static method returned, and the advice; None if nothing is."""
    if name in _PAIRS and not (isinstance(result, tuple) and len(result) == 2):
        return f"{name} returned {result!r}", "Return two numbers, such as return a, b."
    for value in result if name in _PAIRS else (result,) if name in _NUMBERS else ():
        if isinstance(value, np.ndarray):
            return f"{name} returned an array, {value!r}", TWO_INDICES
        if not _is_number(value):
            return f"{name} returned {value!r}, which is not a number", "Return one number in every case."
        if math.isnan(value):
            advice = (
                "Treat the case in which there is nothing to compute from first; math.inf puts an arm ahead of all."
            )
            return f"{name} returned NaN", advice
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating | np.bool_)


class CheckedGame:
    """One run of a policy as plain Python, every step checked; ``game.choose()``, ``game.observe(...)`` as in a live
    bandit."""

    def __init__(self, policy: Policy, arms: int, horizon: int | None, seed: int = 0, run: int = 0) -> None:
        self.policy, self.arms = policy, arms
        self.now = 1
        self._ledger = Ledger(policy)
        self._may_be_endless = has_while(reached_functions(kernel_methods(type(policy))))
        plain = encode_policy(policy, arms)
        attributes = {"__slots__": (), "owner": _CheckedOwner(type(policy), self._ledger)}
        self.parameters = type(type(plain).__name__, (type(plain),), attributes)(*plain)
        with self._playing("memory"):
            self.state = checked_state(policy, arms, horizon, self._ledger)
            words = seed_words(seed)
            self.state.key.view(np.ndarray)[:] = run_key(words[2], words[3], run)

    def choose(self) -> tuple[int, int]:
        """Decide and count the pull: (arm, its rank)."""
        self._check_scores()
        with self._playing("choose"):
            arm = self._arm("choose", interface.choose(self.parameters, self.state, self.now), 0)
            committed = self._arm("committed_arm", interface.committed_arm(self.parameters, self.state), -1)
            if committed not in (-1, arm):
                raise Mistake(
                    f"committed_arm returned {committed}, and choose returned {arm}",
                    "committed_arm gives the arm that choose returns in all later rounds, or -1 while that is open.",
                )
            rank = np.int64(self.state.pulls[arm])
            interface.record_pull(self.parameters, self.state, np.int64(arm), rank, self.now)
        self.now += 1
        return arm, int(rank)

    def observe(self, arm: int, reward: float, rank: int, pulled_at: int) -> None:
        """Feedback of an earlier pull."""
        with self._playing("on_feedback"):
            places = np.int64(rank), np.int64(pulled_at), self.now
            interface.record_feedback(self.parameters, self.state, np.int64(arm), reward, *places)

    def correct(self, arm: int, rank: int, pulled_at: int, pulls: int, observed: float, total: float) -> None:
        """A pull is retracted, or its feedback replaced."""
        place = np.int64(arm)
        with self._playing("on_correction"):
            rounds = np.int64(rank), np.int64(pulled_at)
            if rank >= 0:
                interface.on_correction(
                    self.parameters, self.state, place, *rounds, float(pulls), float(observed), total
                )
            self.state.pulls[place] += pulls
            self.state.observed[place] += observed
            self.state.total[place] += total
            interface.after_correction(self.parameters, self.state, place, self.now)

    def bounds(self, arm: int) -> tuple[float, float]:
        """The policy's bounds on an arm's mean."""
        with self._playing("lower"), self._ledger.read_only():
            seen = view(self.state, np.int64(arm), self.now)
            interface.bound_prefixes(self.parameters, seen)
            return float(interface.lower(self.parameters, seen)), float(interface.upper(self.parameters, seen))

    def written(self) -> str:
        """A hash of all that was written to state.memory."""
        return self._ledger.digest()

    def _arm(self, name: str, chosen: Any, lowest: int) -> int:
        missing = None
        if not _is_number(chosen) or isinstance(chosen, bool | np.bool_) or chosen % 1 != 0:
            wrong = f"{name} returned {chosen!r}, which is not a whole number"
        elif not lowest <= chosen < self.arms:
            missing = int(chosen)
            wrong = f"{name} returned {missing}, an arm that does not exist"
        else:
            return int(chosen)
        body = getattr(type(self.policy), name)
        arguments = (self.parameters, self.state, self.now)[: len(HOOKS[name])]
        advice = (
            f"With {self.arms} arms, return a whole number from {lowest} to {self.arms - 1}, such as np.int64(arm)."
        )
        raise _WrongResult(wrong, advice, body, arguments, missing)

    def _check_scores(self) -> None:
        """A cached index must be what the formula gives now."""
        if not caches_indices(type(self.policy)):
            return
        arm = self.now % self.arms  # one in each round
        if self.state.pulls[arm] > 0:
            with self._playing("index"), self._ledger.read_only():
                now = interface.index(self.parameters, view(self.state, np.int64(arm), self.now))
            if now != self.state.score[arm]:
                raise_from(self._stale(float(self.state.score[arm]), float(now)), None)

    def _stale(self, cached: float, now: float) -> PolicyError:
        cls: Any = type(self.policy)
        own = list(reached_functions([cls.index, cls.upper, cls.bonus]))
        formula = formula_of(cls)
        message = (
            f"{cls.__name__}.{formula} gives {now:g} for an arm whose cached index is {cached:g}, although the arm was "
            "neither pulled nor had feedback: an index is computed only then"
        )
        for where in [] if cls.reads_pulls else reads(own, "pulls"):
            return policy_error(message, where, "Remove reads_pulls = False: this index changes with the arm's pulls.")
        advice = (
            "Let it depend on this arm's counts and memory only; a policy whose indices depend on what arms share "
            "derives from Policy and writes choose(policy, state, now)."
        )
        return policy_error(message, location_of(getattr(cls, formula)), advice)

    @contextmanager
    def _playing(self, hook: str) -> Iterator[None]:
        """Run a static method as plain Python; whatever it raises becomes one error."""
        try:
            self._ledger.uses = 0
            counted = _counted_lines() if self._may_be_endless and self.now <= ROUNDS else nullcontext()
            with plain_python(), np.errstate(divide="raise", invalid="raise", over="ignore", under="ignore"), counted:
                yield
        except BelatedError:
            raise
        except Exception as error:
            what, advice = explain(error, type(self.policy))
            where = location_in(error.__traceback__)
            if isinstance(error, _WrongResult):
                with plain_python(), np.errstate(all="ignore"):
                    where = error.location()
            where = where or location_of(getattr(type(self.policy), hook))
            raise_from(policy_error(f"{type(self.policy).__name__}: {what}", where, advice), error)


@contextmanager
def _counted_lines() -> Iterator[None]:
    """Count the lines of the user's code; a mistake if there are too many. Not while a debugger counts them."""
    left = MOST_STEPS

    def count(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise endless(f"played {MOST_STEPS:,} lines")
        return count

    def enter(frame: Any, event: str, argument: Any) -> Any:
        return count if is_own_file(frame.f_code.co_filename) else None

    if sys.gettrace() is not None:
        yield
        return
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(None)


def caches_indices(policy: type[Policy]) -> bool:
    """Whether the indices of a policy's arms are computed when an arm is pulled or has feedback, and kept."""
    return issubclass(policy, IndexPolicy) and policy.choose is IndexPolicy.choose


def formula_of(policy: type[IndexPolicy]) -> str:
    """The method that is an index policy's index."""
    return "index" if policy.index is not IndexPolicy.index else "upper"
