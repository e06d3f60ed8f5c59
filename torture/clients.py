"""Clients that keep a server busy and write down what they were told."""

from __future__ import annotations

import http.client
import json
import random
import threading
from typing import Any
from urllib.parse import urlsplit

from ledger import Asked, Ledger

from belated.service.storage.events import Kind

EXPERIMENT = {"name": "load", "arms": ["a", "b", "c"], "policy": {"name": "OPSE", "horizon": 100_000}}

Request = tuple[str, dict[str, Any]]


class Client(threading.Thread):
    """Decisions and feedback with ids of its own, until the server goes away."""

    def __init__(self, number: int, rng: random.Random, ledger: Ledger) -> None:
        super().__init__(daemon=True)
        self._number, self._rng, self._ledger = number, rng, ledger
        self._made = 0
        self._pending: list[str] = []
        self._again: list[Request] = []
        """Requests without an answer."""
        self.acknowledged = 0
        self.refused = 0
        self.url = ""
        self.ended = threading.Event()

    def copy(self, url: str) -> Client:
        """The same client, for the server that came after: threads run once."""
        other = Client(self._number, self._rng, self._ledger)
        other.url = url
        other._made, other._pending, other._again = self._made, self._pending, self._again
        return other

    def run(self) -> None:
        """Ask and ask."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=600)
        try:
            while not self.ended.is_set():
                path, body = self._again.pop() if self._again else self._request()
                self._ledger.asks(_things(path, body))
                try:
                    status, told = _ask(connection, path, body)
                except (OSError, http.client.HTTPException):
                    self._again.append((path, body))  # done or not, nobody knows
                    return
                if status == 503:
                    self.refused += 1
                    self._again.append((path, body))
                    return
                self._note(path, body, status, told)
        finally:
            connection.close()

    def _request(self) -> Request:
        rng = self._rng
        if self._pending and rng.random() < 0.5:
            id = self._pending.pop(rng.randrange(len(self._pending)))
            reward = rng.choice((0.0, 0.5, 1.0))
            if rng.random() < 0.2:
                return "/v1/feedback", {"feedback": [{"id": id, "reward": reward}]}
            return f"/v1/decisions/{id}/feedback", {"reward": reward}
        self._made += 1
        asked: dict[str, Any] = {"id": f"c{self._number}-{self._made}", "unit": f"u{self._made}"}
        if rng.random() < 0.1:
            asked["count"] = 5
        return f"/v1/experiments/{EXPERIMENT['name']}/decisions", asked

    def _note(self, path: str, body: dict[str, Any], status: int, told: Any) -> None:
        if status not in (200, 201):
            self._ledger.wrong.append(f"{path} {body} was answered with {status} {told}")
            return
        self.acknowledged += 1
        again = False
        if path.endswith("/decisions"):
            for decision in told["decisions"] if "count" in body else [told]:
                self._ledger.decided(decision["id"], decision["arm"])
                self._pending.append(decision["id"])
        elif path == "/v1/feedback":
            (item,) = body["feedback"]
            (result,) = told["results"]
            if result["status"] in (200, 201):
                self._ledger.observed(item["id"], item["reward"])
            elif result["status"] == 503:
                self._again.append((path, body))
                again = True
            else:
                self._ledger.wrong.append(f"feedback {item} was answered with {result}")
        else:
            self._ledger.observed(path.split("/")[3], body["reward"])
        if not again:
            self._ledger.answered(_things(path, body))


def _things(path: str, body: dict[str, Any]) -> list[Asked]:
    """What a request wants to happen."""
    if path == "/v1/feedback":
        return [Asked(Kind.OBSERVED, item["id"], item["reward"]) for item in body["feedback"]]
    if not path.endswith("/decisions"):
        return [Asked(Kind.OBSERVED, path.split("/")[3], body["reward"])]
    id = body["id"]
    return (
        [Asked(Kind.DECIDED, f"{id}.{place}") for place in range(body["count"])]
        if "count" in body
        else [Asked(Kind.DECIDED, id)]
    )


def _ask(connection: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def ask(url: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """One request; status and answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
