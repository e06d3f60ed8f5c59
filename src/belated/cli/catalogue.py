"""Registries as tables: what there is, the formula of each, its parameters with domain and default."""

from __future__ import annotations

import ast
import contextlib
import doctest
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, get_type_hints

from belated.formatting import grouped

if TYPE_CHECKING:
    from rich.console import RenderableType

    from belated.registry import Registry
    from belated.validation import Parameter

KINDS = {
    "Sequence[float]": "a list of numbers",
    "Sequence[int]": "a list of whole numbers",
    "<class 'bool'>": "true or false",
}


def overview(title: str, registry: Registry[Any]) -> RenderableType:
    """All classes of a registry; parameters that all of them have are listed once."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from belated.validation import fields_of

    classes = list(registry.values())
    common = [one for one in fields_of(classes[0]) if all(one in fields_of(cls) for cls in classes)]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, cls in registry.items():
        label = getattr(cls, "label", name)
        lines: list[RenderableType] = [] if label == name else [Text(name, style="bold")]
        lines += [Text(cls.formula, style="green"), parameter_table(cls, without=common)]
        table.add_row(label, Group(*lines))
    if common:
        table.add_row("all", parameter_table(classes[0], only=common))
    return Group(Text(title, style="bold underline"), Text(""), table, Text(""))


def details(key: str, registry: Registry[Any], name: str) -> RenderableType:
    """All that a class says of itself, and how it is written in a file."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    cls: Any = registry[name]
    label = getattr(cls, "label", name)
    heading = Text.assemble((name, "bold cyan"), (f"  {registry.kind}", "dim"))
    if label != name:
        heading.append(f", shown as {label}", "dim")
    parts: list[RenderableType] = [Text(""), heading, Text(cls.formula, style="green")]
    for paragraph in prose(cls):
        parts += [Text(""), Text(paragraph)]
    parts += [Text(""), Text("Parameters", style="bold"), parameter_table(cls)]
    parts += [Text(""), Text("In a file", style="bold"), Text(written(key, cls), style="yellow"), Text("")]
    return Padding(Group(*parts), (0, 1))


def prose(cls: type) -> list[str]:
    """The paragraphs of a class's docstring, without doctests and marks."""
    text = cleandoc(cls.__doc__ or "")
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    paragraphs = [part for part in text.split("\n\n") if not part.lstrip().startswith(">>>")]
    return [part if "\n-" in f"\n{part}" else " ".join(part.split()) for part in paragraphs]


def parameter_table(
    cls: Any, *, only: Sequence[Parameter] | None = None, without: Sequence[Parameter] = ()
) -> RenderableType:
    """Name, domain and default of each parameter."""
    from rich.table import Table
    from rich.text import Text

    from belated.specs import EXAMPLES
    from belated.validation import fields_of

    shown = [one for one in fields_of(cls) if one not in without and (only is None or one in only)]
    if not shown:
        return Text("no parameters", style="dim")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    for parameter in shown:
        if parameter.domain is None and cls.__name__ in EXAMPLES:
            key, _, value = EXAMPLES[cls.__name__].partition(" = ")
            table.add_row(key, f"such as {value}", "")
        else:
            table.add_row(parameter.name, domain_of(cls, parameter), default_of(parameter))
    return table


def default_of(parameter: Parameter) -> str:
    """What a parameter is if it is left out."""
    if parameter.required:
        return ""
    if isinstance(parameter.default, bool):
        return f"default {str(parameter.default).lower()}"
    return "may be left out" if parameter.default is None else f"default {grouped(parameter.default)}"


def domain_of(cls: Any, parameter: Parameter) -> str:
    """What a parameter may be, in words."""
    if parameter.domain is not None:
        return replace(parameter.domain, optional=False).describe()
    kind = str(get_type_hints(cls)[parameter.name])
    return KINDS.get(kind.rpartition("abc.")[2], kind)


def written(key: str, cls: Any) -> str:
    """A line of a file that asks for the class: the object that its doctest makes."""
    from belated.specs import EXAMPLES

    if cls.__name__ in EXAMPLES:
        rest = [EXAMPLES[cls.__name__]]
    else:
        rest = [f"{name} = {json.dumps(value)}" for name, value in _example(cls).items()]
    lines = [f'{key} = "{cls.__name__}"', *rest]
    if key == "policy":
        return "\n".join(["[[policies]]", *lines])
    return "{" + ", ".join(lines) + "}"


def _example(cls: Any) -> dict[str, Any]:
    """The arguments with which the class is made in its docstring."""
    from belated.validation import fields_of

    names = [parameter.name for parameter in fields_of(cls)]
    for example in doctest.DocTestParser().get_examples(cls.__doc__ or ""):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == cls.__name__:
                with contextlib.suppress(ValueError):
                    given = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
                    given.update(zip(names, map(ast.literal_eval, node.args), strict=False))
                    return {name: given[name] for name in names if name in given and name != "horizon"}
    return {}


def look_up(name: str, registries: Mapping[str, Registry[Any]]) -> list[RenderableType]:
    """The details of the name in each registry that has it; an error with the nearest name if none has."""
    from belated.errors import UnknownName
    from belated.specs.tables import suggest

    found = [
        details("policy" if registry.kind == "policy" else "law", registry, known)
        for registry in registries.values()
        for known, cls in registry.items()
        if name.lower() in (known.lower(), getattr(cls, "label", known).lower())
    ]
    if not found:
        names = [known for registry in registries.values() for known in registry]
        kinds = " or ".join(registry.kind for registry in registries.values())
        raise UnknownName(f"{name!r} is no {kinds}.{suggest(name, names)} There are {', '.join(dict.fromkeys(names))}.")
    return found
