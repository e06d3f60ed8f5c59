"""The state of a policy with every access checked: indices, what may be written and when, and no new arrays."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from belated.own_code import is_own_file
from belated.policies._base.encode import memory_size
from belated.policies._base.policy import Policy
from belated.policies._base.state import State, allocate, reset
from belated.policies._mistakes import MOST_STEPS, TWO_INDICES, Mistake, endless

COUNTED = ("pulls", "observed", "total", "key")
"""What only the engine writes."""
PADDED = ("pulls", "observed", "total", "score")
"""What has more rows than arms in compiled code."""

_READING_METHODS: tuple[str, ...] = ("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose")
_READING_METHODS += ("clip", "compress")
_READING_METHODS += ("copy", "cumprod", "cumsum", "dot", "flatten", "item", "max", "mean", "min", "nonzero", "prod")
_READING_METHODS += ("repeat", "round", "searchsorted", "std", "sum", "take", "tolist", "trace", "var")
_WRITING_METHODS = ("fill", "partition", "put", "setfield", "sort")
_WRITING_FUNCTIONS = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


class Ledger:
    """Whether a formula is being computed, and what was written: by the policy, and by the package's own caches."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.formula = ""  # the name of the formula that is being computed
        self.uses = 0  # how often arrays were used since the present method was called
        self._undo: list[tuple[Any, Any, Any]] | None = None
        self._memory = hashlib.blake2b()  # of all that was written to state.memory

    def use(self) -> None:
        """Count a use of an array."""
        self.uses += 1
        if self.uses > MOST_STEPS:
            raise endless(f"used arrays {MOST_STEPS:,} times")

    def write(self, array: Any, index: Any) -> None:
        """Note, or refuse, a write that is about to be made."""
        is_own = is_own_file(_caller())
        if self.formula and is_own:
            raise Mistake(
                f"{self.formula} writes to {array.label}, and formulas are computed at any time",
                "Write to state.memory in on_pull, on_feedback or choose.",
            )
        if is_own and array.label.removeprefix("state.") in COUNTED:
            raise Mistake(f"{array.label} is written by the simulator alone", "Write your own numbers to state.memory.")
        if self._undo is not None:
            plain = array.view(np.ndarray)
            self._undo.append((plain, index, np.copy(plain[index])))

    def wrote(self, array: Any, index: Any) -> None:
        """Note, or refuse, what is there after a write."""
        if array.label == "state.memory":
            written = array.view(np.ndarray)[index]
            if np.isnan(written).any():
                raise Mistake(
                    "state.memory gets NaN",
                    "Treat the case in which there is nothing to compute from first; mark a number that is not known "
                    "yet by -1.0 or math.inf.",
                )
            self._memory.update(repr(index).encode() + written.tobytes())

    def digest(self) -> str:
        """A hash of all that was written to state.memory, in order."""
        return self._memory.hexdigest()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Take back what is written meanwhile."""
        self._undo = []
        try:
            yield
        finally:
            for array, index, value in reversed(self._undo):
                array[index] = value
            self._undo = None


def _caller() -> str:
    """The file of the line that uses an array: neither of numpy nor of this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename


@cache
def _is_between(file: str) -> bool:
    return file == __file__ or Path(file).is_relative_to(Path(np.__file__).parent)


class _OutOfBounds(Mistake, IndexError):
    """Also an IndexError, by which a loop over an array ends."""


class CheckedArray(np.ndarray[Any, Any]):
    """An array of the state that refuses wrong indices, forbidden writes and operations that make a new array."""

    label: str
    ledger: Ledger
    has_rows: bool  # whether it is all of state.memory, not the row of an arm
    arms: int | None  # how many rows are arms, if compiled code sees more rows; None if not

    def __array_finalize__(self, source: Any) -> None:
        self.label = getattr(source, "label", "")
        self.ledger = getattr(source, "ledger", None)  # type: ignore[assignment]
        self.has_rows = getattr(source, "has_rows", False)
        self.arms = getattr(source, "arms", None)

    def __repr__(self) -> str:
        return self.label

    def __getitem__(self, index: Any) -> Any:
        self._check(index)
        result = super().__getitem__(index)
        if isinstance(result, CheckedArray):
            result.has_rows = self.has_rows and result.ndim == 2
            if self.arms is not None and _is_within(index, self.arms):
                result.arms = None
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check(index)
        if value is None or isinstance(value, str | bytes | list | tuple | complex):
            raise Mistake(f"{self.label} gets {value!r}", "Write a number.")
        self.ledger.write(self, index)
        if self.arms is not None and isinstance(index, slice) and not _is_within(index, self.arms):
            self._check_rows()
        super().__setitem__(index, value)
        self.ledger.wrote(self, index)

    def __len__(self) -> int:
        self._check_rows()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._check_rows()
        return super().__iter__()

    @property
    def size(self) -> Any:
        self._check_rows()
        return _plain(self).size

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        self._check_rows()
        return _plain(self).shape

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", ())
        result = _call(getattr(ufunc, method), inputs, options, (*out, *(inputs[:1] if method == "at" else ())))
        return out[0] if out else self._scalar(result, f"np.{ufunc.__name__} of {self.label}")

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        name, out = function.__name__, options.get("out")
        result = _call(function, inputs, options, (out, *(inputs[:1] if name in _WRITING_FUNCTIONS else ())))
        return out if out is not None else self._scalar(result, f"np.{name} of {self.label}")

    def _scalar(self, result: Any, what: str) -> Any:
        parts = result if isinstance(result, list | tuple) else (result,)
        if any(isinstance(part, np.ndarray) and part.ndim > 0 for part in parts):
            raise Mistake(
                f"{what} makes a new array, which compiled code must not",
                "Write a loop, such as for arm in range(state.arms), with numbers; or keep them in state.memory. "
                + (TWO_INDICES if self.label == "state.memory" else ""),
            )
        return result

    def _check_rows(self) -> None:
        if self.arms is not None and is_own_file(_caller()):  # the package knows what it does with the further rows
            raise Mistake(
                f"{self.label} has more rows than arms when compiled",
                f"Write for arm in range(state.arms), or {self.label}[:state.arms].",
            )

    def _check(self, index: Any) -> None:
        self.ledger.use()
        for axis, part in enumerate(index if isinstance(index, tuple) else (index,)):
            if part is None or part is Ellipsis or isinstance(part, slice):
                continue
            if isinstance(part, bool | np.bool_) or not isinstance(part, int | np.integer):
                raise Mistake(
                    f"{self.label} is indexed by {part!r}, which is not a whole number", "Write int(...) around it."
                )
            if axis < self.ndim and not 0 <= part < _plain(self).shape[axis]:
                raise _OutOfBounds(*self._out_of_bounds(int(part), axis))

    def _out_of_bounds(self, part: int, axis: int) -> tuple[str, str, int | None]:
        """What is wrong, the advice, and the arm that does not exist."""
        size = _plain(self).shape[axis]
        exists = f"its indices are 0 to {size - 1}" if size > 0 else "it is empty"
        if self.label == "state.memory" and (axis == 1 or not self.has_rows):
            name, memory = type(self.ledger.policy).__name__, self.ledger.policy.memory
            more = "Let memory(self, arms, horizon) return more" if callable(memory) else f"Write memory = {part + 1}"
            if part < 0:
                return (
                    f"number {part} of an arm's state.memory does not exist: {exists}",
                    "Write an index that is not negative.",
                    None,
                )
            return (
                f"number {part} of an arm's state.memory does not exist: {name} declares memory = {size}",
                f"{more} in class {name}, or correct the index.",
                None,
            )
        shared = "; the row state.arms of state.memory is shared by all arms" if self.label == "state.memory" else ""
        return (
            f"{self.label} has no element {part}: {exists}",
            f"Use an arm's number, from 0 to state.arms - 1{shared}.",
            part,
        )


def _is_within(index: Any, arms: int) -> bool:
    """Whether a slice has rows of arms only, also in an array with more rows."""
    if not isinstance(index, slice) or index.stop is None or (index.step or 1) < 0:
        return False
    return 0 <= index.stop <= arms and (index.start or 0) >= 0


def _plain(value: Any) -> Any:
    """A value, or one with others in it, as numpy itself sees it."""
    if isinstance(value, CheckedArray):
        return value.view(np.ndarray)
    if type(value) in (list, tuple):
        return type(value)(_plain(part) for part in value)
    return {key: _plain(part) for key, part in value.items()} if type(value) is dict else value


def _check_all_rows(value: Any) -> None:
    """Refuse arrays with more rows than arms among these values."""
    if isinstance(value, CheckedArray):
        value._check_rows()
    elif type(value) in (list, tuple, dict):
        for part in value.values() if isinstance(value, dict) else value:
            _check_all_rows(part)


def _call(function: Callable[..., Any], inputs: Any, options: Any, written: Iterable[Any] = ()) -> Any:
    """Call a function of numpy that uses arrays as a whole, and writes some of them."""
    checked = [array for array in written if isinstance(array, CheckedArray)]
    for array in checked:
        array.ledger.write(array, ...)
    _check_all_rows((inputs, options))
    result = function(*_plain(inputs), **_plain(options))
    for array in checked:
        array.ledger.wrote(array, ...)
    return result


def _method(name: str) -> Callable[..., Any]:
    """A method of arrays that is written in C and would use neither of the above."""

    def call(self: CheckedArray, *arguments: Any, **options: Any) -> Any:
        def function(plain: Any, *rest: Any, **more: Any) -> Any:
            return getattr(plain, name)(*rest, **more)

        written = self if name in _WRITING_METHODS else options.get("out")
        result = _call(function, (self, *arguments), options, (written,))
        return self._scalar(result, f"{self.label}.{name}")

    call.__name__ = name
    return call


for _name in (*_READING_METHODS, *_WRITING_METHODS):
    setattr(CheckedArray, _name, _method(_name))


def _checked(array: Any, label: str, ledger: Ledger, arms: int) -> CheckedArray:
    result: CheckedArray = array.view(CheckedArray)
    result.label, result.ledger, result.has_rows = f"state.{label}", ledger, array.ndim == 2
    result.arms = arms if label in PADDED else None
    return result


def checked_state(policy: Policy, arms: int, horizon: int | None, ledger: Ledger) -> State:
    """A policy's state before the first round, all arrays checked and none longer than needed; call it in plain
    Python."""
    state = allocate(arms, policy.shape(), 0)[0]
    reset(state)
    arrays = {name: getattr(state, name) for name in State._fields if name not in ("arms", "floor", "memory")}
    for name in ("pulls", "observed", "total"):
        arrays[name] = arrays[name][:arms]
    arrays["score"] = arrays["score"][: arms + 2]
    arrays["memory"] = np.zeros((arms + 1, memory_size(policy, arms, horizon)))
    return State(arms=arms, floor=(), **{name: _checked(array, name, ledger, arms) for name, array in arrays.items()})
