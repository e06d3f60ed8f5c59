"""What a server's answers mean to a caller."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from belated.client.protocol import AGAIN, Retry, refusal
from belated.errors import BelatedError
from belated.live.bandit import ArmSummary, Decision

Data = dict[str, Any]


@dataclass(frozen=True)
class DecisionStatus:
    """A decision and what became of it. Times are RFC 3339 in UTC."""

    id: str
    experiment: str
    arm: str
    decided_at: str
    status: str
    """pending, observed, imputed (silence was taken for an answer) or cancelled."""
    reward: float | None
    observed_at: str | None
    late: bool
    """The answer came after silence had been taken for one."""
    deadline: str | None
    """When silence becomes an answer."""
    unit: str | None
    metadata: dict[str, Any] | None


def arms(state: Data) -> tuple[str, ...]:
    """The names of the arms."""
    return tuple(arm["arm"] for arm in state["arms"])


def summary(state: Data) -> list[ArmSummary]:
    """What the server says of each arm."""
    return [ArmSummary(**_only(ArmSummary, arm)) for arm in state["arms"]]


def _only(kind: type, data: Data) -> Data:
    """The values that a kind has a field for. A newer server may send more, an older one less: what has a default may
    be missing."""
    return {field.name: data[field.name] for field in fields(kind) if field.name in data or field.default is MISSING}


def status(data: Data) -> DecisionStatus:
    """A decision and what became of it."""
    return DecisionStatus(**_only(DecisionStatus, data))


def decision(data: Data) -> Decision[str]:
    """A decision."""
    return Decision(str(data["id"]), str(data["arm"]))


def decisions(data: Data) -> list[Decision[str]]:
    """Several."""
    return [decision(each) for each in data["decisions"]]


def nothing(*_: Any) -> None:
    """That it was done is all that is wanted."""


def results(data: Data, new: set[str]) -> list[BelatedError] | Retry:
    """Which of several feedbacks were refused; those that were new join the others. Busy for one is busy for all."""
    refused, busy = [], None
    for each in data["results"]:
        if each["status"] == 201:
            new.add(each["id"])
        elif each["status"] in AGAIN:
            busy = Retry(f"status {each['status']} for {each['id']!r}")
        elif each["status"] != 200:
            refused.append(refusal(each["status"], each.get("type"), each.get("detail")))
    return busy if busy is not None else refused
