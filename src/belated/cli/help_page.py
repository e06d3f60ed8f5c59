"""``--help`` as one page that fits the terminal: usage, text, arguments, options, commands.

The text of a command is markup for rich, one line a paragraph. Lines that begin with ``>`` are code: they are indented,
and broken only where a terminal is too narrow for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import typer
import typer.core
from rich.box import ROUNDED
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from belated.cli.console import fail
from belated.errors import BelatedError

MAX_WIDTH = 100
"""Longer lines are hard to read."""
CODE_INDENT, CONTINUED_INDENT = 2, 4
"""Of a line of code, and of its rest in a terminal that is too narrow for it."""


class HelpCommand(typer.core.TyperCommand):
    """A command whose help is such a page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_page(self, ctx))


class HelpGroup(typer.core.TyperGroup):
    """A group of commands whose help is such a page, and whose mistaken options are errors like all others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_page(self, ctx))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _USAGE_ERROR as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
                raise
            fail(_what_is_wrong(error))
        except BelatedError as error:  # of an option's own check
            fail(str(error))


_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]


def _what_is_wrong(error: Any) -> str:
    """A mistake in the options: which one, what was given, and what is allowed."""
    listed: list[Any] = getattr(error.__cause__, "errors", list)()
    if not listed or getattr(error, "param", None) is None:
        path = error.ctx.command_path if error.ctx is not None else "belated"
        return f"{error.format_message().rstrip('.')}; see {path} --help."
    name, given, kind = error.param.opts[-1], str(listed[0]["input"]), listed[0]["type"]
    nouns = {"int_parsing": "a whole number", "float_parsing": "a number"}
    if kind in nouns:
        return f"{name} is {given!r}; give {nouns[kind]}."
    if kind == "greater_than_equal":
        return f"{name} is {given}; give a number >= {listed[0]['ctx']['ge']}."
    return f"{name} is {given!r}: {error.message}."


def help_page(command: Any, context: Any) -> str:
    """The page, with the colours that the terminal has."""
    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, MAX_WIDTH)
    with console.capture() as capture:
        for part in _parts(command, context, console):
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def _parts(command: Any, context: Any, console: Console) -> Iterator[RenderableType]:
    shown = [parameter for parameter in command.get_params(context) if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    options = [parameter for parameter in shown if parameter.param_type_name == "option"]
    usage = " ".join([context.command_path, "[OPTIONS]", *map(_argument, arguments)])
    if hasattr(command, "list_commands"):
        usage += " COMMAND ..."
    yield Padding(Text.assemble(("Usage: ", "bold yellow"), (usage, "bold")), (1, 1))
    yield from (Padding(line, (0, 1)) for line in _lines(command.help or "", console))
    yield Text("")
    if any(parameter.help for parameter in arguments):
        yield _panel("Arguments", ((_argument(parameter), _described(parameter, context)) for parameter in arguments))
    yield _panel("Options", ((_option(parameter), _described(parameter, context)) for parameter in options))
    if hasattr(command, "list_commands"):
        commands = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        rows = ((name, Text.from_markup((one.help or "").partition("\n")[0])) for name, one in commands)
        yield _panel("Commands", rows)


def _lines(markup: str, console: Console) -> Iterator[RenderableType]:
    """The paragraphs and lines of code of a text."""
    for line in markup.splitlines():
        if not line.startswith(">"):
            yield Text.from_markup(line)
            continue
        code, room = Text.from_markup(line[1:].removeprefix(" ")), console.width - 2 - CODE_INDENT
        pieces = [code] if code.cell_len <= room else code.wrap(console, room - CONTINUED_INDENT)
        for number, piece in enumerate(pieces):
            yield Padding(piece, (0, 0, 0, CODE_INDENT + (CONTINUED_INDENT if number else 0)))


def _panel(title: str, rows: Iterable[tuple[str, Text]]) -> Panel:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, text in rows:
        table.add_row(name, text)
    return Panel(table, title=title, title_align="left", border_style="dim", box=ROUNDED)


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    if parameter.nargs == -1:
        return f"[{name}]..."
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    """The names of an option, the short one first, and what it takes."""
    names = ", ".join(sorted([*parameter.opts, *parameter.secondary_opts], key=len))
    return names if parameter.is_flag or parameter.count else f"{names} {parameter.metavar or 'TEXT'}"


def _described(parameter: Any, context: Any) -> Text:
    text = Text(parameter.help or "")
    default = parameter.show_default
    if default is True or default is None:
        value = parameter.get_default(context, call=False)
        default = "" if value is None or isinstance(value, bool) or not str(value) else str(value)
    if default and parameter.param_type_name == "option" and not parameter.is_flag:
        text.append(f" [default: {default}]", style="dim")
    return text
