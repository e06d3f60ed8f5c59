"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
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


class AsyncClient(BaseClient):
    """The asyncio variant of :class:`belated.Client`: every operation is awaited, also ``await client.arms``.

    A request without a response is sent again, ``retries`` times, after ``wait`` seconds and then twice as long each
    time. Every request has an id that the client chooses, so that it is executed once, however often it is sent.

    ``experiment`` may be omitted if the server has just one. ``key`` is what ``belated keys create`` printed,
    ``timeout`` the seconds within which the server must respond.
    """

    _transport = "AsyncClient"

    async def _run(self, exchange: Exchange[T]) -> T:
        outcome: Any = None
        while True:
            try:
                action = exchange.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            outcome = None
            if not isinstance(action, HttpRequest):
                await asyncio.sleep(action)
                continue
            headers = None if action.body is None else {"Content-Type": "application/json"}
            try:
                outcome = await self._http.request(action.method, action.path, content=action.body, headers=headers)
            except self._request_error as error:
                outcome = error

    async def close(self) -> None:
        """Close the connections, also those of clients made from this one."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def create(
        self,
        name: str,
        arms: Sequence[str],
        policy: Policy | Mapping[str, Any] | None = None,
        seed: int = 0,
        silence: Mapping[str, float] | None = None,
    ) -> Self:
        """Create an experiment and return the client for it; the same call again changes nothing.

        Without a ``policy`` the server uses :func:`belated.policies.default_policy`. ``silence`` is
        ``{"after": seconds, "reward": 0}`` if the absence of feedback means a reward.
        """
        await self._run(self._operations.create(name, arms, policy, seed, silence))
        return self.experiment(name)

    async def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Self:
        """Create an experiment from a bandit, or from the output of its ``to_dict``, and return the client for it; the
        same call again changes nothing.

        The experiment continues exactly as the bandit would. Decisions made before keep their integer ids.
        """
        await self._run(self._operations.move(bandit, name))
        return self.experiment(name)

    @overload
    async def choose(
        self,
        n: None = None,
        *,
        id: str | None = None,
        unit: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Decision[str]: ...

    @overload
    async def choose(
        self, n: int, *, id: str | None = None, unit: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> list[Decision[str]]: ...

    async def choose(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        unit: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Decision[str] | list[Decision[str]]:
        """Make a decision; with ``n``, a list of n decisions.

        The same ``id`` again returns the same decision; by default a new one is chosen. ``unit`` (for example a
        visitor) and ``metadata`` are stored with the decision.
        """
        if n is None:
            return await self._run(self._operations.choose(id, unit, metadata))
        return await self._run(self._operations.choose_many(n, id, unit, metadata))

    async def observe(self, id: str | int, reward: float, *, observed_at: datetime | None = None) -> None:
        """Report the reward of a decision; the same call again counts once. Integer ids are those of a moved bandit."""
        await self._run(self._operations.observe(id, reward, observed_at))

    async def observe_many(self, feedback: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> int:
        """Report many rewards; return how many were new, as far as the server's responses came through.

        Each reward is accepted or refused on its own. If some are refused, the first error is raised after all have
        been sent.
        """
        return await self._run(self._operations.observe_many(feedback))

    async def cancel(self, id: str | int) -> None:
        """Cancel a decision that was never shown: it leaves the statistics."""
        await self._run(self._operations.cancel(id))

    async def decision(self, id: str | int) -> DecisionStatus:
        """Look up a decision and what became of it."""
        return await self._run(self._operations.decision(id))

    async def summary(self) -> list[ArmSummary]:
        """Statistics of each arm."""
        return await self._run(self._operations.state(parse_summary))

    @property
    def arms(self) -> Awaitable[tuple[str, ...]]:
        """The names of the arms."""
        return self._run(self._operations.state(lambda state: tuple(arm["arm"] for arm in state["arms"])))

    @property
    def decisions(self) -> Awaitable[int]:
        """How many decisions were made, including cancelled ones."""
        return self._run(self._operations.state(lambda state: int(state["decisions"])))

    @property
    def pending(self) -> Awaitable[int]:
        """How many decisions have no feedback yet."""
        return self._run(self._operations.state(lambda state: int(state["pending"])))
