"""Several feedbacks in one request: each is read, and taken or refused, for itself; all of them in one transaction."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from belated.errors import ApiError
from belated.service.api.messages import FeedbackItem
from belated.service.api.request_parsing import ALLOWED, read_as, time_of, unsigned
from belated.service.core import operations as op
from belated.service.core.decision import Decision
from belated.service.core.experiment import Experiment
from belated.service.core.transaction import Operation, Transaction

Outcome = tuple[Experiment, Decision, str] | ApiError
"""What a feedback's operation gives, or why it is refused."""


class Item(NamedTuple):
    """One of several feedbacks."""

    id: str | None
    todo: Operation | ApiError
    """What is to be done, or what is wrong with it."""


class _Named(msgspec.Struct):
    """What can be told of an item that is refused."""

    id: Any = None


def read_items(given: list[msgspec.Raw]) -> list[Item]:
    """Each item; an error for all of them if one is no object."""
    for place, raw in enumerate(given):
        if bytes(raw)[:1] != b"{":
            raise ApiError(422, "invalid-body", f"Expected `object` - at `$.feedback[{place}]`; {ALLOWED}")
    return [_item(raw, place) for place, raw in enumerate(given)]


def _item(raw: msgspec.Raw, place: int) -> Item:
    try:
        found = read_as(raw, FeedbackItem)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        told = f"{what} - at `$.feedback[{place}]{where or '`'}; {ALLOWED}"
        return Item(_id(raw), ApiError(422, "invalid-body", told))
    try:
        seen = time_of(found.observed_at, f"feedback[{place}].observed_at")
    except ApiError as refused:
        return Item(found.id, refused)
    return Item(found.id, op.feedback(found.id, unsigned(found.reward), seen))


def _id(raw: msgspec.Raw) -> str | None:
    try:
        id = msgspec.json.decode(raw, type=_Named).id
    except msgspec.ValidationError:  # such as a number that is too large
        return None
    return id if isinstance(id, str) else None


def tell(items: list[Item]) -> Operation:
    """All feedbacks, one after the other; what becomes of each."""

    def act(session: Transaction) -> list[Outcome]:
        return [_outcome(item.todo, session) for item in items]

    return Operation(act, (), tuple(id for item in items if isinstance(item.todo, Operation) for id in item.todo.ids))


def _outcome(todo: Operation | ApiError, session: Transaction) -> Outcome:
    if isinstance(todo, ApiError):
        return todo
    try:
        found: Outcome = todo.act(session)  # it refuses before it changes anything
    except ApiError as refused:
        return refused
    return found
