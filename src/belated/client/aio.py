"""The client that awaits its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, overload

from belated.client import responses
from belated.client.base import Base, failure_of, reply_of, request_of
from belated.client.protocol import Outcome, Step, Talk, Wait
from belated.client.responses import DecisionStatus
from belated.live.bandit import ArmSummary, Bandit, Decision
from belated.policies._base.policy import Policy

T = TypeVar("T")


class AsyncClient(Base):
    """:class:`belated.Client` for ``asyncio``: the same verbs, each to be awaited, ``await client.arms`` too."""

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
        super().__init__(url, experiment, key, timeout, retries, wait)
        import httpx2

        self._lost = httpx2.TransportError
        self._http = httpx2.AsyncClient(**self._options)

    async def _talk(self, talk: Talk[T]) -> T:
        outcome: Outcome = None
        while True:
            try:
                step = talk.send(outcome)
            except StopIteration as end:
                found: T = end.value
                return found
            outcome = await self._do(step)

    async def _do(self, step: Step) -> Outcome:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return reply_of(await self._http.request(**request_of(step)))
        except self._lost as error:
            return failure_of(error)

    async def close(self) -> None:
        """Close the connections, also those of clients made from this one."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- experiments ----

    async def create(
        self,
        name: str,
        arms: Sequence[str],
        policy: Policy | Mapping[str, Any] | None = None,
        seed: int = 0,
        silence: Mapping[str, float] | None = None,
    ) -> Self:
        """Make an experiment; the same again changes nothing. The client for it.

        Without a ``policy`` the server uses its default (see :func:`belated.policies.default_policy`), with its
        ``silence`` where one is given. ``silence`` is ``{"after": seconds, "reward": 0}`` where no answer means one.
        """
        await self._talk(self._verbs.create(name, arms, policy, seed, silence))
        return self.experiment(name)

    async def move(self, bandit: Bandit | Mapping[str, Any], name: str) -> Self:
        """Make an experiment of a bandit, or of what its ``to_dict`` wrote; the same again changes nothing. The client
        for it: it goes on as the bandit would, and knows the decisions by their numbers."""
        await self._talk(self._verbs.move(bandit, name))
        return self.experiment(name)

    # ---- a bandit's verbs ----

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
        """The next decision; with ``n``, a list of the next n.

        The same ``id`` again gives the same decision; one is made where none is given. ``unit`` (whom it is for) and
        ``metadata`` are kept beside it.
        """
        if n is None:
            return await self._talk(self._verbs.choose(id, unit, metadata))
        return await self._talk(self._verbs.choose_many(n, id, unit, metadata))

    async def observe(self, id: str | int, reward: float, *, observed_at: datetime | None = None) -> None:
        """The reward of a decision has come; the same again is counted once. A number is the id of a decision from
        before a move."""
        await self._talk(self._verbs.observe(id, reward, observed_at))

    async def observe_many(self, feedback: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> int:
        """Many rewards at once. How many were new, as far as the server's answers came through.

        Each is taken or refused for itself; if some are refused, the others are taken all the same, and the error is
        that of the first.
        """
        return await self._talk(self._verbs.observe_many(feedback))

    async def cancel(self, id: str | int) -> None:
        """A decision was never shown: it leaves the statistics."""
        await self._talk(self._verbs.cancel(id))

    async def decision(self, id: str | int) -> DecisionStatus:
        """A decision and what became of it."""
        return await self._talk(self._verbs.decision(id))

    async def summary(self) -> list[ArmSummary]:
        """What is known of each arm."""
        return await self._talk(self._verbs.state(responses.summary))

    @property
    def arms(self) -> Awaitable[tuple[str, ...]]:
        """The names of the arms."""
        return self._talk(self._verbs.state(responses.arms))

    @property
    def decisions(self) -> Awaitable[int]:
        """How many decisions were made, cancelled ones among them."""
        return self._talk(self._verbs.state(lambda state: int(state["decisions"])))

    @property
    def pending(self) -> Awaitable[int]:
        """How many decisions have no feedback yet."""
        return self._talk(self._verbs.state(lambda state: int(state["pending"])))
