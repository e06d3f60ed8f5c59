"""Parameters sections of docstrings, in numpydoc style: read them, and complete those of laws and policies.

The docstring of a class explains its own parameters, without types. When the class is registered, its docstring gets
those that it inherits, in the words of the class that declares them, and of each the allowed values and the default,
from its :class:`~belated.validation.Domain`. So ``help(UCB)`` explains everything, and each text is written once."""

from __future__ import annotations

import re
from dataclasses import replace
from inspect import cleandoc
from textwrap import wrap
from typing import Any, NamedTuple

from belated.validation import Parameter, fields_of

_HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
WIDTH = 100
"""Columns of the sections that are written."""
_ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: *: *(.*))?$")
"""One parameter, or several that share a text."""


class Parts(NamedTuple):
    """A docstring in three parts."""

    before: str
    """What is before the Parameters section; all of a docstring without one, but for the example at its end."""
    parameters: dict[str, tuple[str, str]]
    """The type of each parameter, if it is given, and its text."""
    after: str
    """Examples and other sections."""


def split(doc: str | None) -> Parts:
    """Take a docstring apart.

    >>> split("Add.\\n\\nParameters\\n----------\\na : int\\n    A number.\\nb\\n    Another.\\n\\n>>> add(1, 2)")
    Parts(before='Add.', parameters={'a': ('int', 'A number.'), 'b': ('', 'Another.')}, after='>>> add(1, 2)')
    """
    text = cleandoc(doc or "")
    heading = next((match for match in _HEADING.finditer(text) if match[1] == "Parameters"), None)
    if heading is None:
        example = re.search(r"^(Examples\n-{3,}$|>>> )", text, re.MULTILINE)
        end = len(text) if example is None else example.start()
        return Parts(text[:end].rstrip(), {}, text[end:])
    lines = text[heading.end() :].lstrip("\n").split("\n")
    parameters: dict[str, tuple[str, str]] = {}
    number = 0
    while number < len(lines):
        entry = _ENTRY.match(lines[number])
        if entry is None or number + 1 == len(lines) or not lines[number + 1].startswith("    "):
            break
        number += 1
        first = number
        while number < len(lines) and (not lines[number] or lines[number].startswith("    ")):
            number += 1
        meaning = " ".join(" ".join(lines[first:number]).split())
        parameters.update((name.lstrip("*"), (entry[2] or "", meaning)) for name in entry[1].split(", "))
    return Parts(text[: heading.start()].rstrip(), parameters, "\n".join(lines[number:]).strip("\n"))


def parameter_texts(cls: type) -> dict[str, str]:
    """What each parameter of a class is for: the text of the class itself or of the nearest one that it inherits the
    parameter from; "" where nobody says it."""
    return {name: text for name, (_, text) in _inherited(cls).items()}


def _inherited(cls: Any) -> dict[str, tuple[str, str]]:
    """Type and text of each parameter."""
    known: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        known.update(split(vars(base).get("__doc__")).parameters)
    return {each.name: known.get(each.name, ("", "")) for each in fields_of(cls)}


def complete_docstring(cls: Any) -> None:
    """Give a class the whole Parameters section: all parameters, the allowed values and the defaults."""
    before, _, after = split(cls.__doc__)
    try:
        known = _inherited(cls)
    except NameError:  # an annotation names what does not exist yet
        return
    if not known:
        return
    entries = []
    for parameter in fields_of(cls):
        kind, text = known[parameter.name]
        entries.append(f"{parameter.name}{_described(parameter, kind)}")
        entries += wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    section = "\n".join(["Parameters", "----------", *entries])
    if after.startswith(">>>"):
        after = f"Examples\n--------\n{after}"
    cls.__doc__ = "\n\n".join(part for part in (before, section, after) if part) + "\n"


def _described(parameter: Parameter, kind: str) -> str:
    """`` : allowed values, default ...``; ``kind`` is what the docstring says, without a default."""
    kind = re.sub(r", (default .*|optional)$", "", kind)
    if parameter.domain is not None:
        kind = replace(parameter.domain, optional=False).describe()
    elif isinstance(parameter.default, bool):
        kind = "True or False"
    default = "optional" if parameter.default is None else f"default {parameter.default!r}"
    described = ", ".join(part for part in (kind, "" if parameter.required else default) if part)
    return f" : {described}" if described else ""
