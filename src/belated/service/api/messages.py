"""Request and response bodies, with the description and the limits of every field."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from belated.policies._base.defaults import DEFAULT_POLICY
from belated.service.core.spec import ID, LONGEST_ARM, LONGEST_ID, LONGEST_SILENCE, MOST_ARMS, NAME


def doc(description: str) -> Meta:
    """The description of a field."""
    return Meta(description=description)


MAX_ITEMS = 1_000
"""Decisions, or feedback items, in one request."""
MAX_IMPORTED = 10_000
"""Decisions, and feedback, of an imported bandit in one request."""
MAX_BODY = 1 << 20
"""Bytes of a request body."""

END = r"(?!\n)$"
"""End of a text. Some regex dialects let ``$`` match only at the end, Python's also before a trailing newline."""
ExperimentName = Annotated[str, Meta(pattern=f"^{NAME}{END}", max_length=64)]
ArmName = Annotated[str, Meta(min_length=1, max_length=LONGEST_ARM)]
ArmNames = Annotated[list[ArmName], Meta(min_length=1, max_length=MOST_ARMS, extra_json_schema={"uniqueItems": True})]
NewId = Annotated[str, Meta(min_length=1, max_length=128, pattern=f"^{ID}{END}")]
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, pattern=f"^{ID}{END}")]
"""The id of an existing decision; in a batch, the id of the batch and a number."""
Reward = Annotated[float, Meta(ge=0.0, le=1.0)]
Time = Annotated[str, Meta(max_length=64, extra_json_schema={"format": "date-time"})]
Number = Annotated[int, Meta(ge=0, le=2**53)]

_OTHER = "Any other object: its result has the status 422 and says what is wrong."
_FEEDBACK = {"$ref": "#/components/schemas/FeedbackItem"}
_OTHER_ITEM = {"type": "object", "title": "OtherItem", "description": _OTHER}
AnyItem = Annotated[msgspec.Raw, Meta(extra_json_schema={"anyOf": [_FEEDBACK, _OTHER_ITEM]})]
"""Batch feedback takes any object; one that is not a feedback is refused in its result."""
_POLICY = "The policy's `name`, as a label or a class, and its parameters; omitted parameters have their defaults."
_SEED = "Seeds the policy's randomness. The same seed, feedback and order give the same decisions."
_OBSERVED_AT = (
    "When the feedback was observed, if not now: RFC 3339, at most five minutes ahead of the server's clock. A time "
    "before the decision counts as a delay of 0."
)


# ---- requests ----


class SilenceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What silence means: a reward to impute after a timeout."""

    after: Annotated[
        Annotated[float, Meta(gt=0.0, le=LONGEST_SILENCE)],
        doc("Seconds after the decision at which silence counts as feedback; at most ten years."),
    ]
    reward: Annotated[Reward, doc("The reward to impute. The true reward replaces it if it still arrives.")]


class ExperimentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An experiment to create."""

    name: Annotated[ExperimentName, doc("Letters, digits, `.`, `_` and `-`, starting with a letter or digit.")]
    arms: Annotated[ArmNames, doc("Unique names of the arms. Responses list arms in this order.")]
    policy: Annotated[dict[str, Any] | None, doc(f"{_POLICY} Default: {DEFAULT_POLICY} The response shows it.")] = None
    seed: Annotated[Number | None, doc(f"{_SEED} Default: a random one, which the response shows.")] = None
    silence: Annotated[
        SilenceRequest | None, doc("What silence means. Default: nothing; decisions stay pending indefinitely.")
    ] = None


class HistoryRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The history of a bandit that ran elsewhere, or a part of it, as ``Bandit.to_dict`` writes it."""

    arms: Annotated[ArmNames, doc("As for an experiment.")]
    policy: Annotated[dict[str, Any], doc(f'{_POLICY} Without `confidence`, as 0.1.0 wrote it, that is "theory".')]
    decisions: Annotated[
        list[Number],
        Meta(max_length=MAX_IMPORTED, description="The index (0, 1, ...) of the arm of each decision, in order."),
    ]
    answers: Annotated[
        Annotated[list[tuple[Number, Number, Reward]], Meta(max_length=MAX_IMPORTED)],
        doc("Feedback in order: `[number of decisions made before it, number of its decision, reward]`."),
    ]
    seed: Annotated[Number, doc(_SEED)] = 0
    after: Annotated[Number, doc("Number of decisions and feedback items in the parts before this one.")] = 0
    first: Annotated[Number, doc("How many of those were decisions.")] = 0
    more: Annotated[bool, doc("Whether more parts follow. The experiment is stopped until the last one.")] = False


class ArmRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An arm to add."""

    arm: Annotated[ArmName, doc("The name of the new arm.")]


class DecisionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision to make, or ``count`` of them."""

    id: Annotated[
        NewId | None,
        doc(
            "Your id, an idempotency key that never expires, unique in the experiment. If omitted, the server "
            "generates one, and a repeated request makes another decision."
        ),
    ] = None
    unit: Annotated[
        Annotated[str, Meta(max_length=256)] | None,
        doc("Whom the decision is for. It is stored with the decision and has no effect."),
    ] = None
    metadata: Annotated[
        dict[str, Any] | None, doc("Your data, stored with the decision: at most 16,384 bytes of JSON, 64 levels deep.")
    ] = None
    count: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_ITEMS)] | None,
        doc("Number of decisions to make. With an `id` their ids are `ID.0`, `ID.1`, ..."),
    ] = None
    of: Annotated[
        Annotated[int, Meta(ge=1, le=2**53)] | None,
        doc("Total number of decisions, where one `id` takes several requests; another total is another request."),
    ] = None


class FeedbackRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reward of a decision, and when it was observed: at most five minutes ahead of the server's clock. A time
    before the decision is accepted, as clocks differ, and counts as a delay of 0."""

    reward: Annotated[Reward, doc("The reward.")]
    observed_at: Annotated[Time | None, doc(_OBSERVED_AT)] = None


class FeedbackItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item of batch feedback; ``observed_at`` as in a single feedback."""

    id: Annotated[Id, doc("The id of the decision.")]
    reward: Annotated[Reward, doc("The reward.")]
    observed_at: Annotated[Time | None, doc(_OBSERVED_AT)] = None
    experiment: Annotated[
        ExperimentName | None, doc("The experiment that the decision belongs to, if not the one in the query.")
    ] = None


class FeedbacksRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Batch feedback; each item is validated, and accepted or refused, on its own. Each should be a FeedbackItem; any
    other object is refused in its result."""

    feedback: Annotated[
        Annotated[list[AnyItem], Meta(min_length=1, max_length=MAX_ITEMS)],
        doc("The items. An invalid one is refused in its own result and does not affect the others."),
    ]


# ---- responses ----


class ArmAnswer(msgspec.Struct):
    """The statistics of an arm; ``lower`` and ``upper`` are the policy's bounds on its mean."""

    arm: Annotated[str, doc("Its name.")]
    pulls: Annotated[int, doc("Its decisions, without cancelled ones.")]
    observed: Annotated[int, doc("Those with feedback, including imputed.")]
    pending: Annotated[int, doc("Those without feedback: `pulls - observed`.")]
    mean: Annotated[float | None, doc("The mean observed reward; null before the first feedback.")]
    lower: Annotated[float, doc("The policy's lower bound on the mean, within [0, 1], given what is pending.")]
    upper: Annotated[
        float, doc("Its upper bound. Bounds from different pulls may cross: one of them does not hold then.")
    ]
    active: Annotated[bool, doc("Whether it can still be chosen.")]
    eliminated_at: Annotated[
        int | None,
        doc(
            "The number of a decision, not a time: the first one (1, 2, ...) that could no longer choose "
            "this arm. Null for an active arm."
        ),
    ]
    lower_from: Annotated[
        int | None,
        doc(
            "For policies with prefix brackets (Prefix-UCB, Prefix-SE), the number of the arm's first "
            "pulls that give `lower`; null for others, and before the first pull."
        ),
    ] = None
    upper_from: Annotated[int | None, doc("The same for `upper`.")] = None
    corrected_mean: Annotated[
        float | None,
        doc(
            "For policies that correct means for late feedback (Imputed-UCB), the mean as the policy takes it; null "
            "for others, and before the first feedback."
        ),
    ] = None
    dependence: Annotated[
        float | None,
        doc(
            "For these policies, how sure the policy is that the arm's delays depend on its rewards, from 0 to 1: 1 "
            "minus the p-value of the test."
        ),
    ] = None


class SilenceAnswer(msgspec.Struct):
    """What silence means."""

    after: Annotated[float, doc("Seconds.")]
    reward: Annotated[float, doc("The reward that is imputed then.")]


class ExperimentAnswer(msgspec.Struct):
    """The current state of an experiment."""

    name: Annotated[str, doc("Its name.")]
    policy: Annotated[dict[str, Any], doc("The policy's label and all of its parameters that have a value.")]
    seed: Annotated[int, doc("The seed.")]
    silence: Annotated[SilenceAnswer | None, doc("What silence means; null: nothing.")]
    status: Annotated[str, doc("`running` or `stopped`.")]
    created_at: Annotated[str, doc("When it was created.")]
    arms: Annotated[list[ArmAnswer], doc("The statistics of each arm.")]
    decisions: Annotated[int, doc("All decisions, including cancelled ones.")]
    pulls: Annotated[int, doc("Those that were not cancelled.")]
    observed: Annotated[int, doc("Those with feedback, including imputed.")]
    pending: Annotated[int, doc("Those without feedback.")]
    cancelled: Annotated[int, doc("Those that were cancelled.")]
    imputed: Annotated[int, doc("Those whose feedback is currently imputed.")]
    late: Annotated[int, doc("Those whose true reward arrived after it had been imputed, and replaced it.")]
    last_event: Annotated[int, doc("The number of the last event, for `GET .../events`.")]


class ExperimentsAnswer(msgspec.Struct):
    """All experiments."""

    experiments: Annotated[list[ExperimentAnswer], doc("All experiments, oldest first.")]
    damaged: Annotated[list[str], doc("The names of those that cannot be read; run `belated verify` for details.")]


class DecisionAnswer(msgspec.Struct):
    """A decision as it was made."""

    id: Annotated[str, doc("The id, yours or the server's (a UUID, version 7).")]
    experiment: Annotated[str, doc("The name of the experiment.")]
    arm: Annotated[str, doc("The arm to show.")]
    decided_at: Annotated[str, doc("When the decision was made.")]


class DecisionsAnswer(msgspec.Struct):
    """Several decisions."""

    decisions: Annotated[list[DecisionAnswer], doc("The decisions, in order.")]


class DecisionStatusAnswer(DecisionAnswer):
    """A decision and its outcome."""

    status: Annotated[str, doc("`pending`, `observed`, `imputed` (after silence) or `cancelled`.")]
    reward: Annotated[float | None, doc("The reward; null while pending, and once cancelled.")]
    observed_at: Annotated[
        str | None,
        doc(
            "When the feedback was observed according to its sender, or else when it was written. For an "
            "imputed reward: when it was imputed."
        ),
    ]
    late: Annotated[bool, doc("Whether the true reward arrived after it had been imputed.")]
    deadline: Annotated[str | None, doc("When silence counts as feedback; null if never. A restart does not move it.")]
    unit: Annotated[str | None, doc("As given.")]
    metadata: Annotated[dict[str, Any] | None, doc("As given.")]


class FeedbackResult(msgspec.Struct, omit_defaults=True):
    """The result of one item of batch feedback, with the status of the same feedback sent on its own."""

    id: Annotated[str | None, doc("The id of the decision; null if none was given.")]
    status: Annotated[int, doc("The status of the same feedback sent on its own: 201, 200, 404, 409, 422 or 503.")]
    type: Annotated[str | None, doc("The problem type, if it was refused.")] = None
    detail: Annotated[str | None, doc("What is wrong and what to do, if it was refused.")] = None


class FeedbacksAnswer(msgspec.Struct):
    """The result of each item of batch feedback."""

    results: Annotated[list[FeedbackResult], doc("The result of each item, in order.")]


class CurveAnswer(msgspec.Struct):
    """A Kaplan-Meier curve: the share of an arm's feedback that arrives within a time, with a 95 % interval."""

    arm: Annotated[str, doc("The arm.")]
    observed: Annotated[int, doc("Feedback that arrived, without imputed.")]
    pending: Annotated[int, doc("Feedback still outstanding.")]
    seconds: Annotated[list[float], doc("The times at which the curve steps, at most 200.")]
    answered: Annotated[list[float], doc("The share of feedback that arrives within these seconds (Kaplan-Meier).")]
    lower: Annotated[list[float | None], doc("The lower end of its 95 % interval; null where it is undefined.")]
    upper: Annotated[list[float | None], doc("The upper end.")]


class DelaysAnswer(msgspec.Struct):
    """The delay curves of an experiment's arms."""

    experiment: Annotated[str, doc("The name of the experiment.")]
    at: Annotated[str, doc("When this was computed.")]
    decisions: Annotated[
        int, doc("Number of decisions used: the newest, at most 100,000, without cancelled and imported ones.")
    ]
    curves: Annotated[list[CurveAnswer], doc("One curve per arm.")]


class ProblemAnswer(msgspec.Struct):
    """What went wrong and what to do (RFC 9457)."""

    type: Annotated[str, doc("`urn:belated:problem:` and the problem type. It never changes.")]
    title: Annotated[str, doc("The status in words.")]
    status: Annotated[int, doc("The status.")]
    detail: Annotated[str, doc("What was given, what is allowed, what to do.")]


class StateAnswer(msgspec.Struct):
    """Whether the server is alive, or ready."""

    status: Annotated[str, doc("`alive`, or `ready`.")]
