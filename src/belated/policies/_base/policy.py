"""What every policy is: parameters, a state, and the kernel functions of :mod:`belated.policies._base.interface`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.policies._base.state import Arm, Shape, State
from belated.registry import Registry
from belated.validation import Horizon, Validated

NO_TABLE: npt.NDArray[np.float64] = np.zeros(0)


class _FormLabel:
    """The label of a class, and of its instances with the name of a parameter that is on."""

    def __init__(self, plain: str, form: str) -> None:
        self._plain, self._form = plain, form

    def __get__(self, made: Any, cls: type | None = None) -> str:
        return f"{self._plain} {self._form}" if made is not None and getattr(made, self._form) else self._plain


def label_with(plain: str, form: str) -> Any:
    """A ``label`` for a policy with a parameter that is on or off and of which other things are true where it is on:
    the class, and instances where it is off, have the label ``plain``, the others ``plain form``.

    >>> from belated.policies import PrefixUCB
    >>> PrefixUCB.label, PrefixUCB().label, PrefixUCB(spread=True).label
    ('Prefix-UCB', 'Prefix-UCB', 'Prefix-UCB spread')
    """
    return _FormLabel(plain, form)


@dataclass(frozen=True, kw_only=True)
class Policy(Validated, ABC):
    """A rule that chooses arms. A concrete policy is a frozen dataclass of its parameters, registered by ``@policy``.

    Its static methods are the kernel functions of :mod:`belated.policies._base.interface`: they see the policy
    as a named tuple of numbers, ``KernelParams``, and run compiled or as plain Python, in the simulator and in a live
    bandit alike. A
    subclass takes one of the forms (:class:`~belated.policies._base.index.IndexPolicy`,
    :class:`~belated.policies._base.elimination.EliminationPolicy`), or brings its own ``choose``."""

    label: ClassVar[str] = ""
    """Short name in tables and legends; see :func:`label_with` where a parameter makes another policy of it."""
    formula: ClassVar[str] = ""
    """The rule in one line, for ``belated policies``."""
    memory: ClassVar[int] = 0
    """How many numbers of its own the policy keeps for each arm."""
    reads_pulls: ClassVar[bool] = True
    """Whether the index, or the bounds, of an arm depend on its pulls; False if on its answers alone."""

    changes_on_feedback_only: ClassVar[bool] = False
    """Whether the choice changes by answers alone, once every arm was pulled."""
    sweeps: ClassVar[bool] = False
    """Whether choices come in sweeps, within which no answer changes them."""

    supports_retraction: ClassVar[bool] = False
    """Whether a pull may be taken back and an answer replaced: all that the policy knows of an arm are its counts, and
    what ``on_correction`` puts right."""
    supports_new_arms: ClassVar[bool] = False
    """Whether an arm may be added while the policy is at work."""

    Parameters: ClassVar[Any]

    horizon: Horizon = None

    class KernelParams(NamedTuple):
        """What the kernel functions see of the policy: numbers, and at last a table of its ``bonus``."""

        table: npt.NDArray[np.float64] = NO_TABLE

    @abstractmethod
    def kernel_params(self, arms: int) -> tuple[float, ...]:
        """The values of ``KernelParams`` for a problem of so many arms."""

    @classmethod
    def shape(cls) -> Shape:
        """The parts of the state that the policy needs."""
        return Shape(memory=cls.memory)

    def parameters(self, arms: int) -> Any:
        """The named tuple that is handed to the kernel."""
        return self.Parameters(*(float(value) for value in self.kernel_params(arms)), table=NO_TABLE)

    def for_horizon(self, horizon: int) -> Self:
        """The same policy, told the horizon if it has none."""
        return self if self.horizon is not None else replace(self, horizon=horizon)

    def describe(self) -> str:
        """The label with every parameter that is not at its default, but for the horizon."""
        given = [
            field.name if getattr(self, field.name) is True else f"{field.name}={getattr(self, field.name):g}"
            for field in fields(self)
            if field.name != "horizon" and getattr(self, field.name) not in (None, field.default)
        ]
        label = type(self).label  # a form that has a label of its own is told among the parameters
        return f"{label}({', '.join(given)})" if given else label

    # ---- kernel functions that most policies leave as they are ----

    @staticmethod
    @abstractmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        """See :func:`belated.policies._base.interface.choose`."""

    @staticmethod
    def committed_arm(policy: Any, state: State) -> Any:
        return -1

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        pass

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        pass

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        pass

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        pass

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        pass

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, answers: Any, total: Any
    ) -> Any:
        pass

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return 0.0, 0.0

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        return 0.0

    @staticmethod
    @abstractmethod
    def lower(policy: Any, arm: Arm) -> Any:
        """See :func:`belated.policies._base.interface.lower`."""

    @staticmethod
    @abstractmethod
    def upper(policy: Any, arm: Arm) -> Any:
        """See :func:`belated.policies._base.interface.upper`."""


POLICIES: Registry[Policy] = Registry("policy", "belated.policies")

P = TypeVar("P", bound=Policy)


_IGNORES_PULL_ID = {Policy.on_feedback, Policy.after_feedback}
"""Bodies of ``on_feedback`` and ``after_feedback`` that look at neither ``rank`` nor ``pulled_at``."""


def ignores_pull_id(body: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: this body of ``after_feedback`` looks at neither ``rank`` nor ``pulled_at``, not kept then."""
    _IGNORES_PULL_ID.add(body)
    return body


def is_built_in(policy: type[Policy]) -> bool:
    """Whether a policy's class is one of the package's own."""
    return policy.__module__.startswith("belated.policies.")


_DECIDING = ("choose", "committed_arm", "after_pull", "after_feedback", "on_pull", "on_feedback")


def decides_as(policy: type[Any], form: type[Any]) -> bool:
    """Whether a policy's class leaves to its form all that decides in a round: what it brings itself are formulas."""
    return all(getattr(policy, name) is getattr(form, name) for name in _DECIDING)


@dataclass_transform(frozen_default=True)
def policy(cls: type[P]) -> type[P]:
    """Decorator of a concrete policy: a frozen dataclass, registered, with a ``Parameters`` type of its own.

    The type is what compiled code is specialised on, so that two policies never share a body.
    """
    if not cls.label:
        raise InvalidParameter(f'{cls.__name__} has no label; set label = "..." in the class.')
    made: Any = POLICIES.register(cls)
    body = {
        "__slots__": (),
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}.Parameters",
        "owner": made,
    }
    own = (made.on_feedback, made.after_feedback)
    made.is_trusted = is_built_in(cls)
    made.uses_pull_id = not all(body in _IGNORES_PULL_ID for body in own)
    made.accepts_dummy_feedback = made.is_trusted and not made.uses_pull_id
    # numba tells named tuples apart by their __name__ alone; pickle finds them by their __qualname__
    made.Parameters = type(f"{cls.__module__}.{cls.__qualname__}", (made.KernelParams,), body)
    registered: type[P] = made
    return registered


def check_registered(given: Policy) -> None:
    """A policy's class is decorated with ``@policy``, itself and not only one that it derives from."""
    if getattr(getattr(given, "Parameters", None), "owner", None) is not type(given):
        name = type(given).__name__
        raise InvalidParameter(
            f"{name} is not registered; write @policy (from belated.policies._base.policy) above class {name}."
        )
