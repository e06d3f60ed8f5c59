"""What the client sends and receives: ids, policies, the history of a bandit; and parsers of the server's responses.

The client chooses the ids, so that a request can be sent again without being executed twice."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from belated.client.protocol import RETRY_STATUSES, Retry, error_of
from belated.errors import BelatedError, InvalidParameter, UnknownDecision
from belated.live.types import UNIT_RANGE, ArmSummary, Decision
from belated.validation import is_integer

if TYPE_CHECKING:
    from belated.live.bandit import Bandit

Data = dict[str, Any]
T = TypeVar("T")

MAX_ID_LENGTH = 128
"""Characters of an id."""
MAX_DECISION_ID_LENGTH = 132
"""Characters of a decision's id: one of several has the id of the request, a dot and a number up to 999."""
HISTORY_BATCH = 10_000
"""Decisions and feedback in one request that moves a bandit."""

_ID = re.compile(r"(?!\.\.?$)[^\x00-\x1f\x7f/\ud800-\udfff]+")


def new_id() -> str:
    """A UUID of version 7: the time in milliseconds, then 74 random bits."""
    return str(_uuid7(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10))))


def _uuid7(milliseconds: int, random: int) -> uuid.UUID:
    """
    >>> _uuid7(1_700_000_000_000, 2**80 - 1)
    UUID('018bcfe5-6800-7fff-bfff-ffffffffffff')
    """
    high = (milliseconds & (1 << 48) - 1) << 16 | 7 << 12 | random >> 62 & 0xFFF
    return uuid.UUID(int=high << 64 | 2 << 62 | random & (1 << 62) - 1)


def check_new_id(id: Any, suffix_length: int = 0) -> str:
    """Check an id that the caller chose, and to which a suffix will be added."""
    if not isinstance(id, str) or not _ID.fullmatch(id) or len(id) + suffix_length > MAX_ID_LENGTH:
        raise InvalidParameter(
            f"id is {id!r}; give a string of 1 to {MAX_ID_LENGTH - suffix_length} characters without '/' and control "
            "characters, or None."
        )
    return id


def decision_id(experiment: str | None, id: Any) -> str:
    """The id of an existing decision. Integers are ids of a bandit that was moved to the experiment."""
    if is_integer(id) and experiment is not None and id >= 0:
        return f"{experiment}.{id}"
    if not isinstance(id, str) or not _ID.fullmatch(id) or len(id) > MAX_DECISION_ID_LENGTH:
        raise UnknownDecision(f"there is no decision {id!r}. Give the id of a decision that choose() returned.")
    return id


def url_path(text: str) -> str:
    """A text as one segment of a URL's path.

    >>> url_path("50 % off?")
    '50%20%25%20off%3F'
    """
    return quote(text, safe="")


def policy_payload(policy: Any) -> Data:
    """A policy as plain data."""
    if isinstance(policy, Mapping):
        return dict(policy)
    from belated.policies import Policy
    from belated.specs.laws import policy_spec

    if not isinstance(policy, Policy):
        raise InvalidParameter(f"policy is {policy!r}; give a policy, such as UCB(), or {{'name': 'UCB'}}.")
    spec = policy_spec(policy)
    return {"name": spec.pop("policy"), **spec}


def history_payloads(bandit: Bandit | Mapping[str, Any]) -> Iterator[Data]:
    """The history of a bandit in its order, in parts that fit into a request."""
    if isinstance(bandit, Mapping):
        from belated.live.bandit import Bandit

        bandit = Bandit.from_dict(bandit)
    if bandit.reward_range != UNIT_RANGE:
        low, high = bandit.reward_range
        raise InvalidParameter(
            f"the bandit's rewards are in [{low:g}, {high:g}], and a server takes rewards in [0, 1]; keep it as a "
            "Bandit, or start an experiment with the rewards (reward - low) / (high - low)."
        )
    saved = bandit.to_dict()
    common = {"arms": _names_on_server(bandit.arms), "seed": saved["seed"], "policy": policy_payload(bandit.policy)}
    decisions, feedback = saved["decisions"], saved["answers"]
    decided = observed = 0
    more = True
    while more:
        first, after = decided, decided + observed
        batch: list[list[Any]] = []
        while decided + observed < after + HISTORY_BATCH:
            if observed < len(feedback) and feedback[observed][0] <= decided:
                batch.append(feedback[observed])
                observed += 1
            elif decided < len(decisions):
                decided += 1
            else:
                break
        more = decided + observed < len(decisions) + len(feedback)
        part = {"after": after, "first": first, "decisions": decisions[first:decided], "answers": batch, "more": more}
        yield {**common, **part}


def _names_on_server(arms: Sequence[Any]) -> list[str]:
    """The names of a bandit's arms as strings, which names on a server are."""
    names = [str.__str__(arm) if isinstance(arm, str) else str(arm) for arm in arms]
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            is_what = f"is {name!r}, like that of {arms[names.index(name)]!r}" if name else "is empty"
            raise InvalidParameter(
                f"the name of the arm {arms[index]!r} on the server {is_what}; give the bandit arms whose str() differ."
            )
    return names


# ---- responses ----


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


def read_fields(cls: type[T], data: Data) -> T:
    """A dataclass from a response. A newer server may send more; an older one may omit fields with a default."""
    names = [field.name for field in fields(cls) if field.name in data or field.default is MISSING]  # type: ignore[arg-type]
    return cls(**{name: data[name] for name in names})


def parse_summary(state: Data) -> list[ArmSummary[str]]:
    """The statistics of each arm."""
    return [read_fields(ArmSummary, arm) for arm in state["arms"]]


def parse_decision(data: Data) -> Decision[str, str]:
    """A decision."""
    return Decision(str(data["id"]), str(data["arm"]))


def ignore(data: Data) -> None:
    """Only success matters."""


def parse_feedback_results(data: Data, new: set[str]) -> list[BelatedError]:
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
    if retry is not None:
        raise retry
    return errors
