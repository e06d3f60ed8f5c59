"""Clients of the service: the verbs of a bandit, kept by a server. They need ``httpx2`` when they are made."""

from belated.client.answers import DecisionStatus
from belated.client.asynchronous import AsyncClient
from belated.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "DecisionStatus"]
