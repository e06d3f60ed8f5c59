"""Clients of the service: the operations of a bandit, kept on a server. They need ``httpx2``, but never numba."""

from belated.client.aio import AsyncClient
from belated.client.messages import DecisionStatus
from belated.client.sync import Client

__all__ = ["AsyncClient", "Client", "DecisionStatus"]
