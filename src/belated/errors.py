"""All errors that a user can cause, in one tree.

::

    BelatedError
    |-- InvalidParameter (also ValueError)   a value outside its domain
    |   |-- UnsupportedSupport               a reward law with values outside [0, 1]
    |   |-- PolicyError                      a mistake in a policy of one's own: names its file and line
    |   `-- ConfigurationError               a mistake in a file: names the file, the key, the value, what is allowed
    |-- UnknownName (also KeyError)          no law, policy or parameter of that name
    |-- FeedbackError (also ValueError)      a live bandit refused feedback; its state is unchanged
    |   |-- UnknownDecision                  no decision has this id
    |   |-- ConflictingFeedback              the decision already has another reward
    |   `-- InvalidReward                    not a number in the range of rewards
    |-- StateError (also ValueError)         a saved bandit or result cannot be restored
    |   `-- IncompatibleState                it was saved by another version, or by other code
    |-- NotReproducible                      a result cannot be rerun from its manifest
    |-- ApiError                             the service refused a request; ``.status`` and ``.kind`` say why
    |-- ServiceUnavailable (also ConnectionError) the service did not respond after all retries; ``.id`` to try again
    |-- StorageError (also OSError)          a database cannot be opened, read or written
    |   |-- DuplicateError                   the row to be written exists already
    |   `-- NewerSchema                      a newer version has migrated the database
    |-- MissingComponent (also ImportError)  an optional dependency is not installed; the message says how to install it
    `-- Interrupted (also KeyboardInterrupt) Ctrl-C; ``.result`` holds the finished runs
        |-- SweepInterrupted                 Ctrl-C in a sweep; ``.sweep`` holds the finished values
        |-- ArenaInterrupted                 Ctrl-C in the arena; ``.scores`` holds the finished scenarios
        `-- ReproductionInterrupted          Ctrl-C in a reproduction; ``.outcomes`` holds the finished experiments

Each message says what was given, what is allowed and what to do. :class:`BelatedWarning` is the category of all
warnings.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

from belated.own_code import is_own_file


class BelatedError(Exception):
    """Base of all errors that a user can cause."""


class BelatedWarning(UserWarning):
    """Something goes on differently than one may expect: a setting is ignored, or code cannot be kept."""

    @classmethod
    def issue(cls, message: str) -> None:
        """Warn the user, at the line of their own code that called the package; in a thread of ours there is none."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        place = ("belated", 1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        warnings.warn_explicit(message, cls, *place)


class InvalidParameter(BelatedError, ValueError):
    """A value is outside its domain."""


class UnsupportedSupport(InvalidParameter):
    """A reward law has values outside [0, 1]."""


class PolicyError(InvalidParameter):
    """A policy of one's own has a mistake; the message names its file and line and says what to write instead."""


class ConfigurationError(InvalidParameter):
    """A file contains something that does not exist or is not allowed."""


class UnknownName(BelatedError, KeyError):
    """No law, policy or parameter has this name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FeedbackError(BelatedError, ValueError):
    """A live bandit refused feedback; its state is unchanged."""


class UnknownDecision(FeedbackError):
    """No decision has this id."""


class ConflictingFeedback(FeedbackError):
    """The decision already has another reward."""


class InvalidReward(FeedbackError):
    """The reward is not a number in the range of rewards, which is [0, 1] unless another is stated."""


class StateError(BelatedError, ValueError):
    """A saved bandit or result cannot be restored."""


class IncompatibleState(StateError):
    """A saved state was written by other code and cannot be loaded."""


class NotReproducible(BelatedError):
    """A result cannot be rerun from its manifest."""


class ApiError(BelatedError):
    """The service refused a request. :attr:`status` is the HTTP status, :attr:`kind` the problem type;
    :attr:`experiment` is set if the refused feedback belongs to one."""

    def __init__(self, status: int, kind: str, message: str, experiment: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.experiment = experiment


class ServiceUnavailable(BelatedError, ConnectionError):
    """The service did not respond after all retries; the request may or may not have been executed.

    :attr:`id` is the id of the request, if it had one: the same call with this id makes no second decision.
    """

    def __init__(self, message: str, id: str | None = None) -> None:
        super().__init__(message)
        self.id = id


class StorageError(BelatedError, OSError):
    """A database cannot be opened, read or written."""


class DuplicateError(StorageError):
    """The row to be written exists already."""


class NewerSchema(StorageError):
    """A newer version has migrated the database: this one writes nothing to it."""


class MissingComponent(BelatedError, ImportError):
    """An optional dependency is not installed."""


class Interrupted(BelatedError, KeyboardInterrupt):
    """Ctrl-C stopped a simulation; :attr:`result` holds the finished runs, or None."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class SweepInterrupted(Interrupted):
    """Ctrl-C stopped a sweep; :attr:`sweep` holds the finished values, or None.

    :attr:`result` holds the finished runs of the current value, or None.
    """

    def __init__(self, message: str, sweep: Any, result: Any) -> None:
        super().__init__(message, result)
        self.sweep = sweep


class ArenaInterrupted(Interrupted):
    """Ctrl-C stopped the arena; :attr:`scores` holds the finished scenarios, or None."""

    def __init__(self, message: str, scores: Any) -> None:
        super().__init__(message, None)
        self.scores = scores


class ReproductionInterrupted(Interrupted):
    """Ctrl-C stopped a reproduction; :attr:`outcomes` holds the finished experiments."""

    def __init__(self, message: str, outcomes: list[Any]) -> None:
        super().__init__(message, None)
        self.outcomes = outcomes
