"""API errors that several operations raise."""

from __future__ import annotations

from belated.errors import ApiError


def unknown_experiment(name: str) -> ApiError:
    """The service has no experiment of this name."""
    return ApiError(
        404,
        "unknown-experiment",
        f"there is no experiment {name!r}; create it with POST /v1/experiments, or list them with GET.",
    )


def unknown_decision(id: str) -> ApiError:
    """The service has no decision of this id."""
    return ApiError(404, "unknown-decision", f"there is no decision {id!r}; give an id that a decision was made with.")


def no_storage() -> ApiError:
    """The service cannot read or write now. Where its database is, and what is wrong with it, is for the log alone."""
    return ApiError(
        503,
        "storage",
        "the storage cannot be used now, and the server's log says why. Send the same request again: with an id it "
        "counts once.",
    )
