"""Mistakes in the definition of a policy's class, found by ``@policy``."""

from __future__ import annotations

import inspect
import sys
from difflib import get_close_matches
from types import FunctionType
from typing import Any

from belated.errors import InvalidParameter
from belated.kernel.jit import ARGUMENTS, arguments_of
from belated.policies._base import interface
from belated.policies._mistakes import location_of, location_of_class, policy_error, suggestion

HOOKS = {name: arguments_of(function) for name, function in vars(interface).items() if hasattr(function, ARGUMENTS)}
"""The kernel functions that a policy's class may bring, with the names of their arguments."""


_NO_SELF = "The first one, policy, has the numbers of KernelParams, such as policy.eps; there is no self."


def kernel_methods(policy: type[Any]) -> list[Any]:
    """The static methods of a policy's class that compiled code calls."""
    return [getattr(policy, name) for name in HOOKS if hasattr(policy, name)]


def check_definition(cls: type[Any]) -> None:
    """Raise an error if a class that is decorated with ``@policy`` is not a policy that can be played."""
    name = cls.__name__
    if not hasattr(cls, "KernelParams"):
        raise policy_error(
            f"{name} does not derive from a policy",
            location_of_class(cls),
            f"Write class {name}(IndexPolicy): for a formula, index(policy, arm), or class {name}(Policy): for a "
            "choice of its own, choose(policy, state, now); both are in belated.policies.",
        )
    if not cls.label:
        raise InvalidParameter(f'{name} has no label; set label = "..." in the class.')
    if not (isinstance(cls.KernelParams, type) and hasattr(cls.KernelParams, "_fields")):
        raise policy_error(
            f"{name}.KernelParams is not a named tuple",
            location_of_class(cls.KernelParams),
            "Write class KernelParams(NamedTuple): with a line such as eps: float for each number.",
        )
    if "table" in cls.KernelParams._fields:
        raise InvalidParameter(f"{name}.KernelParams has a field table, which @policy adds; remove it.")
    for method, value in vars(cls).items():
        _check_method(name, method, value)
    _check_names(cls)
    _check_init(cls)
    _check_memory(cls)
    if getattr(cls.choose, "__isabstractmethod__", False):
        raise policy_error(
            f"{name} does not say how it chooses",
            location_of_class(cls),
            "Write a static method choose(policy, state, now) that returns the number of an arm, or derive from "
            "IndexPolicy and write index(policy, arm).",
        )


def _check_method(policy: str, name: str, value: Any) -> None:
    if isinstance(value, staticmethod):
        body = value.__func__
        if name in HOOKS and (given := arguments_of(body)) != HOOKS[name]:
            raise policy_error(
                f"{policy}.{name} takes ({', '.join(given)})",
                location_of(body),
                f"Write def {name}({', '.join(HOOKS[name])}): these arguments, with these names. {_NO_SELF}",
            )
        if not name.startswith("_") and name not in HOOKS and name != "memory":
            meant = suggestion(name, HOOKS) or f"There are {', '.join(HOOKS)}."
            raise policy_error(
                f"{policy}.{name} is not a function that policies have",
                location_of(body),
                f"{meant} A helper has a leading underscore, or stands outside of the class.",
            )
    elif name in HOOKS and isinstance(value, FunctionType | classmethod):
        raise policy_error(
            f"{policy}.{name} is not a static method",
            location_of(getattr(value, "__func__", value)),
            f"Write @staticmethod above def {name}({', '.join(HOOKS[name])}). {_NO_SELF}",
        )


def _check_names(cls: type[Any]) -> None:
    """Refuse a method or attribute whose name is nearly one that policies have."""
    base = cls.__mro__[1]
    known = [name for name in dir(base) if not name.startswith("_")]
    fields = _annotations(cls)
    for name, value in vars(cls).items():
        if name.startswith("_") or name in fields or name in HOOKS or hasattr(base, name):
            continue
        close = get_close_matches(name, known, n=1, cutoff=0.85)
        if close and isinstance(value, FunctionType | type | int | str):
            where = location_of(value) if isinstance(value, FunctionType) else location_of_class(cls)
            raise policy_error(
                f"{cls.__name__}.{name} is not a name that policies have",
                where,
                f"Write {close[0]}; or give it another name, such as one with a leading underscore, if it is your own.",
            )


def _annotations(cls: type[Any]) -> dict[str, Any]:
    """The annotations of the class itself; from Python 3.14 on, names in them may not exist yet."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(cls, format=Format.FORWARDREF)
    return inspect.get_annotations(cls)


def _check_init(cls: type[Any]) -> None:
    body = vars(cls).get("__init__")
    if isinstance(body, FunctionType) and body.__code__.co_filename != "<string>":  # as a dataclass has
        raise policy_error(
            f"{cls.__name__} has its own __init__",
            location_of(body),
            "Leave it out. Write each parameter as a line of the class, such as eps: float = 0.1, and compute what "
            "follows from them in kernel_params(self, arms).",
        )


def _check_memory(cls: type[Any]) -> None:
    """``memory`` is a number, or a method that is called with the number of arms and the horizon."""
    memory = inspect.getattr_static(cls, "memory")
    if isinstance(memory, int) and memory >= 0:
        return
    body = getattr(memory, "__func__", memory)
    expected = ["arms", "horizon"] if isinstance(memory, staticmethod) else ["self", "arms", "horizon"]
    if not isinstance(body, FunctionType):
        raise InvalidParameter(
            f"{cls.__name__}.memory is {memory!r}; give a whole number >= 0, or a method memory(self, arms, horizon)."
        )
    if len(arguments_of(body)) != len(expected):
        raise policy_error(
            f"{cls.__name__}.memory takes ({', '.join(arguments_of(body))})",
            location_of(body),
            f"Write def memory({', '.join(expected)}).",
        )
