"""Simulated visitors: decisions and late feedback over HTTP."""

from __future__ import annotations

import heapq
import random
import threading
import time
from typing import Any

import httpx2

from belated.service.demo.scenarios import MEAN_PAUSE, Visitors, demo_scenarios
from belated.service.storage.events import DECIDED, IMPUTED
from belated.service.storage.journal import Journal, open_journal

RECENT = 100_000
"""Events of an experiment that are searched for pending decisions."""
REPEATED, CONFLICTING = 0.02, 0.005
"""The share of feedback that is sent twice, and that contradicts itself."""
RETRY_SECONDS = 1.0

ScheduledRequest = tuple[float, int, str, dict[str, Any]]
"""(time, tie-breaker, path, body)"""


class DemoTraffic:
    """A thread that sends scheduled requests."""

    def __init__(self, db: str, seed: int) -> None:
        self._db = db
        self._visitors = [Visitors(scenario, seed) for scenario in demo_scenarios()]
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="visitors", daemon=True)
        self._schedule: list[ScheduledRequest] = []
        self._order = 0

    def start(self, address: str) -> None:
        """Start sending to a server."""
        self._address = address
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run(self) -> None:
        self._restore()
        with httpx2.Client(base_url=self._address, timeout=10.0) as http:
            while not self._stopped.is_set():
                wait = self._schedule[0][0] - time.time()
                if wait > 0:
                    self._stopped.wait(min(wait, RETRY_SECONDS))
                    continue
                at, order, path, body = heapq.heappop(self._schedule)
                try:
                    self._send(http, path, body)
                except httpx2.HTTPError:  # the server is busy, or about to end
                    heapq.heappush(self._schedule, (at, order, path, body))
                    self._stopped.wait(RETRY_SECONDS)

    def _later(self, at: float, path: str, body: dict[str, Any]) -> None:
        self._order += 1
        heapq.heappush(self._schedule, (at, self._order, path, body))

    # ---- pending decisions ----

    def _restore(self) -> None:
        """Schedule the feedback of pending decisions, and the next visitors."""
        journal = open_journal(self._db, create=False)
        try:
            for index, visitors in enumerate(self._visitors):
                self._restore_experiment(journal, index, visitors)
        finally:
            journal.close()

    def _restore_experiment(self, journal: Journal, index: int, visitors: Visitors) -> None:
        stored = journal.experiment(visitors.scenario.name)
        assert stored is not None
        pending: dict[str, tuple[int, int]] = {}
        decisions = 0
        for event in journal.events(stored.id, max(journal.last(stored.id) - RECENT, 0)):
            if event.kind == DECIDED:
                assert event.id is not None
                assert event.arm is not None
                assert event.number is not None
                pending[event.id] = event.arm, event.at
                decisions = event.number + 1
            elif event.id is not None and event.kind != IMPUTED:
                pending.pop(event.id, None)
        for id, (arm, at) in pending.items():
            self._schedule_feedback(visitors, id, arm, at / 1e6)
        self._later(time.time() + self._random.expovariate(1 / MEAN_PAUSE), "", {"index": index, "number": decisions})

    def _schedule_feedback(self, visitors: Visitors, id: str, arm: int, at: float) -> None:
        """Schedule what happens to a decision."""
        if visitors.is_cancelled(id):
            self._later(at + 2.0, f"/v1/decisions/{id}/cancel", {})
            return
        reward, delay = visitors.outcome(id, arm)
        if delay is None:
            return
        path = f"/v1/decisions/{id}/feedback"
        self._later(at + delay, path, {"reward": reward})
        if visitors.chance(id, "twice") < REPEATED:
            self._later(at + delay + 5.0, path, {"reward": reward})
        if visitors.chance(id, "otherwise") < CONFLICTING:
            self._later(at + delay + 8.0, path, {"reward": 1.0 - reward})

    # ---- sending ----

    def _send(self, http: httpx2.Client, path: str, body: dict[str, Any]) -> None:
        if path:
            http.post(path, json=body)  # refusals are expected: conflicts, and cancelled decisions
            return
        visitors, number = self._visitors[body["index"]], body["number"]
        name, id = visitors.scenario.name, f"{visitors.scenario.name}-{number}"
        response = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
        pause = self._random.expovariate(1 / MEAN_PAUSE)
        self._later(time.time() + pause, "", {"index": body["index"], "number": number + 1})
        if response.status_code == 201:
            arm = visitors.scenario.arms.index(response.json()["arm"])
            self._schedule_feedback(visitors, id, arm, time.time())
