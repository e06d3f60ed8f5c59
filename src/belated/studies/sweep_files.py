"""Sweeps as files: one archive with a description and the result of each value."""

from __future__ import annotations

import json
import math
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from belated._version import __version__
from belated.atomic_output import new_file
from belated.delays import DelayLaw
from belated.errors import BelatedError, StateError
from belated.policies import Policy
from belated.rewards import Bernoulli, RewardLaw
from belated.simulation.result import Result
from belated.specs.laws import delay_spec, policy_spec, read_delay, read_policy, read_reward, reward_spec
from belated.studies.study import Axis

if TYPE_CHECKING:
    from belated.studies.sweep import Sweep

FORMAT = 1
"""Version of the format of a saved sweep."""
SUFFIX = ".sweep"
_HEAD = "sweep.json"


def save_sweep(sweep: Sweep, path: str | os.PathLike[str]) -> Path:
    """Write a sweep to one file, whole or not at all; return its path."""
    target = Path(path)
    if target.suffix != SUFFIX:
        target = target.with_name(target.name + SUFFIX)
    axes = [{"name": axis.name, "values": [_plain(value) for value in axis.values]} for axis in sweep.axes]
    head = {"format": FORMAT, "version": __version__, "name": sweep.name, "labels": sweep.labels, "axes": axes}
    with (
        new_file(target) as file,
        tempfile.TemporaryDirectory() as folder,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(_HEAD, json.dumps(head | {"results": len(sweep.results)}, indent=1))
        for number, result in enumerate(sweep.results):  # compressed already
            archive.write(result.save(Path(folder) / "result.npz"), _member(number))
    return target


class SavedSweep(NamedTuple):
    """What a file holds of a sweep."""

    name: str
    axes: tuple[Axis, ...]
    labels: list[str]
    results: list[Result]


def load_sweep(path: str | os.PathLike[str]) -> SavedSweep:
    """What is in a file that :func:`save_sweep` wrote."""
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            head = json.loads(archive.read(_HEAD))
            if head["format"] != FORMAT:
                raise StateError(
                    f"{os.fspath(path)!r} has format {head['format']!r}; this version of belated reads format "
                    f"{FORMAT}. Use belated {head.get('version')}."
                )
            results = []
            for number in range(head["results"]):
                file = Path(folder) / "result.npz"
                file.write_bytes(archive.read(_member(number)))
                results.append(Result.load(file))
            axes = tuple(Axis(str(axis["name"]), tuple(map(_restored, axis["values"]))) for axis in head["axes"])
            if math.prod(len(axis.values) for axis in axes) != len(results):
                raise StateError(
                    f"{os.fspath(path)!r} is damaged: it has {len(results)} results, and its axes other numbers of "
                    "values; save the sweep again."
                )
            return SavedSweep(str(head["name"]), axes, list(head["labels"]), results)
    except FileNotFoundError:
        raise StateError(f"there is no file {os.fspath(path)!r}; give the path that Sweep.save returned.") from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, StateError):
            raise
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise StateError(f"{os.fspath(path)!r} is not a sweep of belated, or is damaged: {reason}.") from error


def _member(number: int) -> str:
    return f"results/{number}.npz"


def _plain(value: Any) -> Any:
    """A value as JSON has it: ``{"tuple": [...]}`` for a tuple, ``{"delay law": {...}, "text": ...}`` for a law;
    other objects as their text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(part) for part in value]}
    for kind, (cls, write, read) in _OBJECTS.items():
        if isinstance(value, cls):
            try:
                spec = json.loads(json.dumps(write(value)))
                if repr(read(spec)) == repr(value):  # distributions of scipy do not compare
                    return {kind: spec, "text": repr(value)}
            except BelatedError:  # such as a law by a function, which is not data
                pass
    return repr(value)


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind, spec = next(iter(value.items()))
    if kind == "tuple":
        return tuple(map(_restored, spec))
    try:
        return _OBJECTS[kind][2](spec)
    except BelatedError:  # a class of one's own, which is not there
        return str(value["text"])


_OBJECTS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "delay law": (DelayLaw, lambda law: delay_spec(law, Bernoulli(0.5)), lambda spec: read_delay(spec, "value")),
    "reward law": (RewardLaw, reward_spec, lambda spec: read_reward(spec, "value")),
    "policy": (Policy, policy_spec, lambda spec: read_policy(spec, "value")),
}
"""Objects that are written as plain data: (class, as plain data, back) by the name of their kind."""
