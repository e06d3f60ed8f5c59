"""Every kind of problem: its status, when it is met, what to do; and which route may answer with which."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of problem. Its ``type`` is ``urn:belated:problem:`` and its name."""

    status: int
    when: str
    do: str


KINDS = {
    "malformed-json": Kind(
        400, "The body is no JSON, or has a key twice in one object.", "Send JSON, each key of an object once."
    ),
    "no-key": Kind(401, "There are keys, and the request brings none.", "Send `Authorization: Bearer KEY`."),
    "unknown-key": Kind(401, "The key is unknown, or was revoked.", "Make another one with `belated keys create`."),
    "not-allowed": Kind(403, "The key's role may not do this.", "Use a key of the role that the message names."),
    "other-origin": Kind(
        403,
        "A page of another origin sent this: any request while there are no keys, or a form of the dashboard.",
        "Make a key for the page; behind a proxy, pass the header `Host` on as it came.",
    ),
    "unknown-experiment": Kind(
        404, "No experiment has this name.", "`GET /v1/experiments` lists them, `POST /v1/experiments` makes one."
    ),
    "unknown-decision": Kind(404, "No decision has this id.", "Give the id that the decision was made with."),
    "not-found": Kind(404, "There is nothing at this address.", "`/openapi.json` lists what there is."),
    "method-not-allowed": Kind(405, "The address has other methods.", "Use one of those in the header `Allow`."),
    "experiment-exists": Kind(
        409, "There is an experiment of this name with other arms, policy, seed or silence.", "Choose another name."
    ),
    "experiment-stopped": Kind(409, "The experiment is stopped.", "Resume it, or show a default of your own."),
    "id-in-use": Kind(
        409,
        "The id was used in another request: another experiment, unit, metadata, count, or with and without count.",
        "Send the request as it was the first time, or choose another id.",
    ),
    "arm-exists": Kind(409, "The experiment has had this arm from the beginning.", "Choose another name."),
    "policy-is-closed": Kind(
        409, "The policy compares arms that it knows from the beginning.", "Begin a new experiment with all arms."
    ),
    "conflicting-feedback": Kind(
        409, "The decision has another reward already.", "Nothing: the first reward counts. See why there were two."
    ),
    "decision-cancelled": Kind(409, "The decision was cancelled, so that it has no reward.", "Nothing."),
    "decision-observed": Kind(
        409, "The decision to be cancelled has a reward: what was seen was shown.", "Nothing: it stays observed."
    ),
    "cannot-take-back": Kind(409, "The policy cannot take a decision back.", "Leave it pending."),
    "history-differs": Kind(
        409, "The experiment has lived otherwise than the bandit that moves.", "Move it under another name."
    ),
    "history-out-of-order": Kind(
        409, "An answer is not between the decisions of its part.", "Send what `Bandit.to_dict` wrote, in its order."
    ),
    "cursor-ahead": Kind(
        409, "The cursor is behind the last event: it is another experiment's, or another database's.", "Begin at 0."
    ),
    "too-large": Kind(413, "The body has more than 1 MiB.", "Send several requests."),
    "not-json": Kind(415, "The content type is another one, or none.", "Send `Content-Type: application/json`."),
    "other-host": Kind(
        421,
        "There are no keys, and the server was asked for by a name that is not this machine's.",
        "Ask for localhost, or make a key.",
    ),
    "invalid-body": Kind(
        422,
        "A key is missing, unknown, of another type or outside its limits.",
        "See the body's table, or the message.",
    ),
    "invalid-name": Kind(
        422,
        "The name of the experiment cannot be one.",
        "Give 1 to 64 letters, digits, `.`, `_` and `-`, beginning with a letter or digit.",
    ),
    "invalid-arms": Kind(422, "There are too many arms, or an arm's name is too long.", "See the message."),
    "invalid-experiment": Kind(422, "The arms or the seed cannot be: two arms of one name, say.", "See the message."),
    "unknown-policy": Kind(422, "No policy has this name.", "Give one of those that the message lists."),
    "unknown-parameter": Kind(422, "The policy has no such parameter.", "Give one of those that the message lists."),
    "invalid-policy": Kind(422, "A parameter of the policy is outside its domain.", "See the message."),
    "invalid-silence": Kind(
        422,
        "`silence` is outside its limits, or the policy cannot replace an answer.",
        "See the message, or leave it out.",
    ),
    "invalid-time": Kind(
        422,
        "`observed_at` is no time, or more than five minutes ahead of the server's clock.",
        "Give RFC 3339 such as `2026-01-31T12:00:00Z`, or leave it out.",
    ),
    "invalid-query": Kind(
        422, "A parameter of the address is unknown, given twice or outside its limits.", "Give what the route has."
    ),
    "unforeseen": Kind(500, "A defect of the server's.", "Look into its log, and tell us."),
    "experiment-damaged": Kind(
        500, "What is on disk for this experiment contradicts itself.", "`belated verify` says what; restore a backup."
    ),
    "busy": Kind(503, "More operations wait for the disk than it can take.", "Come again, as `Retry-After` says."),
    "stopped": Kind(503, "The server is going down.", "Come again, as `Retry-After` says."),
    "storage": Kind(
        503,
        "The database cannot be used now; the server's log says why.",
        "Send the same again: with an id it counts once.",
    ),
}

ALWAYS = ("too-large", "other-host", "other-origin", "unforeseen", "busy", "stopped", "storage")
"""What any request may meet; with a role, those of keys too."""
KEYED = ("no-key", "unknown-key", "not-allowed")
_BODY = ("malformed-json", "too-large", "not-json", "invalid-body")
_SPEC = ("invalid-name", "invalid-arms", "invalid-experiment", "unknown-policy", "unknown-parameter", "invalid-policy")
_OF = ("unknown-experiment", "experiment-damaged")

REFUSALS: dict[str, tuple[str, ...]] = {
    "experiments": ("invalid-query",),
    "create": (*_BODY, *_SPEC, "invalid-silence", "experiment-exists", "experiment-damaged"),
    "experiment": (*_OF, "invalid-query"),
    "add_arm": (*_BODY, *_OF, "invalid-arms", "arm-exists", "policy-is-closed"),
    "history": (
        *_BODY,
        *_SPEC,
        "experiment-exists",
        "experiment-stopped",
        "id-in-use",
        "history-differs",
        "history-out-of-order",
        "experiment-damaged",
    ),
    "stop": _OF,
    "resume": _OF,
    "decide": (*_BODY, *_OF, "id-in-use", "experiment-stopped"),
    "events": (*_OF, "invalid-query", "cursor-ahead"),
    "export": (*_OF, "invalid-query"),
    "delays": (*_OF, "invalid-query"),
    "feedback": (
        *_BODY,
        "invalid-time",
        "unknown-decision",
        "conflicting-feedback",
        "decision-cancelled",
        "experiment-damaged",
    ),
    "cancel": ("unknown-decision", "decision-observed", "cannot-take-back", "experiment-damaged"),
    "decision": ("unknown-decision", "experiment-damaged", "invalid-query"),
    "feedbacks": _BODY,
    "livez": (),
    "readyz": (),
    "metrics": (),
}
"""Of each handler, what it may refuse with beside :data:`ALWAYS`; the most particular ones last."""

GOOD: dict[str, dict[int, str]] = {
    "create": {201: "It was made.", 200: "The same one was there already."},
    "add_arm": {201: "It was added.", 200: "It had been added already."},
    "history": {201: "Something of it was new.", 200: "All of it was known already."},
    "decide": {201: "Decided now.", 200: "The same id again: what was decided then. Nothing was counted twice."},
    "feedback": {201: "It counts.", 200: "The same reward again: nothing changed."},
    "cancel": {201: "Cancelled now.", 200: "It was cancelled already."},
    "feedbacks": {200: "Each was taken or refused for itself: see `results`."},
    "stop": {200: "It is stopped, now or already."},
    "resume": {200: "It is running, now or already."},
}
"""When a good status is given, where that needs saying."""


def kinds_of(handler: str, role: str | None) -> list[str]:
    """All problems that a route may answer with, by status."""
    found = dict.fromkeys([*REFUSALS[handler], *(KEYED if role else ()), *ALWAYS])
    return sorted(found, key=lambda name: KINDS[name].status)
