"""Visitors who go on coming: decisions and late feedback over HTTP, as callers elsewhere would send them."""

from __future__ import annotations

import heapq
import random
import threading
import time
from typing import Any

import httpx2

from belated.service.demo.scenarios import MEAN_PAUSE, World, stories
from belated.service.storage.events import DECIDED, IMPUTED
from belated.service.storage.journal import Journal, open_journal

RECENT = 100_000
"""Events of an experiment that are searched for decisions that are still out."""
TWICE, OTHERWISE = 0.02, 0.005
"""How often a caller repeats its feedback, or says something else the second time."""
REST = 1.0
"""Seconds before the server is tried again."""

Due = tuple[float, int, str, dict[str, Any]]
"""(when, in which order, the path, the body)"""


class Traffic:
    """A thread that sends what is due."""

    def __init__(self, db: str, seed: int) -> None:
        self._db = db
        self._worlds = [World(story, seed) for story in stories()]
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="visitors", daemon=True)
        self._due: list[Due] = []
        self._order = 0

    def start(self, address: str) -> None:
        """Begin, with the server at an address."""
        self._address = address
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run(self) -> None:
        self._remember()
        with httpx2.Client(base_url=self._address, timeout=10.0) as http:
            while not self._stopped.is_set():
                wait = self._due[0][0] - time.time()
                if wait > 0:
                    self._stopped.wait(min(wait, REST))
                    continue
                at, order, path, body = heapq.heappop(self._due)
                try:
                    self._send(http, path, body)
                except httpx2.HTTPError:  # the server is busy, or about to end
                    heapq.heappush(self._due, (at, order, path, body))
                    self._stopped.wait(REST)

    def _later(self, at: float, path: str, body: dict[str, Any]) -> None:
        self._order += 1
        heapq.heappush(self._due, (at, self._order, path, body))

    # ---- what is still out ----

    def _remember(self) -> None:
        """Feedback for decisions that were made before, and the next visitors."""
        journal = open_journal(self._db, make=False)
        try:
            for place, world in enumerate(self._worlds):
                self._remember_of(journal, place, world)
        finally:
            journal.close()

    def _remember_of(self, journal: Journal, place: int, world: World) -> None:
        stored = journal.experiment(world.story.name)
        assert stored is not None
        out: dict[str, tuple[int, int]] = {}
        decisions = 0
        for event in journal.events(stored.id, max(journal.last(stored.id) - RECENT, 0)):
            if event.kind == DECIDED:
                assert event.id is not None
                assert event.arm is not None
                assert event.number is not None
                out[event.id] = event.arm, event.at
                decisions = event.number + 1
            elif event.id is not None and event.kind != IMPUTED:
                out.pop(event.id, None)
        for id, (arm, at) in out.items():
            self._expect(world, id, arm, at / 1e6)
        self._later(time.time() + self._random.expovariate(1 / MEAN_PAUSE), "", {"place": place, "number": decisions})

    def _expect(self, world: World, id: str, arm: int, at: float) -> None:
        """What will be heard of a decision."""
        if world.is_cancelled(id):
            self._later(at + 2.0, f"/v1/decisions/{id}/cancel", {})
            return
        reward, delay = world.outcome(id, arm)
        if delay is None:
            return
        path = f"/v1/decisions/{id}/feedback"
        self._later(at + delay, path, {"reward": reward})
        if world.chance(id, "twice") < TWICE:
            self._later(at + delay + 5.0, path, {"reward": reward})
        if world.chance(id, "otherwise") < OTHERWISE:
            self._later(at + delay + 8.0, path, {"reward": 1.0 - reward})

    # ---- sending ----

    def _send(self, http: httpx2.Client, path: str, body: dict[str, Any]) -> None:
        if path:
            http.post(path, json=body)  # also what is refused is as it should be: conflicts, and what was cancelled
            return
        world, number = self._worlds[body["place"]], body["number"]
        name, id = world.story.name, f"{world.story.name}-{number}"
        made = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
        pause = self._random.expovariate(1 / MEAN_PAUSE)
        self._later(time.time() + pause, "", {"place": body["place"], "number": number + 1})
        if made.status_code == 201:
            self._expect(world, id, world.story.arms.index(made.json()["arm"]), time.time())
