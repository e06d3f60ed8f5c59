"""The blocking client, generated from aio.py by tests/client/generate_sync.py."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from belated.client.base import BaseClient
from belated.client.messages import DecisionStatus, parse_summary
from belated.client.protocol import Exchange, HttpRequest
from belated.live.types import ArmSummary, Decision

if TYPE_CHECKING:
    from belated.live.bandit import Bandit
    from belated.policies import Policy

T = TypeVar("T")


class Client(BaseClient):
    """A bandit kept on a server, with the operations of :class:`belated.Bandit`; thread-safe.

    Every request has an id that the client chooses, so that it is executed once, however often it is sent.

    Parameters
    ----------
    url
        Where the service is, such as ``http://127.0.0.1:8000``.
    experiment
        The name of the experiment; it may be omitted if the server has just one.
    key
        What ``belated keys create`` printed, if the server needs a key.
    timeout
        The seconds within which the server must respond.
    retries
        How often a request without a response is sent again.
    wait
        The seconds before it is sent again for the first time; then twice as long each time.
    """

    _transport = "Client"

    def _run(self, exchange: Exchange[T]) -> T:
        outcome: Any = None
        while True:
            try:
                action = exchange.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = None
            if not isinstance(action, HttpRequest):
                time.sleep(action)
                continue
            headers = None if action.body is None else {"Content-Type": "application/json"}
            try:
                outcome = self._http.request(action.method, action.path, content=action.body, headers=headers)
            except self._request_error as error:
                outcome = error

    def close(self) -> None:
        """Close the connections, also those of clients made from this one."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(
        self,
        name: str,
        arms: Sequence[str],
        policy: Policy | Mapping[str, Any] | None = None,
        seed: int | None = None,
        silence: Mapping[str, float] | None = None,
    ) -> Self:
        """Create an experiment and return the client for it; the same call again changes nothing.

        Parameters
        ----------
        name
            The name of the experiment.
        arms
            The names of its arms.
        policy
            A policy, or ``{"name": "UCB", ...}``; by default the server uses :func:`belated.policies.default_policy`.
        seed
            Determines the policy's random choices; by default the server draws one.
        silence
            ``{"after": seconds, "reward": 0}`` if the absence of feedback means a reward.
        """
        self._run(self._operations.create(name, arms, policy, seed, silence))
        return self.experiment(name)

    def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Self:
        """Create an experiment from a bandit and return the client for it; the same call again changes nothing.

        The experiment continues exactly as the bandit would. Decisions made before keep their integer ids.

        Parameters
        ----------
        bandit
            The bandit, or what its ``to_dict`` returned. Arms that are not strings are named by their ``str()`` on the
            server.
        name
            The name of the experiment.
        """
        self._run(self._operations.move(bandit, name))
        return self.experiment(name)

    @overload
    def choose(
        self,
        n: None = None,
        *,
        id: str | None = None,
        unit: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Decision[str, str]: ...

    @overload
    def choose(
        self, n: int, *, id: str | None = None, unit: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> list[Decision[str, str]]: ...

    def choose(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        unit: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Decision[str, str] | list[Decision[str, str]]:
        """Make a decision, or several.

        Parameters
        ----------
        n
            How many decisions, as a list; by default a single one.
        id
            Your id for the decision: the same id again returns the same decision. By default a new one is chosen.
        unit
            Whom the decision is for, such as a visitor; stored with it.
        metadata
            Your data, stored with the decision.
        """
        if n is None:
            return self._run(self._operations.choose(id, unit, metadata))
        return self._run(self._operations.choose_many(n, id, unit, metadata))

    def observe(self, id: str | int, reward: float, *, observed_at: datetime | None = None) -> None:
        """Report the reward of a decision; the same call again counts once.

        Parameters
        ----------
        id
            The id of the decision; integers are ids of a bandit that was moved.
        reward
            Its reward, a number in [0, 1].
        observed_at
            When the feedback was observed, if not now, with a time zone.
        """
        self._run(self._operations.observe(id, reward, observed_at))

    def observe_many(self, feedback: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> int:
        """Report many rewards; return how many were new, as far as the server's responses came through.

        Each reward is accepted or refused on its own. If some are refused, the first error is raised after all have
        been sent.

        Parameters
        ----------
        feedback
            ``{id: reward, ...}``, or (id, reward) pairs.
        """
        return self._run(self._operations.observe_many(feedback))

    def cancel(self, id: str | int) -> None:
        """Cancel a decision that was never shown: it leaves the statistics.

        Parameters
        ----------
        id
            The id of the decision.
        """
        self._run(self._operations.cancel(id))

    def decision(self, id: str | int) -> DecisionStatus:
        """Look up a decision and what became of it.

        Parameters
        ----------
        id
            The id of the decision.
        """
        return self._run(self._operations.decision(id))

    def summary(self) -> list[ArmSummary[str]]:
        """Statistics of each arm."""
        return self._run(self._operations.state(parse_summary))

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self._run(self._operations.state(lambda state: tuple(arm["arm"] for arm in state["arms"])))

    @property
    def decisions(self) -> int:
        """How many decisions were made, including cancelled ones."""
        return self._run(self._operations.state(lambda state: int(state["decisions"])))

    @property
    def pending(self) -> int:
        """How many decisions have no feedback yet."""
        return self._run(self._operations.state(lambda state: int(state["pending"])))
