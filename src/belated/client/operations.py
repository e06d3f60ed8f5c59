"""The operations of a client, each as an exchange of requests and responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from belated.client.payloads import (
    check_new_id,
    decision_id,
    history_payloads,
    new_id,
    observed_at_payload,
    policy_payload,
    url_path,
)
from belated.client.protocol import Exchange, Retry, RetryPolicy, json_request, request
from belated.client.responses import (
    Data,
    DecisionStatus,
    ignore,
    parse_decision,
    parse_decisions,
    parse_feedback_results,
    parse_status,
)
from belated.errors import BelatedError, InvalidParameter
from belated.live.types import Decision, check_reward, check_same_reward, feedback_pairs
from belated.validation import check_integer

if TYPE_CHECKING:
    from belated.live.bandit import Bandit
    from belated.policies import Policy

BATCH = 1_000
"""Decisions or feedback in one request."""

LONGEST_SUFFIX = 16
"""Characters that are added to the id of a call that takes several requests."""

T = TypeVar("T")


class Operations:
    """The operations of a client. ``experiment`` is None until it is known which one is meant."""

    def __init__(self, retry_policy: RetryPolicy, experiment: str | None) -> None:
        self.retry_policy = retry_policy
        self.experiment = experiment

    def _request(
        self, method: str, path: str, body: Any, parse: Callable[[Data], T | Retry], id: str | None = None
    ) -> Exchange[T]:
        return request(json_request(method, path, body), self.retry_policy, parse, id)

    def _experiment_name(self) -> Exchange[str]:
        """The name of the experiment; if none was given, that of the server's only one."""
        if self.experiment is not None:
            return self.experiment
        names: list[str] = yield from self._request(
            "GET", "/v1/experiments", None, lambda data: [item["name"] for item in data["experiments"]]
        )
        if len(names) != 1:
            has = f"has {len(names)}: {', '.join(names[:20])}" if names else "has none yet; make one with create()"
            raise InvalidParameter(f"experiment is not given, and the server {has}. Say which: experiment=NAME.")
        self.experiment = names[0]
        return names[0]

    def _experiment_path(self) -> Exchange[str]:
        return f"/v1/experiments/{url_path((yield from self._experiment_name()))}"

    def _decision_path(self, id: Any) -> Exchange[str]:
        experiment = (yield from self._experiment_name()) if not isinstance(id, str) else None
        return f"/v1/decisions/{url_path(decision_id(experiment, id))}"

    def create(
        self,
        name: str,
        arms: Sequence[str],
        policy: Policy | Mapping[str, Any] | None,
        seed: int,
        silence: Mapping[str, float] | None,
    ) -> Exchange[None]:
        """Create an experiment."""
        if isinstance(arms, str):
            raise InvalidParameter(f"arms is {arms!r}; give a list of names, such as ['red', 'green'].")
        body: Data = {"name": name, "arms": list(arms), "seed": seed}
        if policy is not None:
            body["policy"] = policy_payload(policy)
        if silence is not None:
            body["silence"] = dict(silence)
        return self._request("POST", "/v1/experiments", body, ignore)

    def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Exchange[None]:
        """Create an experiment from a bandit, in as many requests as necessary."""
        for payload in history_payloads(bandit):
            yield from self._request("POST", f"/v1/experiments/{url_path(name)}/history", payload, ignore)

    def choose(self, id: str | None, unit: str | None, metadata: Mapping[str, Any] | None) -> Exchange[Decision[str]]:
        """Make a decision."""
        id = new_id() if id is None else check_new_id(id)
        return self._decide(id, {"unit": unit, "metadata": metadata}, parse_decision, id)

    def choose_many(
        self, n: int, id: str | None, unit: str | None, metadata: Mapping[str, Any] | None
    ) -> Exchange[list[Decision[str]]]:
        """Make several decisions, in as many requests as necessary."""
        count = check_integer("n", n, 0)
        total = count if count > BATCH else None  # so that another n with this id is recognised as another request
        id = new_id() if id is None else check_new_id(id, LONGEST_SUFFIX if total is not None else 0)
        decisions: list[Decision[str]] = []
        for first in range(0, count, BATCH):
            body = {"unit": unit, "metadata": metadata, "count": min(BATCH, count - first), "of": total}
            request_id = f"{id}.{first}" if first else id
            decisions += yield from self._decide(request_id, body, parse_decisions, id)
        return decisions

    def _decide(self, request_id: str, body: Data, parse: Callable[[Data], T], id: str) -> Exchange[T]:
        """Request decisions; ``id`` is that of the whole call."""
        body = {"id": request_id, **{key: value for key, value in body.items() if value is not None}}
        path = f"{yield from self._experiment_path()}/decisions"
        return (yield from self._request("POST", path, body, parse, id))

    def decision(self, id: str | int) -> Exchange[DecisionStatus]:
        """Look up a decision."""
        return (yield from self._request("GET", (yield from self._decision_path(id)), None, parse_status))

    def cancel(self, id: str | int) -> Exchange[None]:
        """Cancel a decision."""
        yield from self._request("POST", f"{yield from self._decision_path(id)}/cancel", None, ignore)

    def observe(self, id: str | int, reward: float, observed_at: datetime | None) -> Exchange[None]:
        """Report the reward of a decision."""
        body = {"reward": check_reward(id, reward), **observed_at_payload(observed_at)}
        yield from self._request("POST", f"{yield from self._decision_path(id)}/feedback", body, ignore)

    def observe_many(self, feedback: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> Exchange[int]:
        """Report many rewards; return how many were new."""
        rewards: dict[str, float] = {}
        pairs = feedback_pairs(feedback)
        experiment = (yield from self._experiment_name()) if not all(isinstance(id, str) for id, _ in pairs) else None
        for id, reward in pairs:
            known_id, value = decision_id(experiment, id), check_reward(id, reward)
            check_same_reward(id, value, rewards.setdefault(known_id, value))
        new: set[str] = set()
        errors: list[BelatedError] = []
        items = [{"id": id, "reward": reward} for id, reward in rewards.items()]
        for first in range(0, len(items), BATCH):
            body = {"feedback": items[first : first + BATCH]}
            errors += yield from self._request(
                "POST", "/v1/feedback", body, lambda data: parse_feedback_results(data, new)
            )
        if errors:
            raise errors[0]
        return len(new)

    def state(self, parse: Callable[[Data], T]) -> Exchange[T]:
        """Return what ``parse`` makes of the experiment's current state."""
        return (yield from self._request("GET", (yield from self._experiment_path()), None, parse))
