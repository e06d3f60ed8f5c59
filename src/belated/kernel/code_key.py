"""The key of compiled code: a hash of the code that it is compiled from.

It covers all that decides the machine code of an entry: its bytecode, every function that it reaches, the constants
that these see by a name, the flags of the policy's class that are compiled in, and the versions of Python and numba.
Docstrings, comments and line numbers are not part of it; only the lines of a user's function, whose indices are checked
(:mod:`belated.kernel.pipeline`), count from the first of its body on. So an edit recompiles the policies that can
notice it and no others. Code with a value that cannot be hashed has no key: it is compiled again in every process.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from belated.own_code import is_library, is_own

PARTS = "_belated_parts"
"""Attribute of a function whose body is chosen by types: what gives (name, value) of all it may use, from a policy's
class or None."""


# ---- what code is, as text ----

_CONSTANT = frozenset(dis.hasconst)
_EXTENDED, _STORE_NAME = dis.opmap["EXTENDED_ARG"], bytes([dis.opmap["STORE_NAME"]])
_OUTSIDE = {dis.opmap["LOAD_NAME"]: 0, dis.opmap["LOAD_GLOBAL"]: 1}
_ATTRIBUTE = (
    {dis.opmap["LOAD_ATTR"]: 1}
    if sys.version_info >= (3, 12)
    else {dis.opmap["LOAD_ATTR"]: 0, dis.opmap["LOAD_METHOD"]: 0}
)
"""Operations that read a name, and the bits of their argument that are not its number."""
_LOCAL = {dis.opmap[name] for name in ("LOAD_FAST", "LOAD_FAST_BORROW") if name in dis.opmap}
_POSITIONS = ("__doc__", "__firstlineno__")
"""Names that the body of a class or module gives to its docstring and its line."""


@cache
def code_digest(code: CodeType) -> str:
    """A hash of a code object, and of those inside it, without docstrings and positions. Constants count where they are
    used: the docstring of a function is one that is not."""
    steps, names, constants = bytearray(code.co_code), code.co_names, []
    operations = bytes(steps[::2])
    for number in [number for number, operation in enumerate(operations) if operation in _CONSTANT]:
        place = 2 * number + 1
        argument = steps[place]
        if number > 0 and operations[number - 1] == _EXTENDED:
            argument |= steps[place - 2] << 8
            steps[place - 2] = 0
        steps[place] = 0
        follower = operations[number + 1 : number + 2]
        if not (follower == _STORE_NAME and names[steps[place + 2]] in _POSITIONS):
            constants.append(_constant(code.co_consts[argument]))
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shape = (arguments, names, code.co_freevars, code.co_cellvars, code.co_flags & 0xFF, constants)
    return hashlib.sha256(repr(shape).encode() + steps + code.co_exceptiontable).hexdigest()


def first_line(code: CodeType) -> int:
    """The first line of a function's body, behind its docstring."""
    lines = [line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno]
    return min(lines, default=code.co_firstlineno)


def _lines(code: CodeType) -> str:
    """The lines of a function, from the first of its body on: an index out of bounds names one of them."""
    first = first_line(code)
    return f" {[line - first for _, _, line in code.co_lines() if line is not None and line >= first]}"


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return code_digest(value)
    if isinstance(value, tuple | frozenset):
        parts = [_constant(part) for part in value]
        return f"{type(value).__name__}{parts if isinstance(value, tuple) else sorted(parts)}"
    return f"{type(value).__name__} {value!r}"


@cache
def module_digest(name: str) -> str:
    """A hash of a module's code, likewise; "" if there is no such module, or no code of it."""
    spec: Any = find_spec(name)
    code = spec.loader.get_code(name) if hasattr(getattr(spec, "loader", None), "get_code") else None
    return "" if code is None else code_digest(code)


def modules_digest(*patterns: str) -> str:
    """A hash of the package's modules whose files match one of the patterns."""
    package = Path(__file__).parent.parent
    files = {file.relative_to(package.parent) for pattern in patterns for file in package.glob(pattern)}
    names = sorted(".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files)
    return hashlib.sha256(repr([(name, module_digest(name)) for name in names]).encode()).hexdigest()


# ---- what code reaches ----


class _Walk:
    """Everything that functions reach, in the order in which it is found."""

    def __init__(self, owner: type[Any] | None, strict: bool) -> None:
        self._owner = owner
        self._strict = strict
        self._numbers: dict[int, int] = {}  # by id
        self._functions: list[Any] = []
        self.unknown: list[str] = []

    def lines(self, roots: Iterable[tuple[str, Any]]) -> Iterator[str]:
        """One line for each root, then for each function that is reached."""
        for name, root in roots:
            yield f"{name}={self._text(name, root, is_body=True)}"
        for function in self._functions:  # which grows meanwhile
            bodies = getattr(function, PARTS, None)
            if bodies is not None:
                yield repr([(name, self._text(name, value, is_body=True)) for name, value in bodies(self._owner)])
            else:
                body = python_of(function)
                options = sorted(getattr(function, "targetoptions", {}).items())
                seen = [(name, self._text(name, value)) for name, value in names_in(body)]
                lines = _lines(body.__code__) if self._strict and is_own(body) else ""
                yield f"{body.__module__} {code_digest(body.__code__)} {options} {seen}{lines}"  # it names its module

    def _text(self, name: str, value: Any, *, is_body: bool = False) -> str:
        """Text by which a value is recognised; a function is queued, and stands as its number."""
        body = python_of(value)
        is_choice = hasattr(value, PARTS)
        if is_choice or isinstance(body, FunctionType):
            if not is_choice and is_library(str(body.__module__)):
                return f"{body.__module__}.{body.__qualname__}"
            number = self._numbers.setdefault(id(value), len(self._numbers))
            if number == len(self._functions):
                self._functions.append(value)
            if body is value and self._strict and not is_body and not is_choice and _has_overload(body):
                return f"#{number} {_file_digest(body.__code__.co_filename)}"
            return f"#{number}"
        text = self._plain(name, value)
        if text is None:
            self.unknown.append(name)
            text = f"{type(value).__module__}.{type(value).__qualname__}"
        return text

    def _plain(self, name: str, value: Any) -> str | None:
        """The text of what is not a function; None for what may change without notice."""
        if isinstance(value, type):
            return self._class(name, value)
        if isinstance(value, np.ndarray) and value.dtype != object:
            return f"{value.dtype}{value.shape}{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
        if isinstance(value, tuple):
            return f"{type(value).__qualname__}{[self._text(name, part) for part in value]}"
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, ModuleType):
            return value.__name__
        if isinstance(value, BuiltinFunctionType | np.ufunc | numba.types.Type):
            return str(value) if isinstance(value, numba.types.Type) else value.__name__
        return None

    def _class(self, name: str, value: Any) -> str | None:
        full = f"{value.__module__}.{value.__qualname__}"
        fields = getattr(value, "_fields", None)  # of a named tuple
        if fields is not None:
            return f"{full}{fields}{self._text(name, tuple(value._field_defaults.values()))}"
        return full if is_library(value.__module__) or issubclass(value, BaseException) else None


def text_of(name: str, value: Any) -> str:
    """Text by which a value that code sees is recognised: a function by nothing but that it is one, a value of unknown
    kind by its type."""
    return _Walk(None, strict=False)._text(name, value)


def python_of(value: Any) -> Any:
    """The Python function behind what a compiler's decorator, or a class, made of it."""
    if hasattr(value, PARTS):
        return value
    for attribute in ("py_func", "_defn", "__func__"):
        inner = getattr(value, attribute, None)
        if isinstance(inner, FunctionType):
            return inner
    return value


def names_in(body: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function sees by a name: in its module, in modules that it names, around it, and as a default. What it
    reads of an argument, such as state.arms, is none of these, whatever else has that name."""
    names, attributes = _names(body.__code__)
    visible = [(name, body.__globals__[name]) for name in names if name in body.__globals__]
    for name, cell in zip(body.__code__.co_freevars, body.__closure__ or (), strict=True):
        try:
            visible.append((name, cell.cell_contents))
        except ValueError:  # not filled yet
            visible.append((name, cell))
    modules: set[str] = set()
    for name, value in visible:
        yield name, value
        yield from _attributes(name, value, attributes, modules)
    yield "defaults", (*(body.__defaults__ or ()), *(body.__kwdefaults__ or {}).values())


@cache
def _names(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables that code reads from outside, and the attributes that it reads, except those of its arguments."""
    outside: dict[str, None] = {}  # in the order in which they are first read
    attributes: dict[str, None] = {}
    extended, of_argument = 0, False
    steps = iter(code.co_code)
    for operation, step in zip(steps, steps, strict=True):
        number = step | extended
        extended = number << 8 if operation == _EXTENDED else 0
        if operation in _OUTSIDE:
            outside[code.co_names[number >> _OUTSIDE[operation]]] = None
        elif operation in _ATTRIBUTE and not of_argument:
            attributes[code.co_names[number >> _ATTRIBUTE[operation]]] = None
        if operation != _EXTENDED:
            of_argument = operation in _LOCAL and number < code.co_argcount
    for part in code.co_consts:
        if isinstance(part, CodeType):
            for names, more in zip((outside, attributes), _names(part), strict=True):
                names.update(dict.fromkeys(more))
    return tuple(outside), tuple(attributes)


def _attributes(name: str, value: Any, names: Iterable[str], modules: set[str]) -> Iterator[tuple[str, Any]]:
    """What a function may see in a module that it names, and in modules therein."""
    if isinstance(value, ModuleType) and value.__name__ not in modules and not is_library(value.__name__):
        modules.add(value.__name__)
        for attribute in names:
            if attribute in vars(value):
                yield f"{name}.{attribute}", vars(value)[attribute]
                yield from _attributes(f"{name}.{attribute}", vars(value)[attribute], names, modules)


def _has_overload(function: FunctionType) -> bool:
    """Whether numba compiles other code in place of a function."""
    context: Any = cpu_target.typing_context
    with global_compiler_lock:  # another thread may be compiling
        context.refresh()
        return isinstance(context._lookup_global(function), numba.types.Function)


@cache
def _file_digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def code_key(*roots: Any, owner: type[Any] | None = None) -> str | None:
    """The key of compiled code: of the functions ``roots`` for a policy's class, if one is given. None if it depends on
    a value of which it cannot be said whether it changed."""
    walk = _Walk(owner, strict=True)
    name = "" if owner is None else f"{owner.__module__}.{owner.__qualname__}"
    lines = [_machinery(), name, *walk.lines(("root", root) for root in roots)]
    return None if walk.unknown else _short(lines)


def python_key(cls: type[Any], *functions: Any, without: Iterable[str] = ()) -> str:
    """The key of what a class does in plain Python: its methods (``without`` some), its attributes that are numbers,
    and the functions that these and ``functions`` reach. Other values count by their type."""
    roots: list[tuple[str, Any]] = [(function.__name__, function) for function in functions]
    for base in cls.__mro__:
        if not is_library(base.__module__):
            for name, value in sorted(vars(base).items()):
                body = python_of(getattr(value, "fget", value))
                if not name.startswith("__") and name not in without and isinstance(body, FunctionType | int | float):
                    roots.append((name, body))
    return _short([_machinery(), *_Walk(cls, strict=False).lines(roots)])


@cache
def _machinery() -> str:
    """What every compiled function depends on."""
    modules = [module_digest(f"belated.kernel.{name}") for name in ("jit", "pipeline")]
    return f"{sys.version_info[:2]} {numba.__version__} {modules}"


def _short(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
