"""Pages from templates; whatever they show is escaped."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from belated._version import __version__
from belated.service.dashboard import charts, formatting
from belated.service.dashboard.aggregates import slots

ASSETS = {"style.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}


@cache
def asset(name: str) -> bytes:
    """A file that pages ask for."""
    return (files("belated.service.dashboard") / "assets" / name).read_bytes()


@cache
def asset_address(name: str) -> str:
    """Where it is; another one for every version of it."""
    return f"/assets/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:12]}"


def experiment_address(name: str) -> str:
    """The page of an experiment; with a slash at its end where the name looks like a JSON twin."""
    return f"/experiments/{name}{'/' if name.endswith('.json') else ''}"


@cache
def environment() -> Environment:
    """The templates and what they can use."""
    folder = files("belated.service.dashboard") / "templates"
    made = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        charts=charts, words=formatting, slots=slots, asset=asset_address, link=experiment_address, version=__version__
    )
    return made


def rendered(template: str, **values: Any) -> str:
    """A page."""
    return environment().get_template(template).render(**values)
