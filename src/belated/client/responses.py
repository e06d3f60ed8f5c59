"""Parsers of the server's responses."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from belated.client.protocol import RETRY_STATUSES, Retry, error_of
from belated.errors import BelatedError
from belated.live.types import ArmSummary, Decision

Data = dict[str, Any]


@dataclass(frozen=True)
class DecisionStatus:
    """A decision and what became of it. Times are RFC 3339 in UTC."""

    id: str
    experiment: str
    arm: str
    decided_at: str
    status: str
    """pending, observed, imputed (silence was counted as feedback) or cancelled."""
    reward: float | None
    observed_at: str | None
    late: bool
    """The feedback came after silence had been counted as feedback."""
    deadline: str | None
    """When silence counts as feedback."""
    unit: str | None
    metadata: dict[str, Any] | None


def parse_arms(state: Data) -> tuple[str, ...]:
    """The names of the arms."""
    return tuple(arm["arm"] for arm in state["arms"])


def parse_summary(state: Data) -> list[ArmSummary]:
    """The statistics of each arm."""
    return [ArmSummary(**_fields(ArmSummary, arm)) for arm in state["arms"]]


def parse_status(data: Data) -> DecisionStatus:
    """A decision and what became of it."""
    return DecisionStatus(**_fields(DecisionStatus, data))


def _fields(cls: type, data: Data) -> Data:
    """The values of a dataclass's fields. A newer server may send more; an older one may omit fields with a default."""
    return {field.name: data[field.name] for field in fields(cls) if field.name in data or field.default is MISSING}


def parse_decision(data: Data) -> Decision[str]:
    """A decision."""
    return Decision(str(data["id"]), str(data["arm"]))


def parse_decisions(data: Data) -> list[Decision[str]]:
    """Several decisions."""
    return [parse_decision(item) for item in data["decisions"]]


def ignore(data: Data) -> None:
    """Only success matters."""


def parse_feedback_results(data: Data, new: set[str]) -> list[BelatedError] | Retry:
    """The errors of the feedback that was refused; ids of new feedback are added to ``new``. If the server is busy for
    one item, the whole batch is sent again."""
    errors, retry = [], None
    for item in data["results"]:
        if item["status"] == 201:
            new.add(item["id"])
        elif item["status"] in RETRY_STATUSES:
            retry = Retry(f"status {item['status']} for {item['id']!r}")
        elif item["status"] != 200:
            errors.append(error_of(item["status"], item.get("type"), item.get("detail")))
    return retry if retry is not None else errors
