"""Registries: what laws and policies there are, by name, and how one is written down as plain data."""

from __future__ import annotations

import importlib
import pkgutil
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Any, Generic, TypeVar

from belated.errors import BelatedError, InvalidParameter, UnknownName
from belated.validation import fields_of

T = TypeVar("T")
S = TypeVar("S")


class Registry(Generic[T], Mapping[str, type[T]]):
    """The classes of one kind ("reward law", "delay law", "policy") by name; ``plugins`` is the package that holds
    them."""

    def __init__(self, kind: str, plugins: str) -> None:
        self.kind = kind
        self._plugins = plugins
        self._classes: dict[str, type[T]] = {}
        self._listed: list[str] | None = None

    def register(self, cls: type[S]) -> type[S]:
        """Make a frozen dataclass of ``cls`` and list it."""
        made: Any = dataclass(frozen=True)(cls)
        made.__init__ = _clear_errors(made.__init__)
        self._classes[self.name_of(made)] = made
        self._listed = None
        registered: type[S] = made
        return registered

    def __getitem__(self, name: str) -> type[T]:
        importlib.import_module(self._plugins)
        found = self._classes.get(name)
        if found is None and isinstance(name, str) and ":" in name:
            found = _imported(self.kind, name)
        if found is None:
            near = get_close_matches(str(name), self._classes, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UnknownName(
                f"{name!r} is no {self.kind}.{hint} There are {', '.join(sorted(self._classes))}, and your own as "
                "'package.module:ClassName'."
            )
        return found

    def __iter__(self) -> Iterator[str]:
        importlib.import_module(self._plugins)
        if self._listed is None:
            own = f"{self._plugins}."
            self._listed = sorted(name for name, cls in self._classes.items() if cls.__module__.startswith(own))
        return iter(self._listed)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def name_of(self, cls: type) -> str:
        """The name under which ``registry[name]`` finds the class again, also in another process."""
        if cls.__module__.startswith(f"{self._plugins}."):
            return cls.__name__
        return f"{cls.__module__}:{cls.__qualname__}"


def _clear_errors(make: Callable[..., None]) -> Callable[..., None]:
    """A constructor that names what it takes when it is called otherwise."""

    @wraps(make)
    def checked(self: Any, *values: Any, **named: Any) -> None:
        try:
            make(self, *values, **named)
        except TypeError as error:
            takes = ", ".join(f"{p.name}" if p.required else f"{p.name}={p.default!r}" for p in fields_of(type(self)))
            raise InvalidParameter(f"{type(self).__name__} takes ({takes}): {error}.") from error

    return checked


def _imported(kind: str, name: str) -> type[Any]:
    module, _, qualified = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UnknownName(f"{name!r} cannot be imported as a {kind}: {error}.") from error
    except BelatedError:
        raise  # says itself what is wrong, such as that a policy has no label
    except Exception as error:  # whatever the user's own module does while it is imported
        if not module:
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        at = "" if isinstance(error, SyntaxError) else f" (line {last.lineno} of {last.filename})"  # it says so itself
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnknownName(
            f"{name!r} cannot be imported as a {kind}, as its module fails with {said}{at}; mend the module."
        ) from error
    if not isinstance(found, type):
        raise UnknownName(f"{name!r} is no class, so no {kind}.")
    return found


def load_plugins(
    package: str, path: list[str], registry: Mapping[str, type[Any]], export: Callable[[str, type[Any]], None]
) -> None:
    """Import every file of a plug-in folder, and export the class that each registers."""
    for module in sorted(info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_")):
        importlib.import_module(f"{package}.{module}")
    for name in registry:
        export(name, registry[name])
