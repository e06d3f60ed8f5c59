"""``belated policies`` and ``belated laws``: the registries as tables of formulas, parameters, domains and defaults."""

from __future__ import annotations

import ast
import contextlib
import doctest
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from belated.cli import completion
from belated.cli.console import console, error_messages
from belated.cli.json_output import print_json
from belated.cli.options import Json
from belated.errors import UnknownName
from belated.formatting import grouped
from belated.parameter_docs import parameter_texts, split
from belated.registry import Registry
from belated.validation import Parameter, fields_of

SYMBOLS = (
    "For one arm: m pulls, n rewards observed so far (at least 1), S their sum. K arms, T the horizon. c is "
    'confidence, or ln T if that is "theory". A simulation sets horizon; delta only matters to a live bandit with '
    'confidence "theory" and no horizon.'
)
TYPES = {
    "Sequence[float]": "a list of numbers",
    "Sequence[int]": "a list of whole numbers",
    "<class 'bool'>": "true or false",
}


def policies_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Describe one policy.", autocompletion=completion.policies),
    ] = None,
    json: Json = False,
) -> None:
    """List the policies, or describe one."""
    with error_messages():
        from belated.policies import POLICIES

        registries: dict[str, Registry[Any]] = {"Policies": POLICIES}
        if json:
            print_json({"policies": _data(name, registries)})
        else:
            _show(name, registries, SYMBOLS, "Details of one policy: belated policies NAME")


def laws_command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Describe one law.", autocompletion=completion.laws)
    ] = None,
    json: Json = False,
) -> None:
    """List the reward and delay laws, or describe one."""
    with error_messages():
        from belated.delays import DELAYS
        from belated.rewards import REWARDS

        registries: dict[str, Registry[Any]] = {
            "Reward laws: distributions on [0, 1], and in other units": REWARDS,
            "Delay laws: distributions on 0, 1, 2, ..., never": DELAYS,
        }
        if json:
            print_json({"laws": _data(name, registries)})
        else:
            _show(name, registries, "Details of one law: belated laws NAME")


def _show(name: str | None, registries: Mapping[str, Registry[Any]], *notes: str) -> None:
    """Print the registries, by title, and the notes; or the details of one class."""
    screen = console()
    if name is not None:
        screen.print(*(_details(*match) for match in _look_up(name, list(registries.values()))))
        return
    for title, registry in registries.items():
        screen.print(_overview(title, registry))
    for note in notes:
        screen.print(note, style="dim")


def _overview(title: str, registry: Registry[Any]) -> RenderableType:
    """All classes of a registry; common parameters are listed once."""
    classes = list(registry.values())
    common = [item for item in fields_of(classes[0]) if all(item in fields_of(cls) for cls in classes)]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 1, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, cls in registry.items():
        label = getattr(cls, "label", name)
        lines: list[RenderableType] = [] if label == name else [Text(name, style="bold")]
        lines += [
            Text(cls.formula, style="green"),
            *_superseded(cls),
            _parameter_table(cls, [item for item in fields_of(cls) if item not in common]),
        ]
        table.add_row(label, Group(*lines))
    if common:
        table.add_row("all", _parameter_table(classes[0], common))
    return Group(Text(title, style="bold underline"), Text(""), table, Text(""))


def _details(registry: Registry[Any], name: str) -> RenderableType:
    """The documentation of a class, and an example for a file."""
    cls: Any = registry[name]
    key = "policy" if registry.kind == "policy" else "law"
    label = getattr(cls, "label", name)
    heading = Text.assemble((name, "bold cyan"), (f"  {registry.kind}", "dim"))
    if label != name:
        heading.append(f", shown as {label}", "dim")
    parts: list[RenderableType] = [Text(""), heading, Text(cls.formula, style="green"), *_superseded(cls)]
    for paragraph in _prose(cls):
        parts += [Text(""), Text(paragraph)]
    parts += [Text(""), Text("Parameters", style="bold"), _parameter_table(cls, fields_of(cls))]
    for parameter, text in parameter_texts(cls).items():
        parts += [Text(""), Text.assemble((parameter, "yellow"), f": {text.replace('``', '')}")]
    parts += [Text(""), Text("In a file", style="bold"), Text(example_toml(key, cls), style="yellow"), Text("")]
    return Padding(Group(*parts), (0, 1))


def _superseded(cls: Any) -> list[Text]:
    """By what a policy is superseded, if it is."""
    by = getattr(cls, "superseded_by", "")
    return [Text(f"superseded by {by}", style="bold yellow")] if by else []


def _prose(cls: type) -> list[str]:
    """The paragraphs of a class's docstring, without sections, doctests and markup."""
    text = split(cls.__doc__).before
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return [part if "\n-" in f"\n{part}" else " ".join(part.split()) for part in text.split("\n\n")]


def _parameter_table(cls: Any, parameters: Sequence[Parameter]) -> RenderableType:
    """Name, domain and default of some parameters of a class."""
    from belated.specs.laws import EXAMPLES

    if not parameters:
        return Text("no parameters", style="dim")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="yellow", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    for parameter in parameters:
        if parameter.domain is None and parameter.required and cls.__name__ in EXAMPLES:
            key, _, value = EXAMPLES[cls.__name__].partition(" = ")
            table.add_row(key, f"such as {value}", "")
        else:
            table.add_row(parameter.name, _domain(cls, parameter), _default(parameter))
    return table


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return ""
    if isinstance(parameter.default, bool):
        return f"default {str(parameter.default).lower()}"
    return "optional" if parameter.default is None else f"default {grouped(parameter.default)}"


def _domain(cls: Any, parameter: Parameter) -> str:
    if parameter.domain is not None:
        return replace(parameter.domain, optional=False).describe()
    annotation = str(get_type_hints(cls)[parameter.name])
    return TYPES.get(annotation.rpartition("abc.")[2], annotation)


def example_toml(key: str, cls: Any) -> str:
    """TOML for the object that the doctest of a class makes."""
    from belated.specs.laws import EXAMPLES

    if cls.__name__ in EXAMPLES:
        rest = [EXAMPLES[cls.__name__]]
    else:
        rest = [f"{name} = {dumps(value)}" for name, value in _example(cls).items()]
    lines = [f'{key} = "{cls.__name__}"', *rest]
    if key == "policy":
        return "\n".join(["[[policies]]", *lines])
    return "{" + ", ".join(lines) + "}"


def _example(cls: Any) -> dict[str, Any]:
    """The arguments of the constructor in the docstring of a class."""
    names = [parameter.name for parameter in fields_of(cls)]
    for example in doctest.DocTestParser().get_examples(cls.__doc__ or ""):
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == cls.__name__:
                with contextlib.suppress(ValueError):
                    arguments = {str(item.arg): ast.literal_eval(item.value) for item in node.keywords}
                    arguments.update(zip(names, map(ast.literal_eval, node.args), strict=False))
                    return {name: arguments[name] for name in names if name in arguments and name != "horizon"}
    return {}


def _data(name: str | None, registries: Mapping[str, Registry[Any]]) -> list[dict[str, Any]]:
    """All classes of the registries, or those of one name, as plain data."""
    every = [(registry, known) for registry in registries.values() for known in registry]
    return [
        {
            "name": known,
            "kind": registry.kind,
            "label": getattr(registry[known], "label", known),
            "formula": registry[known].formula,
            "superseded_by": getattr(registry[known], "superseded_by", "") or None,
            "parameters": [_parameter_data(registry[known], parameter) for parameter in fields_of(registry[known])],
            "example": example_toml("policy" if registry.kind == "policy" else "law", registry[known]),
        }
        for registry, known in (every if name is None else _look_up(name, list(registries.values())))
    ]


def _parameter_data(cls: Any, parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "allowed": _domain(cls, parameter),
        "required": parameter.required,
        "default": None if parameter.required else parameter.default,
    }


def _look_up(name: str, registries: Sequence[Registry[Any]]) -> list[tuple[Registry[Any], str]]:
    """The class of this name in each registry; an error that suggests a name if there is none."""
    from belated.policies._base.names import variant_hint
    from belated.specs.tables import suggest

    matches = [
        (registry, known)
        for registry in registries
        for known, cls in registry.items()
        if name.lower() in (known.lower(), getattr(cls, "label", known).lower())
    ]
    if not matches:
        names = list(dict.fromkeys(known for registry in registries for known in registry))
        kinds = " or ".join(registry.kind for registry in registries)
        hint = variant_hint(name) if kinds == "policy" else ""
        raise UnknownName(f"{name!r} is not a {kinds}.{hint or suggest(name, names)} There are {', '.join(names)}.")
    return matches
