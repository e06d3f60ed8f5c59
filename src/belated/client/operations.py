"""What can be asked of a server, each verb as a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from belated.client.ids import checked_id, in_path, known_id, new_id
from belated.client.payloads import bandit_parts, policy_body
from belated.client.protocol import RetryPolicy, Talk, call, told
from belated.client.responses import Data, DecisionStatus, decision, decisions, nothing, results, status
from belated.errors import BelatedError, InvalidParameter
from belated.live.bandit import Bandit, Decision, check_alone, checked_count, checked_reward, feedback_pairs
from belated.policies._base.policy import Policy

AT_A_TIME = 1_000
"""Decisions, or feedbacks, of one request."""

LONGEST_ENDING = 16
"""Characters that the ids of several requests have behind the id of the call."""

T = TypeVar("T")


class Verbs:
    """The verbs of a client. ``experiment`` is None as long as nobody knows which."""

    def __init__(self, patience: RetryPolicy, experiment: str | None) -> None:
        self.patience = patience
        self.experiment = experiment

    def which(self) -> Talk[str]:
        """The experiment's name; where none was said, that of the server's only one."""
        if self.experiment is not None:
            return self.experiment
        asked = call("GET", "/v1/experiments")
        names: list[str] = yield from told(
            asked, self.patience, lambda _, data: [each["name"] for each in data["experiments"]]
        )
        if len(names) != 1:
            there = f"has {len(names)}: {', '.join(names[:20])}" if names else "has none yet; make one with create()"
            raise InvalidParameter(f"experiment is not given, and the server {there}. Say which: experiment=NAME.")
        self.experiment = names[0]
        return names[0]

    def _path(self) -> Talk[str]:
        return f"/v1/experiments/{in_path((yield from self.which()))}"

    def _path_of(self, id: Any) -> Talk[str]:
        """The address of a decision. Numbers are those of a bandit that moved to the experiment."""
        name = (yield from self.which()) if not isinstance(id, str) else None
        return f"/v1/decisions/{in_path(known_id(name, id))}"

    def create(
        self, name: str, arms: Sequence[str], policy: Policy | Mapping[str, Any] | None, seed: int, silence: Any
    ) -> Talk[None]:
        """Make an experiment."""
        if isinstance(arms, str):
            raise InvalidParameter(f"arms is {arms!r}; give a list of names, such as ['red', 'green'].")
        asked: Data = {"name": name, "arms": list(arms), "seed": seed}
        if policy is not None:
            asked["policy"] = policy_body(policy)
        if silence is not None:
            asked["silence"] = dict(silence)
        return told(call("POST", "/v1/experiments", asked), self.patience, nothing)

    # ---- decisions ----

    def choose(self, id: str | None, unit: str | None, metadata: Any) -> Talk[Decision[str]]:
        """A decision."""
        chosen = new_id() if id is None else checked_id(id)
        return self._decide(chosen, {"unit": unit, "metadata": metadata}, decision, chosen)

    def choose_many(self, n: int, id: str | None, unit: str | None, metadata: Any) -> Talk[list[Decision[str]]]:
        """Several decisions, in as many requests as are needed."""
        count = checked_count(n)
        total = count if count > AT_A_TIME else None  # so that another n is seen to be another request
        chosen = new_id() if id is None else checked_id(id, LONGEST_ENDING if total is not None else 0)
        made: list[Decision[str]] = []
        for first in range(0, count, AT_A_TIME):
            asked = {"unit": unit, "metadata": metadata, "count": min(AT_A_TIME, count - first), "of": total}
            own = f"{chosen}.{first}" if first else chosen
            made += yield from self._decide(own, asked, decisions, chosen)
        return made

    def _decide(self, own: str, asked: Data, read: Callable[[Data], T], id: str) -> Talk[T]:
        """``own`` is the id of this request, ``id`` that of the whole call."""
        body = {"id": own, **{key: value for key, value in asked.items() if value is not None}}
        request = call("POST", f"{yield from self._path()}/decisions", body)
        return (yield from told(request, self.patience, lambda _, data: read(data), id))

    def decision(self, id: Any) -> Talk[DecisionStatus]:
        """What became of a decision."""
        request = call("GET", (yield from self._path_of(id)))
        return (yield from told(request, self.patience, lambda _, data: status(data)))

    def cancel(self, id: Any) -> Talk[None]:
        """A decision was never shown."""
        yield from told(call("POST", f"{yield from self._path_of(id)}/cancel"), self.patience, nothing)

    # ---- feedback ----

    def observe(self, id: Any, reward: Any, observed_at: datetime | None) -> Talk[None]:
        """The reward of a decision."""
        asked = {"reward": checked_reward(id, reward), **_seen(observed_at)}
        yield from told(call("POST", f"{yield from self._path_of(id)}/feedback", asked), self.patience, nothing)

    def observe_many(self, feedback: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> Talk[int]:
        """Many rewards; how many were new."""
        rewards: dict[str, float] = {}
        pairs = feedback_pairs(feedback)
        name = (yield from self.which()) if not all(isinstance(id, str) for id, _ in pairs) else None
        for id, reward in pairs:
            known, value = known_id(name, id), checked_reward(id, reward)
            check_alone(id, value, rewards.setdefault(known, value))
        new: set[str] = set()
        refused: list[BelatedError] = []
        items = list(rewards.items())
        for first in range(0, len(items), AT_A_TIME):
            part = [{"id": id, "reward": reward} for id, reward in items[first : first + AT_A_TIME]]
            request = call("POST", "/v1/feedback", {"feedback": part})
            refused += yield from told(request, self.patience, lambda _, data: results(data, new))
        if refused:
            raise refused[0]
        return len(new)

    # ---- reading ----

    def state(self, read: Callable[[Data], T]) -> Talk[T]:
        """What ``read`` makes of the experiment as it is now."""
        request = call("GET", (yield from self._path()))
        return (yield from told(request, self.patience, lambda _, data: read(data)))

    # ---- moving ----

    def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Talk[None]:
        """A bandit becomes an experiment, in as many requests as are needed."""
        for part in bandit_parts(bandit):
            request = call("POST", f"/v1/experiments/{in_path(name)}/history", part)
            yield from told(request, self.patience, nothing)


def _seen(observed_at: datetime | None) -> Data:
    if observed_at is None:
        return {}
    if not isinstance(observed_at, datetime) or observed_at.tzinfo is None:
        raise InvalidParameter(f"observed_at is {observed_at!r}; give a datetime with a time zone.")
    return {"observed_at": observed_at.isoformat()}
