"""A policy as the engine and a live bandit take it: its parameters as numbers, and the size of its state."""

from __future__ import annotations

from typing import Any

from belated.errors import BelatedError, InvalidParameter, PolicyError
from belated.formatting import plural
from belated.policies._base.policy import NO_TABLE, Policy
from belated.policies._mistakes import Location, location_in, location_of, location_of_class, policy_error
from belated.validation import check_integer, is_integer


def encode_policy(policy: Policy, arms: int) -> Any:
    """The policy as compiled code sees it: its ``KernelParams`` and a table of its ``bonus``, empty but for row 0."""
    fields: tuple[str, ...] = policy.KernelParams._fields
    try:
        values = [float(value) for value in policy.kernel_params(arms)]
    except BelatedError:
        raise
    except Exception as error:  # whatever is wrong with the user's method
        where = location_in(error.__traceback__)
        raise _wrong_params(policy, f"{type(error).__name__}: {error}", where) from None
    if len(values) != len(fields):
        raise _wrong_params(policy, f"it gives {plural(len(values), 'number')} for {plural(len(fields), 'field')}")
    return policy._KernelArgs(*values, table=NO_TABLE)


def _wrong_params(policy: Policy, what: str, where: Location | None = None) -> PolicyError:
    """The error for ``kernel_params`` that do not fit ``KernelParams``."""
    name, method = type(policy).__name__, type(policy).kernel_params
    fields: tuple[str, ...] = policy.KernelParams._fields
    values = ", ".join(f"self.{field}" for field in fields)
    defined = location_of_class(type(policy)) if method is Policy.kernel_params else location_of(method)
    return policy_error(
        f"{name}.kernel_params does not give the numbers of KernelParams ({', '.join(fields)}): {what}",
        where or defined,
        f"Write return ({values}{',' if len(fields) == 1 else ''}) or the like, a tuple; or leave kernel_params out if "
        "all of them are parameters of the policy.",
    )


def supports_retraction(policy: Policy) -> bool:
    """Whether a policy can retract pulls; one with its own statistics must implement ``on_correction``."""
    corrects = type(policy).on_correction is not Policy.on_correction
    return policy.supports_retraction and (policy.memory == 0 or corrects)


def supports_replacement(policy: Policy) -> bool:
    """Whether a policy can replace feedback, and retract a pull with its feedback."""
    return supports_retraction(policy) and policy.supports_replacement


_MOST_MEMORY = 2**40
_MEMORY = f"Return a whole number from 0 to {_MOST_MEMORY:,}: how many numbers it keeps for each arm."


def memory_size(policy: Policy, arms: int, horizon: int | None) -> int:
    """The policy's ``memory``: how many numbers of its own it keeps for each arm, in a simulation of this many rounds
    or in a live bandit of this horizon."""
    name = f"{type(policy).__name__}.memory"
    size: Any = policy.memory
    if callable(size):
        name = f"{name}({arms}, {horizon})"
        try:
            size = size(arms, horizon)
        except BelatedError:
            raise
        except Exception as error:  # whatever is wrong with the user's function
            hint = "A live bandit passes None if its policy has no horizon: give it one, or handle None."
            where = location_in(error.__traceback__) or location_of(policy.memory)
            what = f"{name} failed with {type(error).__name__}: {error}"
            raise policy_error(what, where, hint if horizon is None else _MEMORY) from None
        if not is_integer(size) or not 0 <= size <= _MOST_MEMORY:
            raise policy_error(f"{name} is {size!r}", location_of(policy.memory), _MEMORY)
    return check_integer(name, size, 0, _MOST_MEMORY, error=PolicyError)


def check_registered(policy: Any) -> None:
    """Raise unless it is a policy, and its class itself, not only one that it derives from, is decorated."""
    if not isinstance(policy, Policy):
        hint = f"{policy.__name__}()" if isinstance(policy, type) else "UCB()"
        raise InvalidParameter(f"policy is {policy!r}; give a policy, such as {hint}.")
    if getattr(getattr(policy, "_KernelArgs", None), "owner", None) is not type(policy):
        name = type(policy).__name__
        raise InvalidParameter(
            f"{name} is not registered; write @policy (from belated.policies import policy) above class {name}."
        )
