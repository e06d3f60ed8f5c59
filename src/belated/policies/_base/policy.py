"""The base class of all policies, that of policies with a confidence radius, and the decorator that registers one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from belated.errors import PolicyError
from belated.kernel.jit import inline
from belated.kernel.math import log
from belated.policies._base.definition import check_definition
from belated.policies._base.interface import radius
from belated.policies._base.state import Arm, Shape, State
from belated.problem import Problem
from belated.registry import Registry
from belated.theory.bound import Bound
from belated.validation import Confidence, Horizon, PositiveProbability, Validated

NO_TABLE: npt.NDArray[np.float64] = np.zeros(1)
"""Row 0 of a table is never looked up."""


class _VariantLabel:
    """A label that names the variant on instances where its parameter is on."""

    def __init__(self, plain: str, parameter: str) -> None:
        self._plain, self._parameter = plain, parameter

    def __get__(self, instance: Any, cls: type | None = None) -> str:
        is_variant = instance is not None and getattr(instance, self._parameter)
        return f"{self._plain} {self._parameter}" if is_variant else self._plain


def label_with(plain: str, parameter: str) -> Any:
    """A ``label`` for a policy with a boolean parameter, or property, that makes another policy of it: ``plain
    parameter`` on instances where it is True, else ``plain``.

    Parameters
    ----------
    plain
        The label of instances where the parameter is off.
    parameter
        The name of the parameter, a field or property of the policy that is True or False.

    Examples
    --------
    >>> from belated.policies import PrefixUCB
    >>> PrefixUCB.label, PrefixUCB().label, PrefixUCB(spread=True).label
    ('Prefix-UCB', 'Prefix-UCB', 'Prefix-UCB spread')
    """
    return _VariantLabel(plain, parameter)


@dataclass(frozen=True, kw_only=True)
class Policy(Validated, ABC):
    """A rule that chooses arms. A concrete policy is a frozen dataclass of its parameters, registered by ``@policy``.

    Its static methods are the kernel functions of :mod:`belated.policies._base.interface`. They see the policy as a
    named tuple of numbers, its ``KernelParams``, and run compiled or as plain Python, in the simulator and in a live
    bandit alike. Most policies derive from :class:`~belated.policies.IndexPolicy` or
    :class:`~belated.policies.EliminationPolicy` and bring only formulas; another brings its own ``choose``.

    Five flags are set by hand: ``reads_pulls``, ``rounds_bounds``, ``supports_retraction``, ``supports_replacement``
    and ``supports_new_arms``. The others are derived from what a class overrides when it is registered, see
    ``_derive_flags``.

    Parameters
    ----------
    horizon
        T, the number of rounds, if it is known. A simulation fills it in; a live bandit need not have one.
    """

    label: ClassVar[str] = ""
    """Short name in tables and legends; see :func:`label_with` for a parameter that makes another policy of it."""
    formula: ClassVar[str] = ""
    """The rule in one line, for ``belated policies``."""
    arena_variants: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    """The parameters with which it enters the arena, once for each entry."""
    version: ClassVar[int] = 1
    """Raised when the policy decides otherwise than before: what was decided by another version is kept, not decided
    again."""
    introduced_here: ClassVar[bool] = False
    """Whether the policy was first published with this package."""
    superseded_by: ClassVar[str] = ""
    """The class that should be used instead, if there is a better one for every use; the policy is kept for what was
    saved with it, and for comparison."""
    superseded_because: ClassVar[str] = ""
    """What is wrong with it, if it is superseded."""
    corrects_mean: ClassVar[bool] = False
    """Whether it corrects means for delays that depend on rewards, see ``correction``."""
    covers_missing: ClassVar[bool] = False
    """Whether its bounds hold whatever the missing feedback is."""
    memory: ClassVar[Any] = 0
    """How many statistics of its own the policy keeps for each arm, in ``state.memory[arm]``: a number, or a method
    ``memory(self, arms, horizon)`` that gives it. In a simulation ``horizon`` is its number of rounds, in a live bandit
    the policy's own horizon, and None if it has none."""

    cached_memory: ClassVar[range] = range(0)
    """The columns of ``memory`` that can be computed again from the others: what is in them, and in ``score``, after a
    correction may differ from what it would be without the mistake, as long as the decisions are the same."""

    reads_pulls: ClassVar[bool] = True
    """Whether the index, or the bounds, of an arm change with its pulls; False if only with its feedback."""
    rounds_bounds: ClassVar[bool] = False
    """Elimination: whether equal bounds may be computed as unequal ones, so that an arm is only eliminated if its upper
    bound is below a lower one by more than rounding."""
    supports_retraction: ClassVar[bool] = False
    """Whether a pull can be retracted, with its feedback, and feedback replaced: all that the policy knows of an arm
    are its counts, and what ``on_correction`` puts right."""
    supports_replacement: ClassVar[bool] = True
    """With ``supports_retraction``: False if only a pending pull can be retracted, and feedback stays once it came."""
    supports_new_arms: ClassVar[bool] = False
    """Whether an arm can be added to a live bandit."""

    is_built_in: ClassVar[bool] = False
    """Derived: whether the policy is one of the package's own, so that its choices are not checked in every round."""
    uses_pull_id: ClassVar[bool] = True
    """Derived: whether feedback is handled with the ``rank`` and round of its pull, which are not kept otherwise."""
    changes_on_feedback_only: ClassVar[bool] = False
    """Derived: whether, once every arm was pulled, the choice changes only when feedback arrives."""
    sweeps: ClassVar[bool] = False
    """Derived: whether choices come in sweeps, within which no feedback changes them."""

    _KernelArgs: ClassVar[Any]

    horizon: Horizon = None

    class KernelParams(NamedTuple):
        """The numbers that the kernel functions see of the policy."""

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        """The values of ``KernelParams`` for a problem with this number of arms: the policy's parameters of these
        names, unless a policy overrides this."""
        names: tuple[str, ...] = self.KernelParams._fields
        return tuple(getattr(self, name) for name in names)

    @classmethod
    def shape(cls) -> Shape:
        """The parts of the state that the policy needs, besides its memory."""
        return Shape()

    @classmethod
    def _derive_flags(cls) -> None:
        """Set the flags that follow from what the class overrides."""
        cls.is_built_in = cls.__module__.startswith("belated.policies.")
        hooks: list[Any] = [cls.on_feedback, cls.after_feedback]
        cls.uses_pull_id = not all(getattr(hook, "ignores_pull_id", False) for hook in hooks)

    def for_horizon(self, horizon: int) -> Self:
        """The same policy with this horizon, unless it has its own."""
        return self if self.horizon is not None else replace(self, horizon=horizon)

    def describe(self) -> str:
        """The label with every parameter that differs from its default, except the horizon."""
        return describe_with(self, frozenset())

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        """The theorem on the regret of the policy with these parameters, on this problem; None if there is none."""
        return None

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
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        pass

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return 0.0, 0.0

    @staticmethod
    def correction(policy: Any, arm: Arm) -> Any:
        return 0.0, 0.0

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        return 0.0

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        """A policy without bounds says what is known of a mean anyway: it is at least 0."""
        return 0.0

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return 1.0


def describe_with(policy: Policy, shown: Collection[str]) -> str:
    """The description of a policy with these parameters, too, whether they differ from their defaults or not."""
    parameters = [
        parameter_text(field.name, value)
        for field in fields(policy)
        if (value := getattr(policy, field.name)) is not None and field.name != "horizon"
        if value != field.default or (field.name in shown and value is not False)
    ]
    label = type(policy).label  # not the variant's: it is among the parameters
    return f"{label}({', '.join(parameters)})" if parameters else label


def parameter_text(name: str, value: Any) -> str:
    """A parameter in a label; one that is True is its name alone.

    >>> parameter_text("confidence", 0.5), parameter_text("confidence", "theory"), parameter_text("spread", True)
    ('confidence=0.5', 'confidence=theory', 'spread')
    >>> parameter_text("prior", (1.0, 2.0))
    'prior=(1.0, 2.0)'
    """
    if value is True:
        return name
    return f"{name}={value:g}" if isinstance(value, int | float) else f"{name}={value}"


def ignores_pull_id(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: this ``on_feedback`` or ``after_feedback`` reads neither ``rank`` nor ``pulled_at``."""
    hook.ignores_pull_id = True  # type: ignore[attr-defined]
    return hook


ignores_pull_id(Policy.on_feedback)
ignores_pull_id(Policy.after_feedback)

POLICIES: Registry[Policy] = Registry("policy", "belated.policies")

P = TypeVar("P", bound=Policy)


_DECIDING = ("choose", "committed_arm", "after_pull", "after_feedback", "on_pull", "on_feedback")


def decides_as(policy: type[Any], base: type[Any]) -> bool:
    """Whether a policy class inherits from ``base`` everything that decides in a round, and brings only formulas."""
    return all(getattr(policy, name) is getattr(base, name) for name in _DECIDING)


@dataclass_transform(frozen_default=True)
def policy(cls: type[P]) -> type[P]:
    """Decorator of a concrete policy: makes it a frozen dataclass, registers it, and gives compiled code a type for it.

    That type is a named tuple of the ``KernelParams`` and a table. Compiled code is specialised on it, so that two
    policies never share a body.

    Parameters
    ----------
    cls
        The class to register; it has a ``label``.
    """
    try:
        check_definition(cls)
        cls._derive_flags()
    except PolicyError as error:
        raise error.with_traceback(None) from None  # the user's line alone
    registered: Any = POLICIES.register(cls)
    attributes = {
        "__slots__": (),
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}._KernelArgs",
        "owner": registered,
    }
    # numba tells named tuples apart only by their __name__; pickle finds them by their __qualname__
    plain = namedtuple("_KernelArgs", [*cls.KernelParams._fields, "table"])  # type: ignore[misc]
    registered._KernelArgs = type(f"{cls.__module__}.{cls.__qualname__}", (plain,), attributes)
    typed: type[P] = registered
    return typed


@inline
def confidence_level(policy: Any, x: Any) -> Any:
    """c after x >= 1 samples."""
    if policy.growth > 0.0:
        return policy.c + policy.growth * log(x)
    return policy.c


@inline
def observed_mean(arm: Arm) -> Any:
    """S / max(n, 1): the mean of the feedback that arrived."""
    return arm.total / max(arm.observed, 1.0)


@dataclass(frozen=True, kw_only=True)
class ConfidencePolicy(Policy):
    """A policy with the paper's confidence radius sqrt(2 c / x) after x samples of an arm.

    - A number is c itself. The default is 1, as in the paper's experiments: small regret in practice, no proof.
    - ``confidence="theory"`` with a horizon T gives c = ln T, which the theorems assume: by Hoeffding's inequality a
      mean of x samples is off by more than sqrt(2 ln T / x) with probability at most 2 T^-4, and a union over K <= T
      arms and T sample sizes leaves 2 T^-2 (Lemma 1).
    - ``confidence="theory"`` without a horizon gives a radius valid at all times: c grows with the samples as c(x) =
      ln(pi^2 K x^2 / (3 delta)) / 4. By Hoeffding a mean of x samples is off by more than sqrt(2 c(x) / x) with
      probability at most 2 exp(-4 c(x)) = 6 delta / (pi^2 K x^2); the union over the K arms and all x = 1, 2, ... is
      delta, since the reciprocals of the squares sum to pi^2 / 6. So with probability 1 - delta every interval holds at
      all times.

    :func:`~belated.policies.radius` is the radius. Unless a policy overrides them, the bounds are S/n ± sqrt(2c/n) with
    n the number of feedbacks, at least 1, and S their sum.

    Parameters
    ----------
    confidence
        c, the confidence level: the radius after x samples of an arm is sqrt(2 c / x). The larger it is, the longer
        arms are explored. 1, as in the paper's experiments, gives small regret in practice; "theory" is what the
        theorems assume, ln T with a horizon T, or a level that is valid at all times without one. None means "theory".
    delta
        Only for ``confidence="theory"`` without a horizon: the probability that some confidence interval fails at some
        time is at most ``delta``.
    """

    confidence: Confidence = 1.0
    delta: PositiveProbability = 0.05

    class KernelParams(NamedTuple):
        """The confidence level after x samples is c + growth ln x."""

        c: float
        growth: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        if self.confidence is not None and self.confidence != "theory":
            return self.confidence, 0.0
        if self.horizon is not None:
            return math.log(self.horizon), 0.0
        return math.log(math.pi**2 * arms / (3.0 * self.delta)) / 4.0, 0.5

    def uses_theory(self, horizon: int) -> bool:
        """Whether c = ln T for this horizon T, as the theorems assume."""
        return self.confidence == "theory" and self.horizon in (None, horizon)

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        return math.sqrt(2.0 * confidence_level(policy, x) / x)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n - radius(policy, n)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n + radius(policy, n)
