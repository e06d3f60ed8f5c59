"""What both clients have in common: the operations, each as an exchange of requests and responses; and URL, key, retry
policy and experiment."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from belated._version import __version__
from belated.client.messages import (
    Data,
    DecisionStatus,
    check_new_id,
    decision_id,
    history_payloads,
    ignore,
    new_id,
    parse_decision,
    parse_feedback_results,
    policy_payload,
    read_fields,
    url_path,
)
from belated.client.protocol import Exchange, Retry, json_request, result_of
from belated.errors import ApiError, BelatedError, InvalidParameter, MissingComponent, ServiceUnavailable
from belated.live.types import Decision, check_reward, check_same_reward, feedback_pairs
from belated.validation import Domain, check_integer, check_number

if TYPE_CHECKING:
    from belated.live.bandit import Bandit
    from belated.policies import Policy

T = TypeVar("T")

BATCH = 1_000
"""Decisions or feedback in one request."""
LONGEST_WAIT = 60.0
"""Seconds; if a server asks for more with Retry-After, the client gives up."""
LONGEST_BACKOFF = 5.0
LONGEST_SUFFIX = 16
"""Characters that are added to the id of a call that takes several requests."""
MAX_IDLE_CONNECTIONS = 100
IDLE_SECONDS = 4.0
"""How long an idle connection is kept: less than servers do, so that they seldom close one first."""
_SECONDS = Domain(0, open_low=True)
_random = random.SystemRandom()  # leaves the caller's seeds alone


class Operations:
    """The operations of a client. A request without a response is sent again, ``retries`` times, after ``wait`` seconds
    and then twice as long each time. ``experiment`` is None until it is known which one is meant."""

    def __init__(self, retries: int, wait: float, experiment: str | None) -> None:
        if experiment is not None and (not isinstance(experiment, str) or not experiment):
            raise InvalidParameter(f"experiment is {experiment!r}; give its name, or None if the server has just one.")
        self.retries = retries
        self.wait = wait
        self.experiment = experiment

    def _request(
        self, method: str, path: str, body: Any, parse: Callable[[Data], T], id: str | None = None
    ) -> Exchange[T]:
        """Send a request, again if necessary, and return what ``parse`` makes of the response's data."""
        request = json_request(method, path, body)
        for attempt in range(1, self.retries + 2):
            outcome = yield request
            assert outcome is not None
            try:
                return result_of(outcome, parse)
            except Retry as retry:
                reason, least = str(retry), retry.seconds
            if attempt > self.retries or least > LONGEST_WAIT:
                break
            backoff = min(self.wait * 2.0 ** (attempt - 1), LONGEST_BACKOFF) * _random.uniform(0.5, 1.0)
            yield max(backoff, least)
        hint = f"; it asks to wait {least:.0f} seconds" if least > LONGEST_WAIT else ""
        raise ServiceUnavailable(
            f"the service did not respond to {method} {path} in {attempt} attempts: {reason}{hint}. It may or may not "
            f"have been done; the same call again counts once{f', with id={id!r}' if id is not None else ''}.",
            id,
        )

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

    def _decision_path(self, id: Any, action: str = "") -> Exchange[str]:
        """The path of a decision, or of an action on it, with the experiment as far as it is known."""
        experiment = (yield from self._experiment_name()) if not isinstance(id, str) else None
        return f"/v1/decisions/{url_path(decision_id(experiment, id))}{action}{self._in_experiment()}"

    def _in_experiment(self) -> str:
        """The query that names the experiment; empty if it is not known."""
        return "" if self.experiment is None else f"?experiment={url_path(self.experiment)}"

    def create(
        self,
        name: str,
        arms: Sequence[str],
        policy: Policy | Mapping[str, Any] | None,
        seed: int | None,
        silence: Mapping[str, float] | None,
    ) -> Exchange[None]:
        """Create an experiment."""
        if isinstance(arms, str):
            raise InvalidParameter(f"arms is {arms!r}; give a list of names, such as ['red', 'green'].")
        body: Data = {"name": name, "arms": list(arms)}
        if seed is not None:
            body["seed"] = seed
        if policy is not None:
            body["policy"] = policy_payload(policy)
        if silence is not None:
            body["silence"] = dict(silence)
        return self._request("POST", "/v1/experiments", body, ignore)

    def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Exchange[None]:
        """Create an experiment from a bandit, in as many requests as necessary."""
        for payload in history_payloads(bandit):
            yield from self._request("POST", f"/v1/experiments/{url_path(name)}/history", payload, ignore)

    def choose(
        self, id: str | None, unit: str | None, metadata: Mapping[str, Any] | None
    ) -> Exchange[Decision[str, str]]:
        """Make a decision."""
        id = new_id() if id is None else check_new_id(id)
        return self._decide(id, {"unit": unit, "metadata": metadata}, parse_decision, id)

    def choose_many(
        self, n: int, id: str | None, unit: str | None, metadata: Mapping[str, Any] | None
    ) -> Exchange[list[Decision[str, str]]]:
        """Make several decisions, in as many requests as necessary."""
        count = check_integer("n", n, 0)
        total = count if count > BATCH else None  # so that another n with this id is recognised as another request
        id = new_id() if id is None else check_new_id(id, LONGEST_SUFFIX if total is not None else 0)
        decisions: list[Decision[str, str]] = []
        for first in range(0, count, BATCH):
            body = {"unit": unit, "metadata": metadata, "count": min(BATCH, count - first), "of": total}
            request_id = f"{id}.{first}" if first else id
            decisions += yield from self._decide(
                request_id, body, lambda data: [parse_decision(item) for item in data["decisions"]], id
            )
        return decisions

    def _decide(self, request_id: str, body: Data, parse: Callable[[Data], T], id: str) -> Exchange[T]:
        """Request decisions; ``id`` is that of the whole call."""
        body = {"id": request_id, **{key: value for key, value in body.items() if value is not None}}
        path = f"{yield from self._experiment_path()}/decisions"
        return (yield from self._request("POST", path, body, parse, id))

    def decision(self, id: str | int) -> Exchange[DecisionStatus]:
        """Look up a decision."""
        path = yield from self._decision_path(id)
        try:
            return (yield from self._request("GET", path, None, lambda data: read_fields(DecisionStatus, data)))
        except ApiError as error:
            if error.kind != "invalid-query":
                raise
        path, _, _ = path.partition("?")  # a server of 0.1.0: ids are unique there
        return (yield from self._request("GET", path, None, lambda data: read_fields(DecisionStatus, data)))

    def cancel(self, id: str | int) -> Exchange[None]:
        """Cancel a decision."""
        yield from self._request("POST", (yield from self._decision_path(id, "/cancel")), None, ignore)

    def observe(self, id: str | int, reward: float, observed_at: datetime | None) -> Exchange[None]:
        """Report the reward of a decision."""
        body: Data = {"reward": check_reward(id, reward)}
        if observed_at is not None:
            if not isinstance(observed_at, datetime) or observed_at.tzinfo is None:
                raise InvalidParameter(f"observed_at is {observed_at!r}; give a datetime with a time zone.")
            body["observed_at"] = observed_at.isoformat()
        yield from self._request("POST", (yield from self._decision_path(id, "/feedback")), body, ignore)

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
                "POST", f"/v1/feedback{self._in_experiment()}", body, lambda data: parse_feedback_results(data, new)
            )
        if errors:
            raise errors[0]
        return len(new)

    def state(self, parse: Callable[[Data], T]) -> Exchange[T]:
        """Return what ``parse`` makes of the experiment's current state."""
        return (yield from self._request("GET", (yield from self._experiment_path()), None, parse))


class BaseClient:
    """What is common to both clients: the connections, and the operations on an experiment."""

    _transport: str
    """The class of ``httpx2`` that sends the requests."""

    def __init__(
        self,
        url: str,
        experiment: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 6,
        wait: float = 0.1,
    ) -> None:
        self.url = _check_url(url)
        self._operations = Operations(
            check_integer("retries", retries, 0), check_number("wait", wait, _SECONDS), experiment
        )
        try:
            import httpx2
        except ImportError as error:
            raise MissingComponent(f"the client needs httpx2: pip install 'belated[client]' ({error})") from None
        self._request_error = httpx2.RequestError
        self._http: Any = getattr(httpx2, self._transport)(
            base_url=self.url,
            headers={"User-Agent": f"belated/{__version__}", **_authorization(key)},
            timeout=check_number("timeout", timeout, _SECONDS),
            limits=httpx2.Limits(
                max_connections=None, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS
            ),
        )

    def experiment(self, name: str) -> Self:
        """Return the same client for another experiment. They share connections: closing one closes all.

        Parameters
        ----------
        name
            The name of the other experiment.
        """
        client = copy.copy(self)
        client._operations = Operations(self._operations.retries, self._operations.wait, name)
        return client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, experiment={self._operations.experiment!r})"


def _check_url(url: Any) -> str:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(f"url is {url!r}; give the server's URL, such as http://127.0.0.1:8000.")
    return str(url).rstrip("/")


def _authorization(key: Any) -> dict[str, str]:
    if key is None:
        return {}
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key or " " in key:
        raise InvalidParameter("key is not a valid key; give what belated keys create printed.")
    return {"Authorization": f"Bearer {key}"}
