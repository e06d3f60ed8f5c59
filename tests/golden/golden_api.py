"""The outside of the package: names, parameters, commands, routes. What is recorded must be there; more may be."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from typing import Any

from golden_serving import Server

MODULES = ("belated", "belated.policies", "belated.delays", "belated.rewards", "belated.errors", "belated.theory")
SHOWN = {
    "belated": ("ArmSummary", "AsyncClient", "Bandit", "Client", "Decision", "Problem", "Result", "Sweep"),
    "belated.delays": ("DelayLaw",),
    "belated.rewards": ("RewardLaw",),
}
"""Classes whose methods and fields are recorded too."""
COMMANDS = ("policies", "laws", "simulate", "sweep", "plot", "bounds", "reproduce", "arena", "serve", "verify")
MORE_COMMANDS = ("import", "demo", "keys", "keys create", "keys list", "keys revoke")


RENAMED: dict[str, dict[str, str | None]] = {
    "belated.errors": {
        "Refused": "ApiError",
        "AlreadyThere": "DuplicateError",
        "OtherVersion": "IncompatibleState",
        "FigureNotSaved": None,
    },
    "belated.theory": {"Row": "TableRow", "reduction": None, "Reduction": None, "Played": None, "THEOREMS": None},
}
"""Names that changed on purpose, as the changelog says: under another name, or None where they left the module (the
reduction is in ``belated.live``, a policy names its own theorem, and figures are saved in the same process)."""


DEFAULTS = {"confidence": ("None", "1.0"), "seed": ("0", "None")}
"""Defaults that changed on purpose: was, is; ``seed`` of a live bandit alone."""


def renamed(then: Any) -> Any:
    """The record with the names, and the defaults, as they are now."""
    changed = {
        module: {name: _with_defaults(name, value) for name, value in names.items()} for module, names in then.items()
    }
    for module, names in RENAMED.items():
        kept = {names.get(name, name): value for name, value in then[module].items()}
        changed[module] = {name: value for name, value in kept.items() if name is not None}
        for name, bases in changed[module].items():
            if isinstance(bases, list):
                changed[module][name] = [names.get(base, base) for base in bases]
    return changed


def _with_defaults(name: str, parameters: Any) -> Any:
    """The parameters of a policy, or of a bandit, with the defaults of now."""
    if not isinstance(parameters, dict):
        return parameters
    changed = [key for key, (was, _) in DEFAULTS.items() if parameters.get(key) == was]
    return parameters | {key: DEFAULTS[key][1] for key in changed if key != "seed" or name == "Bandit"}


MARK = "-+- next -+-"
HELP = f"""
import contextlib, runpy, sys
for command in sys.argv[1:]:
    print({MARK!r}, flush=True)
    sys.argv = ["belated", *command.split(), "--help"]
    with contextlib.suppress(SystemExit):
        runpy.run_module("belated", run_name="__main__")
"""
WIDE = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}


def names_of(module: str) -> list[str]:
    """The public names of a module: those it lists, or the classes of its own."""
    found: Any = importlib.import_module(module)
    listed = getattr(found, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(found).items() if inspect.isclass(value) and value.__module__ == module]
    return sorted(name for name in listed if not name.startswith("_"))


def parameters_of(value: Any) -> dict[str, str]:
    """Of each parameter its default, as text; "" where there is none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return {}
    return {
        name: "" if each.default is each.empty else repr(each.default) if _is_plain(each.default) else "..."
        for name, each in signature.parameters.items()
        if not name.startswith("_") and name not in ("self", "args", "kwds", "kwargs", "record", "source")
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def members_of(cls: type) -> list[str]:
    """The public methods and fields of a class."""
    fields = list(getattr(cls, "__dataclass_fields__", {})) + list(getattr(cls, "_fields", []))
    found = {name for name in (*dir(cls), *fields) if not name.startswith("_")}
    return sorted(found - {"record", "source", "encode"})


def python() -> dict[str, Any]:
    """Modules, names, parameters, members, and the kinds of errors."""
    found: dict[str, Any] = {}
    for module in MODULES:
        names: dict[str, Any] = {}
        for name in names_of(module):
            value = getattr(importlib.import_module(module), name)
            if module == "belated.errors":
                names[name] = sorted(base.__name__ for base in value.__mro__[1:] if base is not object)
            elif callable(value):
                names[name] = parameters_of(value)
            else:
                names[name] = {}
        found[module] = names
    found["members"] = {
        f"{module}.{name}": members_of(getattr(importlib.import_module(module), name))
        for module, shown in SHOWN.items()
        for name in shown
    }
    return found


def commands() -> dict[str, list[str]]:
    """Of each command its options, as ``--help`` shows them; all asked for in one process."""
    wanted = (*COMMANDS, *MORE_COMMANDS)
    done = subprocess.run(
        [sys.executable, "-c", HELP, *wanted], capture_output=True, text=True, check=True, env={**os.environ, **WIDE}
    )
    texts = done.stdout.split(MARK)[1:]
    assert len(texts) == len(wanted), done.stderr
    return {
        command: sorted(set(re.findall(r"^[│| ]*(?:-[a-z], )?(--[a-z][a-z-]*)", text, re.MULTILINE)))
        for command, text in zip(wanted, texts, strict=True)
    }


def routes(server: Server) -> dict[str, Any]:
    """Of each method and path: what it takes (and must have), and what each good answer has."""
    document = json.loads(server.ask("GET", "/openapi.json")[1])
    found = {}
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            if method not in ("get", "post"):
                continue
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            takes, needs = _properties(document, body)
            gives: dict[str, list[str]] = {}
            for status, answer in about["responses"].items():
                for kind, each in answer.get("content", {}).items():
                    keys = _properties(document, each.get("schema", {}))[0]
                    gives[f"{status} {kind}"] = keys if int(status) < 400 else []
            query = sorted(each["name"] for each in about.get("parameters", []) if each.get("in") == "query")
            found[f"{method.upper()} {path}"] = {"takes": takes, "needs": needs, "query": query, "gives": gives}
    return found


def _properties(document: dict[str, Any], schema: dict[str, Any]) -> tuple[list[str], list[str]]:
    """(the keys of an object, those that it must have); of several forms, all together."""
    if "$ref" in schema:
        target: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return _properties(document, target)
    keys, needed = set(schema.get("properties", {})), set(schema.get("required", []))
    for each in (*schema.get("anyOf", []), *schema.get("oneOf", [])):
        more = _properties(document, each)
        keys |= set(more[0])
    return sorted(keys), sorted(needed)


def metrics(server: Server) -> list[str]:
    """The names and kinds of the counters of the server's own."""
    text = server.ask("GET", "/metrics")[1].decode()
    found = set(re.findall(r"^# TYPE (belated_\w+ \w+)$", text, re.MULTILINE))
    return sorted(each for each in found if "_created " not in each)


def missing(then: Any, now: Any, where: str = "") -> list[str]:
    """What was there and is not, or is another one: of lists the items, of tables the keys."""
    if isinstance(then, dict):
        if not isinstance(now, dict):
            return [f"{where}: gone"]
        return [
            line
            for key, value in then.items()
            for line in (missing(value, now[key], f"{where} {key}") if key in now else [f"{where} {key}: gone"])
        ]
    if isinstance(then, list):
        return [f"{where} {item}: gone" for item in then if item not in now]
    return [] if then == now else [f"{where}: was {then!r}, is {now!r}"]
