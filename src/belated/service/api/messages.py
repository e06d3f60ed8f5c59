"""What goes over the wire: requests and answers, and how much of each is allowed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from belated.service.core.spec import LONGEST_ARM, LONGEST_SILENCE, MOST_ARMS, NAME

MOST_AT_A_TIME = 1_000
"""Decisions, or feedbacks, of one request."""
MOST_MOVED = 10_000
"""Decisions, and answers, of a bandit that moves, in one request."""
BODY = 1 << 20
"""Bytes of a request's body."""

END = r"(?!\n)$"
"""Of a text. ``$`` alone is the end to some readers of patterns, and a line break before the end to Python too."""
ExperimentName = Annotated[str, Meta(pattern=f"^{NAME}{END}", max_length=64)]
ArmName = Annotated[str, Meta(min_length=1, max_length=LONGEST_ARM)]
ID = r"(?!\.\.?$)[^\x00-\x1f\x7f/]+"
"""Ids of decisions: they stand in addresses, and in databases that know no character 0."""
NewId = Annotated[str, Meta(min_length=1, max_length=128, pattern=f"^{ID}{END}")]
LONGEST_ID = 132
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, pattern=f"^{ID}{END}")]
"""Of a decision that was made; one of a batch has the batch's id and a number."""
Reward = Annotated[float, Meta(ge=0.0, le=1.0)]
Time = Annotated[str, Meta(max_length=64, extra_json_schema={"format": "date-time"})]
Count = Annotated[int, Meta(ge=1, le=MOST_AT_A_TIME)]
Total = Annotated[int, Meta(ge=1, le=2**53)]
Number = Annotated[int, Meta(ge=0, le=2**53)]
Seed = Annotated[int, Meta(ge=0, le=2**53)]


class SilenceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What no answer means: after so many seconds, this reward."""

    after: Annotated[float, Meta(gt=0.0, le=LONGEST_SILENCE)]
    reward: Reward


class ExperimentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment to be made."""

    name: ExperimentName
    arms: Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS, extra_json_schema={"uniqueItems": True})]
    policy: dict[str, Any] | None = None
    """Left out: the usual one, of an experiment with silence or without."""
    seed: Seed = 0
    silence: SilenceRequest | None = None


class HistoryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happened to a bandit elsewhere, or a part of it, as ``Bandit.to_dict`` writes it down."""

    arms: Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS, extra_json_schema={"uniqueItems": True})]
    policy: dict[str, Any]
    decisions: Annotated[list[Number], Meta(max_length=MOST_MOVED)]
    """Of each decision, its arm's place."""
    answers: Annotated[list[tuple[Number, Number, Reward]], Meta(max_length=MOST_MOVED)]
    """[how many decisions were made before it, the decision's number, the reward], in their order."""
    seed: Seed = 0
    after: Number = 0
    """How many decisions and answers are in the parts before."""
    first: Number = 0
    """How many of them are decisions."""
    more: bool = False
    """Whether parts follow; until the last one the experiment is stopped."""


class ArmRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An arm to be added."""

    arm: ArmName


class DecisionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision to be made, or ``count`` of them."""

    id: NewId | None = None
    unit: Annotated[str, Meta(max_length=256)] | None = None
    metadata: dict[str, Any] | None = None
    count: Count | None = None
    of: Total | None = None
    """How many the caller makes in all, where one id needs several requests; another number is another request."""


class FeedbackRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of a decision, and when it was seen: at most five minutes ahead of the server's clock. A time before
    the decision is taken, as clocks differ, and is a delay of 0."""

    reward: Reward
    observed_at: Time | None = None


class FeedbackItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of several feedbacks; ``observed_at`` as of a single one."""

    id: Id
    reward: Reward
    observed_at: Time | None = None


class FeedbacksRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Several feedbacks at once; each is read, and taken or refused, for itself. Each should be a FeedbackItem; an
    object that is none is refused in its result."""

    feedback: Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=MOST_AT_A_TIME)]


class ArmAnswer(msgspec.Struct):
    """What is known of an arm; ``lower`` and ``upper`` are the policy's bounds on its mean."""

    arm: str
    pulls: int
    observed: int
    pending: int
    mean: float | None
    lower: float
    upper: float
    active: bool
    eliminated_at: int | None
    """The first decision (1, 2, ...) that could no longer be this arm."""
    lower_from: int | None = None
    """Of a policy with prefix brackets, how many of the arm's first pulls give the lower bound."""
    upper_from: int | None = None
    """The same for the upper bound."""


class SilenceAnswer(msgspec.Struct):
    """What no answer means."""

    after: float
    reward: float


class ExperimentAnswer(msgspec.Struct):
    """An experiment as it is now."""

    name: str
    policy: dict[str, Any]
    seed: int
    silence: SilenceAnswer | None
    status: str
    created_at: str
    arms: list[ArmAnswer]
    decisions: int
    """All that were made, cancelled ones too."""
    pulls: int
    observed: int
    pending: int
    cancelled: int
    imputed: int
    late: int
    last_event: int
    """The number of the last event, for GET .../events."""


class ExperimentsAnswer(msgspec.Struct):
    """All experiments."""

    experiments: list[ExperimentAnswer]
    damaged: list[str]
    """The names of those that cannot be read; see ``belated verify``."""


class DecisionAnswer(msgspec.Struct):
    """A decision that was made."""

    id: str
    experiment: str
    arm: str
    decided_at: str


class DecisionsAnswer(msgspec.Struct):
    """Several decisions."""

    decisions: list[DecisionAnswer]


class DecisionStatusAnswer(msgspec.Struct):
    """A decision and what became of it."""

    id: str
    experiment: str
    arm: str
    decided_at: str
    status: str
    reward: float | None
    observed_at: str | None
    late: bool
    deadline: str | None
    unit: str | None
    metadata: dict[str, Any] | None


class FeedbackResult(msgspec.Struct, omit_defaults=True):
    """What became of one of several feedbacks: the status that it would have had alone. ``id`` is null where none was
    given."""

    id: str | None
    status: int
    type: str | None = None
    detail: str | None = None


class FeedbacksAnswer(msgspec.Struct):
    """What became of each feedback, in their order."""

    results: list[FeedbackResult]


class CurveAnswer(msgspec.Struct):
    """Kaplan-Meier: the share of an arm's answers that come within so many seconds, with an interval of 95 %."""

    arm: str
    observed: int
    pending: int
    seconds: list[float]
    answered: list[float]
    lower: list[float | None]
    upper: list[float | None]


class DelaysAnswer(msgspec.Struct):
    """The delay curves of an experiment's arms."""

    experiment: str
    at: str
    decisions: int
    """How many were looked at: the newest ones."""
    curves: list[CurveAnswer]


class ProblemAnswer(msgspec.Struct):
    """RFC 9457: what went wrong, and what to do."""

    type: str
    title: str
    status: int
    detail: str


class StateAnswer(msgspec.Struct):
    """Whether the server is alive, or ready."""

    status: str
