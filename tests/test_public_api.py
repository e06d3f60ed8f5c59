"""The public names and their signatures, compared with tests/public_api.txt.

After a deliberate change: ``python tests/test_public_api.py`` writes the file again."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from belated.delays import DELAYS
from belated.policies import POLICIES
from belated.rewards import REWARDS

SNAPSHOT = Path(__file__).parent / "public_api.txt"
PACKAGES = (
    "belated",
    "belated.rewards",
    "belated.delays",
    "belated.policies",
    "belated.theory",
    "belated.client",
    "belated.errors",
    "belated.live.bandit",
    "belated.live.learner",
    "belated.live.reduction",
    "belated.live.types",
    "belated.simulation.animation",
    "belated.simulation.difference",
    "belated.simulation.progress",
    "belated.simulation.result",
    "belated.simulation.result_views",
    "belated.simulation.simulate",
    "belated.simulation.trace",
    "belated.testing",
)


def names_of(module: Any) -> list[str]:
    """The names that a module exports, or the public ones that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def signature_of(value: Any) -> str:
    """The signature, without what depends on the version of Python or the machine."""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"~?(?:[A-Za-z_]\w*\.)+(\w+)", r"\1", text).replace("'", ""))


def lines_of(name: str, value: Any) -> Iterator[str]:
    """A name, and the members of a class."""
    if inspect.ismodule(value):
        yield f"module {name}"
    elif not isinstance(value, type):
        yield f"{name}{signature_of(value)}" if callable(value) else f"{name}: {type(value).__name__}"
    else:
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"class {name}({bases}){signature_of(value)}"
        fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
        yield from (f"    {field}" for field in sorted(fields))
        for member, attribute in sorted(vars(value).items()):
            if member.startswith("_") or member in fields:
                continue
            if isinstance(attribute, classmethod | staticmethod) or inspect.isfunction(attribute):
                yield f"    {member}{signature_of(getattr(value, member))}"
            elif isinstance(attribute, property | cached_property) or inspect.isdatadescriptor(attribute):
                yield f"    {member} (property)"


def public_api(snapshot: str | None = None) -> str:
    """The text of all public names; without laws and policies that a snapshot does not have yet, so that adding one
    does not touch it."""
    lines = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        lines.append(f"# {package}")
        for name in names_of(module):
            is_plugin = any(name in registry for registry in (POLICIES, DELAYS, REWARDS))
            if snapshot is None or not is_plugin or f"class {name}(" in snapshot:
                lines += lines_of(name, getattr(module, name))
        lines.append("")
    return "\n".join(lines)


def test_public_names_and_signatures() -> None:
    snapshot = SNAPSHOT.read_text(encoding="utf-8")
    before, now = snapshot.splitlines(), public_api(snapshot).splitlines()
    diff = "\n".join(difflib.unified_diff(before, now, "tests/public_api.txt", "now", lineterm="", n=1))
    assert not diff, f"the public names have changed; if that is right, run python tests/test_public_api.py\n{diff}"


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api(), encoding="utf-8")
