"""Clients of the service: the verbs of a bandit, kept by a server. They need ``httpx2`` when they are made."""

from belated.client.aio import AsyncClient
from belated.client.responses import DecisionStatus
from belated.client.sync import Client

__all__ = ["AsyncClient", "Client", "DecisionStatus"]
