"""MkDocs hooks: fill in what is generated from the code (laws, policies and errors from their registries, the command
line's help) and render formulas as MathML, so that the pages need no external resources."""

from __future__ import annotations

import html
import importlib.util
import inspect
import os
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

from belated import errors
from belated.delays._base import DELAYS
from belated.parameter_docs import split
from belated.policies import POLICIES
from belated.rewards._base import REWARDS
from belated.studies import experiments
from belated.studies.claims import TESTS
from belated.studies.figures import ROWS
from belated.validation import fields_of

sys.path.insert(0, str(Path(__file__).parent))

from http_reference import http_page, names_page
from markdown_tables import table

ROOT = Path(__file__).parent.parent.parent
ROLE = re.compile(r":\w+:`~?([^`]+)`")
MARKER = re.compile(r"^<!-- generated: (\w+)(?: (.*?))? -->$", re.MULTILINE)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


# ---- docstrings as Markdown ----


def prose(text: str) -> str:
    """Return a docstring as Markdown: doctests and drawings fenced, references as code."""
    lines: list[str] = []
    fenced = None
    for line in text.splitlines():
        if fenced is None and line.startswith(">>>"):
            fenced = "doctest"
            lines.append("```pycon")
        elif fenced == "doctest" and not line.strip():
            lines.append("```")
            fenced = None
        lines.append(line)
    if fenced:
        lines.append("```")
    return ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2]}`", "\n".join(lines))


class Docstrings(griffe.Extension):
    """Docstrings as :func:`prose` has them; an example after a Parameters section gets its heading."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            text = inspect.cleandoc(obj.docstring.value)
            if "\nParameters\n------" in text and "\nExamples\n------" not in text:
                text = re.sub(r"\n\n(?=>>> )", "\n\nExamples\n--------\n", text, count=1)
            obj.docstring.value = prose(text)


# ---- what is generated ----


def parameters(cls: Any) -> str:
    """Return the table of a class's parameters."""
    kinds = split(cls.__doc__).parameters
    rows = [
        [
            f"`{parameter.name}`",
            prose(kinds[parameter.name][1]),
            re.sub(r", (default .*|optional)$", "", kinds[parameter.name][0]),
            "" if parameter.required else f"`{parameter.default!r}`",
        ]
        for parameter in fields_of(cls)
    ]
    return table(["parameter", "meaning", "allowed values", "default"], rows) if rows else "No parameters."


def entry(cls: Any, call: str) -> str:
    """Return the section of a law or policy."""
    label = f' <small>"{cls.label}"</small>' if hasattr(cls, "label") else ""
    parts = [f"### {cls.__name__}{label} {{ #{call}.{cls.__name__} }}", f"`{cls.formula}`{superseded(cls, call)}"]
    text = split(cls.__doc__)
    example = prose(text.after.removeprefix("Examples\n--------\n"))
    return "\n\n".join([*parts, prose(text.before), parameters(cls), example])


def superseded(cls: Any, call: str) -> str:
    """Return by what a policy is superseded, if it is."""
    by = getattr(cls, "superseded_by", "")
    return f" (superseded by [{by}](#{call}.{by}))" if by else ""


def overview(registry: Any, call: str) -> str:
    """Return a table of all classes of a registry, each with its formula."""
    rows = [[f"[{name}](#{call}.{name})", f"`{cls.formula}`{superseded(cls, call)}"] for name, cls in registry.items()]
    return table(["", "formula"], rows)


def registry_page(registry: Any, call: str) -> str:
    """Return the overview and the sections of a registry."""
    return "\n\n".join([overview(registry, call), *(entry(cls, call) for cls in registry.values())])


def kinds_page(kinds: Any) -> str:
    """Return all kinds of tests or rows, each with its keys and their defaults."""
    parts = []
    for name, cls in kinds.items():
        keys = ", ".join(f"{field.name} = {_written(field)}" for field in fields(cls))
        line = f'{{kind = "{name}", {keys}}}'
        parts += [f"### {name}", prose(inspect.getdoc(cls) or ""), f"```toml\n{line}\n```"]
    return "\n\n".join(parts)


def _written(field: Any) -> str:
    """Return the default of a field as TOML; dots if it is required."""
    if field.default_factory is not MISSING:
        return {"dict": "{}", "tuple": "[]"}[field.default_factory.__name__]
    if field.default is MISSING:
        return "..."
    if isinstance(field.default, tuple | bool):
        return {(): "[]", True: "true", False: "false"}[field.default]
    return f'"{field.default}"' if isinstance(field.default, str) else repr(field.default)


def form_page() -> str:
    """Return the format of an experiment file, from the package's docstring."""
    drawing = (experiments.__doc__ or "").partition("::\n")[2]
    return "```text\n" + inspect.cleandoc("\n" + drawing).strip("\n") + "\n```"


def errors_page() -> str:
    """Return the tree of errors from the module's docstring."""
    drawing = (errors.__doc__ or "").partition("::\n")[2]
    tree = [line[4:] for line in drawing.splitlines() if not line or line.startswith("    ")]
    return "```text\n" + "\n".join(tree).strip("\n") + "\n```"


def command_help(arguments: str | None) -> str:
    """Return what ``belated ... --help`` prints."""
    if importlib.util.find_spec("belated.cli") is None:
        return "*This version has no command line.*"
    command = [sys.executable, "-m", "belated", *(arguments or "").split(), "--help"]
    env = {**os.environ, "COLUMNS": "90", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    text = done.stdout.replace("Usage: python -m belated", "Usage: belated")
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n```"


def root_file(name: str) -> str:
    """Return a page of the project's root, with links relative to the documentation."""
    return (ROOT / name).read_text().replace("](docs/", "](")


def generated(match: re.Match[str]) -> str:
    """Return the text that replaces a marker."""
    made = {
        "policies": lambda: registry_page(POLICIES, "policies"),
        "rewards": lambda: registry_page(REWARDS, "rewards"),
        "delays": lambda: registry_page(DELAYS, "delays"),
        "errors": errors_page,
        "form": form_page,
        "tests": lambda: kinds_page(TESTS),
        "rows": lambda: kinds_page(ROWS),
        "http": http_page,
        "names": names_page,
        "file": lambda: root_file(match[2]),
        "help": lambda: command_help(match[2]),
    }
    return made[match[1]]()


# ---- called by MkDocs ----


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in what is generated."""
    return MARKER.sub(generated, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Reject pages that load external resources."""
    foreign = re.findall(r'<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"[^>]*>', output)
    if foreign:
        raise PluginError(f"{page.file.src_path} loads external resources: {foreign}")
    return output


def on_page_content(html_text: str, **_: Any) -> str:
    """Turn formulas into MathML."""
    return FORMULA.sub(
        lambda match: convert(html.unescape(match[2]), display="inline" if match[1] == "span" else "block"), html_text
    )
