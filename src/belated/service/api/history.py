"""The handler that takes in what happened to a bandit elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from belated.errors import ApiError
from belated.service.api.handlers import service_of
from belated.service.api.messages import HistoryRequest
from belated.service.api.request_parsing import body_as, unsigned
from belated.service.api.views import experiment_view
from belated.service.core.import_bandit import Happened, Part, move
from belated.service.core.spec import check_name, checked_spec
from belated.service.core.transaction import Operation, Transaction


async def history(request: Request) -> Response:
    """Let a bandit that began elsewhere move in, or a part of it."""
    asked = await body_as(request, HistoryRequest)
    name = check_name(request.path_params["name"])
    spec = checked_spec(asked.arms, asked.policy, asked.seed, None)
    moving = move(name, spec, _part(asked))

    def act(session: Transaction) -> tuple[Any, bool]:
        experiment, new = moving.act(session)
        return experiment_view(experiment), new

    found, new = await service_of(request).do(Operation(act, moving.names, moving.ids))
    return Response(msgspec.json.encode(found), 201 if new else 200, media_type="application/json")


def _part(asked: HistoryRequest) -> Part:
    """A part as it was asked for, or an error if its answers are not between its decisions."""
    events: list[Happened] = []
    made, last = 0, asked.first + len(asked.decisions)
    for before, number, reward in asked.answers:
        if not asked.first + made <= before <= last:
            raise ApiError(
                409,
                "history-out-of-order",
                f"the answer to decision {number} came after {before} decisions, which is before the answer in front "
                f"of it or not among the decisions {asked.first} to {last}; give what Bandit.to_dict wrote.",
            )
        events.extend(asked.decisions[made : before - asked.first])
        made = before - asked.first
        events.append((number, unsigned(reward)))
    events.extend(asked.decisions[made:])
    return Part(asked.after, asked.first, events, asked.more)
