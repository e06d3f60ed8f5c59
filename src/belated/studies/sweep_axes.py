"""The parameters of a sweep, and their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from belated.errors import InvalidParameter
from belated.studies.study import Axis, Study


def finished_axes(study: Study, points: list[tuple[Any, ...]]) -> tuple[Axis, ...]:
    """The axes of a study as far as it is played: whole lines of pairs."""
    first, second = study.axes
    lines = len(points) // len(second.values)
    del points[max(lines, 1) * len(second.values) :]
    if lines == 0:
        return Axis(first.name, first.values[:1]), Axis(second.name, second.values[: len(points)])
    return Axis(first.name, first.values[:lines]), second


def axes_of(values: Any, name: str) -> tuple[Axis, ...]:
    """The parameters: one, called ``name``, or one or two that a mapping from names to lists gives."""
    listed = isinstance(values, Mapping) and all(
        isinstance(part, Sequence | np.ndarray) and not isinstance(part, str) for part in values.values()
    )
    if not listed or not values:
        return (Axis(name, tuple(_points(values))),)
    if len(values) > 2:
        raise InvalidParameter(
            f"values has the parameters {', '.join(map(repr, values))}; give at most two, as "
            "{name: values, name: values}."
        )
    return tuple(Axis(str(key), tuple(_points(part))) for key, part in values.items())


def call_at(function: Callable[..., Any], axes: Sequence[Axis], point: Sequence[Any]) -> Any:
    """Call a function of the parameters: of one by its place, of two by their names, so that they cannot be swapped."""
    if len(axes) == 1:
        return function(*point)
    named = {axis.name: value for axis, value in zip(axes, point, strict=True)}
    try:
        inspect.signature(function).bind(**named)
    except TypeError:
        raise InvalidParameter(
            f"the parameters are {' and '.join(named)}, and {getattr(function, '__name__', 'the function')} takes "
            f"{inspect.signature(function)}; call its arguments {' and '.join(named)}."
        ) from None
    except ValueError:  # it has no signature
        return function(*point)
    return function(**named)


def _points(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(f"values is {values!r}; give a list of at least one value.")
    points = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not points:
        raise InvalidParameter("values is empty; give a list of at least one value.")
    try:
        is_repeated = len(set(points)) < len(points)
    except TypeError:  # values that cannot be compared so
        return points
    if is_repeated:
        twice = next(value for place, value in enumerate(points) if value in points[:place])
        raise InvalidParameter(f"values has {twice!r} more than once; give each value once.")
    return points
