"""Problem types: every reason for which the service refuses a request (RFC 9457).

A type is declared here once, with its status and its documentation. Code raises it with a detail,
``raise ProblemType.INVALID_TIME.error("observed_at is ...")``; each route lists the types it may answer with.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

import structlog

from belated.errors import ApiError, NewerSchema, StorageError

PREFIX = "urn:belated:problem:"

log = structlog.get_logger()


class ProblemType(Enum):
    """A problem type: its status, when it occurs and what to do about it."""

    MALFORMED_JSON = (
        400,
        "The body is not valid JSON, or an object has a duplicate key.",
        "Send valid JSON with unique keys.",
    )
    NO_KEY = (401, "The server has keys and the request has none.", "Send `Authorization: Bearer KEY`.")
    UNKNOWN_KEY = (401, "The key is unknown or revoked.", "Create another one with `belated keys create`.")
    NOT_ALLOWED = (403, "The key's role does not permit this.", "Use a key with the role that the message names.")
    OTHER_ORIGIN = (
        403,
        "A page from another origin sent this: any request while there are no keys, or a form of the dashboard.",
        "Create a key for the page; a reverse proxy must pass the `Host` header through unchanged.",
    )
    UNKNOWN_EXPERIMENT = (
        404,
        "There is no experiment with this name.",
        "`GET /v1/experiments` lists them, `POST /v1/experiments` creates one.",
    )
    UNKNOWN_DECISION = (404, "There is no decision with this id.", "Give the id the decision was made with.")
    NOT_FOUND = (404, "There is nothing at this path.", "`/openapi.json` lists all routes.")
    METHOD_NOT_ALLOWED = (405, "The path has other methods.", "Use one of those in the `Allow` header.")
    EXPERIMENT_EXISTS = (
        409,
        "An experiment with this name exists with different arms, policy, seed or silence.",
        "Choose another name.",
    )
    EXPERIMENT_STOPPED = (409, "The experiment is stopped.", "Resume it, or show your own default.")
    AMBIGUOUS_ID = (
        409,
        "Several experiments have a decision with this id, and the request does not name one of them.",
        "Send it with `?experiment=NAME`.",
    )
    ID_IN_USE = (
        409,
        "The experiment has the id of a different request: another unit, metadata or count, or with and without count.",
        "Send the original request unchanged, or choose another id.",
    )
    ARM_EXISTS = (409, "The experiment was created with an arm of this name.", "Choose another name.")
    POLICY_IS_CLOSED = (409, "The policy needs to know all arms from the start.", "Create a new experiment.")
    CONFLICTING_FEEDBACK = (
        409,
        "The decision already has a different reward.",
        "Nothing: the first reward counts. Find out why two were sent.",
    )
    DECISION_CANCELLED = (409, "The decision was cancelled and takes no reward.", "Nothing.")
    DECISION_OBSERVED = (409, "The decision to cancel already has a reward.", "Nothing: it stays observed.")
    CANNOT_TAKE_BACK = (409, "The policy cannot retract a decision.", "Leave the decision pending.")
    CANNOT_REPLACE = (
        409,
        "The policy cannot replace feedback, as `silence` needs.",
        "Leave `silence` out, or choose another policy.",
    )
    HISTORY_DIFFERS = (
        409,
        "The experiment's history differs from that of the imported bandit.",
        "Import it under another name.",
    )
    HISTORY_OUT_OF_ORDER = (
        409,
        "Feedback lies outside the decisions of its part.",
        "Send what `Bandit.to_dict` wrote, in that order.",
    )
    CURSOR_AHEAD = (
        409,
        "The cursor is past the last event: it belongs to another experiment or another database.",
        "Start at 0.",
    )
    TOO_LARGE = (413, "The body is larger than 1 MiB.", "Split the request.")
    NOT_JSON = (415, "The content type is missing or not JSON.", "Send `Content-Type: application/json`.")
    OTHER_HOST = (
        421,
        "There are no keys, and the `Host` header does not name this machine.",
        "Use localhost, or create a key.",
    )
    INVALID_BODY = (
        422,
        "A field is missing, unknown, of the wrong type or out of range.",
        "See the table of the body, or the message.",
    )
    INVALID_NAME = (
        422,
        "This is not a valid name for an experiment.",
        "Give 1 to 64 letters, digits, `.`, `_` and `-`, starting with a letter or digit.",
    )
    INVALID_ARMS = (422, "There are too many arms, or the name of an arm is too long.")
    INVALID_EXPERIMENT = (422, "The arms or the seed are invalid, such as a duplicate arm.")
    UNKNOWN_POLICY = (422, "There is no policy with this name.", "Give one of those that the message lists.")
    UNKNOWN_PARAMETER = (422, "The policy has no such parameter.", "Give one of those that the message lists.")
    INVALID_POLICY = (422, "A parameter of the policy is out of range.")
    INVALID_SILENCE = (
        422,
        "`silence` is out of range.",
        "See the message, or leave it out.",
    )
    INVALID_TIME = (
        422,
        "`observed_at` is not a valid time, or more than five minutes ahead of the server's clock.",
        "Give RFC 3339 such as `2026-01-31T12:00:00Z`, or leave it out.",
    )
    INVALID_QUERY = (
        422,
        "A query parameter is unknown, duplicated or out of range.",
        "Give only the parameters of the route.",
    )
    UNFORESEEN = (500, "A bug in the server.", "See the server's log, and report it.")
    EXPERIMENT_DAMAGED = (
        500,
        "The stored events of this experiment are inconsistent.",
        "Run `belated verify` for details; restore a backup.",
    )
    BUSY = (503, "Too many operations are waiting for the disk.", "Retry after `Retry-After` seconds.")
    STOPPED = (503, "The server is shutting down.", "Retry after `Retry-After` seconds.")
    STORAGE = (
        503,
        "The database is unavailable; the server's log says why.",
        "Send the same request again: with an id it counts once.",
    )

    NEWER_SCHEMA = (
        503,
        "A newer version of belated has taken over the database; this server reads, but writes nothing any more.",
        "Send the request to a server of the newer version; restart this one with it.",
    )

    def __init__(self, status: int, when: str, remedy: str = "See the message.") -> None:
        self.kind = self.name.lower().replace("_", "-")
        """What follows ``urn:belated:problem:``; it never changes."""
        self.status = status
        self.when = when
        self.remedy = remedy

    def error(self, detail: str, experiment: str | None = None) -> ApiError:
        """The error to raise; ``experiment`` is set where feedback for one of its decisions is refused."""
        return ApiError(self.status, self.kind, detail, experiment)


def unknown_experiment(name: str) -> ApiError:
    """The error for a name that no experiment has."""
    return ProblemType.UNKNOWN_EXPERIMENT.error(
        f"there is no experiment {name!r}; create it with POST /v1/experiments, or list them with GET."
    )


def unknown_decision(id: str, experiment: str | None = None) -> ApiError:
    """The error for an id that no decision has, in any experiment or in one."""
    where = "" if experiment is None else f" in the experiment {experiment!r}"
    return ProblemType.UNKNOWN_DECISION.error(
        f"there is no decision {id!r}{where}; give the id of a decision that was made."
    )


def ambiguous_id(id: str, names: Collection[str]) -> ApiError:
    """The error for an id that decisions of several experiments have."""
    shown = ", ".join(sorted(names)[:10])
    return ProblemType.AMBIGUOUS_ID.error(
        f"{len(names)} experiments have a decision {id!r} ({shown}); name the one that is meant, as ?experiment=NAME."
    )


def experiment_stopped(name: str) -> ApiError:
    """The error for a decision in a stopped experiment."""
    return ProblemType.EXPERIMENT_STOPPED.error(
        f"{name!r} is stopped; resume it with POST /v1/experiments/{name}/resume."
    )


def public_error(error: Exception) -> ApiError:
    """What the caller is told about an error; only the log says where the database is and what is wrong with it."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, NewerSchema):
        return ProblemType.NEWER_SCHEMA.error(f"this server writes nothing any more: {error}")
    if isinstance(error, StorageError):
        log.error("storage", detail=str(error))
        return ProblemType.STORAGE.error(
            "the storage is unavailable; the server's log says why. Send the same request again: with an id it counts "
            "once."
        )
    return ProblemType.UNFORESEEN.error("an internal error occurred; see the server's log.")
