"""Everything that can go wrong by a user's hand, as one tree.

::

    BelatedError
    |-- InvalidParameter (also ValueError)   a law, policy, problem or call got a value outside its domain
    |   |-- UnsupportedSupport               a reward law leaves [0, 1]
    |   `-- ConfigurationError               a file: names the file, the key, what was given, what is allowed
    |-- UnknownName (also KeyError)          no law, policy or parameter of that name
    |-- FeedbackError (also ValueError)      the live bandit refused a feedback; its state is untouched
    |   |-- UnknownDecision                  no decision has this id
    |   |-- ConflictingFeedback              the decision already has another reward
    |   `-- InvalidReward                    NaN, infinite, outside [0, 1] or no number
    |-- StateError (also ValueError)         a saved bandit or result cannot be restored
    |   `-- OtherVersion                     it was saved by other code
    |-- NotReproducible                      a result whose problem cannot be written down is asked to run again
    |-- FigureNotSaved (also OSError)        the process that saves a report's figures ended early
    |-- Refused                              the service refused a request; ``.status`` and ``.kind`` say how
    |-- ServiceUnavailable (also ConnectionError) the service gave no answer, however often asked; ``.id`` asks on
    |-- StorageError (also OSError)          a database cannot be opened, read or written
    |   `-- AlreadyThere                     what should be written is there already
    |-- MissingComponent (also ImportError)  an optional part is not installed; the message has the install line
    `-- Interrupted (also KeyboardInterrupt) Ctrl-C; ``.result`` holds the finished runs
        |-- SweepInterrupted                 Ctrl-C in a sweep; ``.sweep`` holds the finished values
        |-- ArenaInterrupted                 Ctrl-C in the arena; ``.scores`` holds the finished rows
        `-- ReproductionInterrupted          Ctrl-C in a reproduction; ``.outcomes`` holds the finished experiments

Each message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

from typing import Any


class BelatedError(Exception):
    """The root of every error that a user can cause."""


class InvalidParameter(BelatedError, ValueError):
    """A value outside its domain was given."""


class UnsupportedSupport(InvalidParameter):
    """A reward law would leave [0, 1]."""


class ConfigurationError(InvalidParameter):
    """A file asks for something that does not exist or is not allowed."""


class UnknownName(BelatedError, KeyError):
    """No law, policy or parameter has this name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FeedbackError(BelatedError, ValueError):
    """A live bandit refused a feedback; its state is untouched."""


class UnknownDecision(FeedbackError):
    """No decision has this id."""


class ConflictingFeedback(FeedbackError):
    """The decision was already answered with another reward."""


class InvalidReward(FeedbackError):
    """The reward is no number in [0, 1]."""


class StateError(BelatedError, ValueError):
    """A saved bandit or result cannot be restored."""


class IncompatibleState(StateError):
    """A saved state was made by other code, and says nothing to this."""


class NotReproducible(BelatedError):
    """A result cannot be run again from its manifest alone."""


class FigureNotSaved(BelatedError, OSError):
    """The process that saves figures ended before one was saved."""


class ApiError(BelatedError):
    """The service refused a request: the HTTP status, a short name of the kind, what to do; and the experiment, where a
    feedback is refused that belongs to one."""

    def __init__(self, status: int, kind: str, message: str, experiment: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.experiment = experiment


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


class ServiceUnavailable(BelatedError, ConnectionError):
    """The service gave no answer, however often it was asked. Whether it did what was asked is not known.

    :attr:`id` is the id that the request had, if it had one: the same call with this id makes no second decision.
    """

    def __init__(self, message: str, id: str | None = None) -> None:
        super().__init__(message)
        self.id = id


class StorageError(BelatedError, OSError):
    """A database cannot be opened, read or written."""


class DuplicateError(StorageError):
    """What should be written is there already."""


class MissingComponent(BelatedError, ImportError):
    """An optional part is not installed."""


class Interrupted(BelatedError, KeyboardInterrupt):
    """Ctrl-C stopped a simulation; :attr:`result` holds the runs that were finished, or None."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class SweepInterrupted(Interrupted):
    """Ctrl-C stopped a sweep; :attr:`sweep` holds the values that were finished, or None.

    :attr:`result` holds the finished runs of the value that was being played, or None.
    """

    def __init__(self, message: str, sweep: Any, result: Any) -> None:
        super().__init__(message, result)
        self.sweep = sweep


class ArenaInterrupted(Interrupted):
    """Ctrl-C stopped the arena; :attr:`scores` holds the rows that were finished, or None."""

    def __init__(self, message: str, scores: Any) -> None:
        super().__init__(message, None)
        self.scores = scores


class ReproductionInterrupted(Interrupted):
    """Ctrl-C stopped a reproduction; :attr:`outcomes` holds the experiments that were finished."""

    def __init__(self, message: str, outcomes: list[Any]) -> None:
        super().__init__(message, None)
        self.outcomes = outcomes
