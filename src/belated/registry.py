"""Registries of laws and policies by name, and packages whose names are loaded when they are first used."""

from __future__ import annotations

import ast
import importlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from belated.errors import BelatedError, InvalidParameter, UnknownName
from belated.parameter_docs import complete_docstring
from belated.validation import fields_of

T = TypeVar("T")
S = TypeVar("S")

_EXPORTS: dict[str, dict[str, tuple[str, str]]] = {}
"""Of each package with lazy exports: name -> (module, name in the module)."""


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that exports the imports under ``if TYPE_CHECKING:`` of
    its ``__init__.py``, each loaded when it is first used (PEP 562). So an export is one line, and type checkers read
    the same."""
    exports = _EXPORTS[package] = dict(_type_checking_imports(Path(file).read_text(encoding="utf-8")))

    def load(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = exports[name]
        loaded = importlib.import_module(module)
        is_attribute = hasattr(loaded, attribute)
        value = getattr(loaded, attribute) if is_attribute else importlib.import_module(f"{module}.{attribute}")
        setattr(importlib.import_module(package), name, value)
        return value

    return load, lambda: sorted(exports), sorted(exports)


def _type_checking_imports(source: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """(name, (module, name in the module)) of the ``from`` imports under ``if TYPE_CHECKING:``."""
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((name.asname or name.name, (line.module, name.name)) for name in line.names)


def class_names(package: str) -> list[str]:
    """The names of a package's laws or policies, without loading their modules."""
    importlib.import_module(package)
    public = f"{package}."
    return sorted(
        name
        for name, (module, _) in _EXPORTS[package].items()
        if module.startswith(public) and not module.startswith(f"{public}_")
    )


class Registry(Generic[T], Mapping[str, type[T]]):
    """The classes of one ``kind`` ("reward law", "delay law", "policy") by name. Those of the package are what
    ``package`` exports from its modules without a leading underscore, one class a module; a user's own are found as
    "module:ClassName"."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._classes: dict[str, type[T]] = {}

    def register(self, cls: type[S]) -> type[S]:
        """Make a frozen dataclass of ``cls``, whose docstring explains every parameter, and add it."""
        registered: Any = dataclass(frozen=True)(cls)
        registered.__init__ = _explain_arguments(registered.__init__)
        complete_docstring(registered)
        self._classes[self.name_of(registered)] = registered
        return registered  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> type[T]:
        if name in self._names():
            getattr(importlib.import_module(self._package), name)
        cls = self._classes.get(name)
        if cls is None and isinstance(name, str) and ":" in name:
            cls = _import_class(self.kind, name)
        if cls is None:
            close = get_close_matches(str(name), self, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise UnknownName(
                f"{name!r} is not a {self.kind}.{hint} There are {', '.join(self)}; give your own as "
                "'package.module:ClassName'."
            )
        return cls

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        return class_names(self._package)

    def name_of(self, cls: type) -> str:
        """The name under which ``registry[name]`` finds the class again, also in another process."""
        if cls.__module__.startswith(f"{self._package}."):
            return cls.__name__
        return f"{cls.__module__}:{cls.__qualname__}"


def _explain_arguments(make: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose TypeError becomes an error that names the parameters."""

    @wraps(make)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        try:
            make(self, *values, **named)
        except TypeError as error:
            takes = ", ".join(f"{p.name}" if p.required else f"{p.name}={p.default!r}" for p in fields_of(type(self)))
            raise InvalidParameter(f"{type(self).__name__} takes ({takes}): {error}.") from error

    return checked


def import_object(name: str) -> Any:
    """Import what "module:name" names; whatever the module raises passes through."""
    module, _, qualified = name.partition(":")
    return attrgetter(qualified)(importlib.import_module(module))


def _import_class(kind: str, name: str) -> type[Any]:
    """Import a user's class by "module:ClassName"."""
    try:
        cls = import_object(name)
    except (ImportError, AttributeError) as error:
        raise UnknownName(f"{name!r} cannot be imported as a {kind}: {error}.") from error
    except BelatedError:
        raise  # its message says what is wrong, such as that a policy has no label
    except Exception as error:  # anything that the user's module raises while it is imported
        if name.startswith(":"):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        at = "" if isinstance(error, SyntaxError) else f" (line {last.lineno} of {last.filename})"  # it says so itself
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnknownName(
            f"{name!r} cannot be imported as a {kind}, as its module fails with {message}{at}; fix the module."
        ) from error
    if not isinstance(cls, type):
        raise UnknownName(f"{name!r} is not a class; give a {kind} as 'package.module:ClassName'.")
    return cls
