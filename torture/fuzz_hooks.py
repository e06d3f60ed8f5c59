"""What schemathesis is told: names and ids that exist, in most of the valid requests; and a count of the answers."""

from __future__ import annotations

import atexit
import json
import os
import random
import zlib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import schemathesis
from hypothesis import strategies
from schemathesis import GenerationMode

KNOWN: dict[str, list[str]] = json.loads(Path(os.environ["FUZZ_KNOWN"]).read_text(encoding="utf-8"))
"""``names`` of experiments and ``ids`` of decisions."""
ANSWERS: Counter[str] = Counter()
SHARE = 0.8
"""Of valid requests that get a name, or an id, that exists."""
DECIDE, MOST_METADATA = "POST /v1/experiments/{name}/decisions", 16_000
NEW_NAMES = "/v1/experiments/{name}/history"
"""Here a name that exists is the exception."""

schemathesis.openapi.format(  # a time that is still to come is refused, which no schema can say
    "date-time", strategies.datetimes(max_value=datetime(2025, 1, 1)).map(lambda time: f"{time.isoformat()}Z")
)


def _valid(case: Any, place: str) -> bool:
    """Whether a part of the request was made to be valid, by itself and not from an earlier answer."""
    if case.meta is None or case.meta.phase.name.value == "stateful":
        return False
    part = {key.value: info for key, info in case.meta.components.items()}.get(place)
    return part is not None and part.mode == GenerationMode.POSITIVE


def _chance(case: Any) -> random.Random:
    """Chance that depends on the request alone, so that a run can be repeated."""
    body = case.body if isinstance(case.body, dict) else None
    return random.Random(zlib.crc32(repr((case.operation.label, case.path_parameters, body)).encode()))


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Put in what exists."""
    chance = _chance(case)
    if case.path_parameters and _valid(case, "path") and case.operation.path != NEW_NAMES:
        for key, known in (("name", KNOWN["names"]), ("id", KNOWN["ids"])):
            if key in case.path_parameters and chance.random() < SHARE:
                case.path_parameters[key] = quote(chance.choice(known), safe="")  # as they all are by now
    if case.operation.label == DECIDE and _valid(case, "body") and isinstance(case.body, dict):
        metadata, count = case.body.get("metadata"), case.body.get("count")
        if metadata is not None and len(json.dumps(metadata)) * (count or 1) > MOST_METADATA:
            case.body["metadata"] = {}  # how many bytes all of it may have, no schema can say
    is_history = case.operation.path == NEW_NAMES and _valid(case, "body") and isinstance(case.body, dict)
    if is_history and chance.random() < SHARE / 2:  # which decisions a policy would make, no schema can say
        case.body.update(decisions=[], answers=[], after=0, first=0)
    if case.operation.label == "POST /v1/feedback" and _valid(case, "body"):
        for item in case.body["feedback"]:
            if chance.random() < SHARE:
                item["id"] = chance.choice(KNOWN["ids"])


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Count."""
    ANSWERS[f"{case.operation.label} {response.status_code}"] += 1


@atexit.register
def _tell() -> None:
    Path(os.environ["FUZZ_ANSWERS"]).write_text(json.dumps(ANSWERS), encoding="utf-8")
