"""What the dashboard counts, against the journal read event by event, and the JSON twins against the API, on both
databases."""

from __future__ import annotations

import json
import random
import re
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
import pytest
from postgres import fresh
from serving import LocalServer, hosting

from belated.service.api.experiments import experiment_view
from belated.service.api.messages import ArmAnswer, ExperimentAnswer
from belated.service.core.experiment import Experiment, restore
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import ExperimentCache, Transaction
from belated.service.dashboard import counters, queries
from belated.service.dashboard.counters import (
    AGE_EDGES,
    MAX_COLOURED,
    Counters,
    colour_slots,
    pending_ages,
    traffic,
)
from belated.service.dashboard.queries import WatchedExperiment
from belated.service.demo import write_history
from belated.service.storage.events import Event, Kind
from belated.service.storage.journal import Journal, open_journal

NAMES = ["checkout", "newsletter", "front-page"]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's history of some hours on each database; nothing is written to it."""
    sqlite = request.param == "sqlite"
    db = str(tmp_path_factory.mktemp("demo") / "d.db") if sqlite else fresh(request.getfixturevalue("postgres"))
    write_history(db, seed=3, hours=4.0)
    return db


@pytest.fixture
def journal(history: str) -> Iterator[Journal]:
    found = open_journal(history)
    yield found
    found.close()


def view_of(journal: Journal, name: str) -> tuple[int, ExperimentAnswer]:
    stored = journal.experiment(name)
    assert stored is not None
    return stored.id, experiment_view(restore(journal, stored))


def counters_of(number: int, view: ExperimentAnswer) -> Counters:
    return Counters(number, len(view.arms), view.silence.reward if view.silence else None)


def still_open(events: list[Event]) -> list[Event]:
    """Decisions without an answer."""
    out: dict[str, Event] = {}
    for event in events:
        if event.kind == Kind.DECIDED:
            out[str(event.id)] = event
        else:
            out.pop(str(event.id), None)
    return list(out.values())


@pytest.mark.parametrize("blocks", [16, 256])
def test_a_tally_is_what_the_events_say(journal: Journal, monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    """Taken along in steps of any size, with blocks that double many times."""
    monkeypatch.setattr(counters, "MAX_BLOCKS", blocks)
    steps = random.Random(0)
    for name in NAMES:
        number, view = view_of(journal, name)
        found = counters_of(number, view)
        events = list(journal.events(number))
        waiting: set[str] = set()
        decisions = 0
        while found.seq < view.last_event:
            until = min(found.seq + steps.choice([1, 40, 500, 2000]), view.last_event)
            for event in events[found.seq : until]:
                decisions += event.kind == Kind.DECIDED
                waiting.add(str(event.id)) if event.kind == Kind.DECIDED else waiting.discard(str(event.id))
            found.reserve(len(view.arms), decisions)
            found.advance(journal, until)
            assert int(found.pending.sum()) == len(waiting)
        assert found.pending.size <= blocks
        assert found.pulls.tolist() == [arm.pulls for arm in view.arms]
        assert found.observed.tolist() == [arm.observed for arm in view.arms]
        assert found.total.tolist() == pytest.approx([(arm.mean or 0.0) * arm.observed for arm in view.arms], abs=1e-9)
        made = np.bincount([event.arm for event in events if event.kind == Kind.DECIDED], minlength=len(view.arms))
        assert found.decided.sum(axis=0).tolist() == made.tolist()


def test_every_life_of_a_decision_is_counted(db: str) -> None:
    """Answers that are no whole numbers, silence that is worth something, what is replaced and what is cancelled."""
    journal = open_journal(db)
    spec = checked_spec(["a", "b", "c"], {"name": "UCB"}, 0, Silence(60.0, 0.25))
    stored = journal.create("lives", spec.text(), 1)
    chance = random.Random(1)
    lives = [
        (),
        (Kind.OBSERVED,),
        (Kind.IMPUTED,),
        (Kind.IMPUTED, Kind.REPLACED),
        (Kind.CANCELLED,),
        (Kind.IMPUTED, Kind.CANCELLED),
    ]
    found = Counters(stored.id, 3, 0.25)
    with journal.database.transaction():
        tx = Transaction(journal, ExperimentCache(), [])
        experiment = tx.experiment("lives")
        for number in range(300):
            arm, rank = experiment.learner.decide()
            made = {"id": str(number), "number": number, "arm": arm, "rank": rank}
            tx.write(experiment, Kind.DECIDED, applied=True, at=number + 2, **made)
            before = None
            for kind in chance.choice(lives):
                taken_back = 0.25 if before == Kind.IMPUTED else None
                rewards = {Kind.IMPUTED: 0.25, Kind.CANCELLED: taken_back}
                tx.write(experiment, kind, at=number + 2, reward=rewards.get(kind, chance.random()), **made)
                before = kind
        journal.append(tx.events)
    found.reserve(3, 300)
    found.advance(journal, experiment.seq)
    counts = experiment.learner.counts()
    assert found.pulls.tolist() == counts.pulls.tolist()
    assert found.observed.tolist() == counts.observed.tolist()
    assert found.total.tolist() == pytest.approx(counts.total.tolist(), abs=1e-9)
    assert int(found.pending.sum()) == experiment.pending
    assert experiment.counts.late > 20
    assert experiment.counts.cancelled > 50
    journal.close()


def test_ages_are_counted_exactly(journal: Journal) -> None:
    for name in NAMES:
        number, view = view_of(journal, name)
        found = counters_of(number, view)
        found.reserve(len(view.arms), view.decisions)
        found.advance(journal, view.last_event)
        pending = still_open(list(journal.events(number)))
        for later in (0, 30_000_000, 86_400_000_000):
            now = journal.events_after(number, view.last_event - 1)[0].at + later
            told = pending_ages(journal, found, now)
            counts = [0] * len(AGE_EDGES)
            for event in pending:
                counts[bisect_right(AGE_EDGES, (now - event.at) / 1e6) - 1] += 1
            assert told.pending == counts
            assert sum(counts) == view.pending
            assert told.oldest == (now - pending[0].at) / 1e6


def test_reasons_are_the_bounds_that_the_policy_had(journal: Journal) -> None:
    """A replay of the events stops before each elimination and asks the policy itself."""
    number, view = view_of(journal, "front-page")
    watched = WatchedExperiment(counters_of(number, view))
    watched.advance(journal, view)
    told = {each.arm: each for each in watched.eliminated}
    gone = {arm.arm: arm.eliminated_at for arm in view.arms if arm.eliminated_at is not None}
    assert len(gone) >= 2
    assert {arm: each.decision for arm, each in told.items()} == gone
    stored = journal.experiment("front-page")
    assert stored is not None
    replay = Experiment(stored)
    for event in journal.events(number):
        if event.kind == Kind.DECIDED:
            for arm, decision in gone.items():
                if event.number == decision - 1:
                    each = told[arm]
                    assert each.upper == pytest.approx(replay.learner.bounds(replay.names.index(arm))[1], abs=1e-12)
                    lower = replay.learner.bounds(replay.names.index(each.by))[0]
                    assert each.lower == pytest.approx(lower, abs=1e-12)
                    assert each.upper < each.lower
                    numbers = re.findall(r"0\.\d+", each.sentence)
                    assert len(numbers) == 2
                    assert numbers[0] < numbers[1]
                    assert [float(number) for number in numbers] == pytest.approx([each.upper, each.lower], abs=6e-5)
                    assert each.by in each.sentence
        replay.apply(event)


def test_a_long_journal_is_read_in_several_looks(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    number, view = view_of(journal, "front-page")
    whole = WatchedExperiment(counters_of(number, view))
    whole.advance(journal, view)
    assert whole.counters.seq == view.last_event
    monkeypatch.setattr(queries, "COUNT_BATCH", 700)
    monkeypatch.setattr(queries, "COUNT_SECONDS", 1e-9)
    watched, looks = WatchedExperiment(counters_of(number, view)), 0
    while watched.counters.seq < view.last_event:
        watched.advance(journal, view)
        looks += 1
        assert watched.counters.seq <= 700 * looks
    assert looks > 5
    assert watched.eliminated == whole.eliminated
    assert np.array_equal(watched.counters.decided, whole.counters.decided)


def test_nothing_is_explained_twice(journal: Journal) -> None:
    number, view = view_of(journal, "front-page")
    watched = WatchedExperiment(counters_of(number, view))
    watched.advance(journal, view)
    explained = list(watched.eliminated)
    watched.advance(journal, view)
    assert watched.eliminated == explained


def test_traffic_has_every_decision_once(journal: Journal) -> None:
    for name in NAMES:
        number, view = view_of(journal, name)
        found = counters_of(number, view)
        found.reserve(len(view.arms), view.decisions)
        found.advance(journal, view.last_event)
        told = traffic(found, view.arms)
        assert sum(sum(series.decisions) for series in told.series) == view.decisions
        assert len(told.series) == min(len(view.arms), MAX_COLOURED)
        assert told.begin == sorted(told.begin)
        assert all(begin <= end for begin, end in zip(told.begin, told.end, strict=True))


def test_few_arms_keep_their_colours_and_many_share_them() -> None:
    def arms(pulls: list[int]) -> list[ArmAnswer]:
        return [ArmAnswer(str(place), count, 0, count, None, 0.0, 1.0, True, None) for place, count in enumerate(pulls)]

    assert colour_slots(arms([1, 9, 3])) == {0: 0, 1: 1, 2: 2}
    many = colour_slots(arms(list(range(50))))
    assert list(many) == list(range(43, 50))
    assert len(set(many.values())) == 7
    assert 6 not in many.values()  # black, or white in the dark, is for eight arms alone


@pytest.mark.parametrize("name", NAMES)
def test_twins_agree_with_the_api(db: str, name: str) -> None:
    write_history(db, seed=1, hours=0.6)
    with hosting(db) as server, server.client() as http:
        for _ in range(200):  # a reward may be imputed in between
            before = http.get("/v1/experiments").json()
            twin, index = (http.get(path).json() for path in (f"/experiments/{name}.json", "/experiments.json"))
            experiment = http.get(f"/v1/experiments/{name}").json()
            if http.get("/v1/experiments").json() == before and twin["experiment"] == experiment:
                break
        assert twin["experiment"] == experiment
        assert index == before
        assert twin["counted"] == experiment["last_event"]
        cursor = experiment["last_event"] - 14
        lines = http.get(f"/v1/experiments/{name}/events", params={"cursor": cursor, "limit": 14}).text.splitlines()
        assert twin["events"] == [json.loads(line) for line in reversed(lines)]
        delays = http.get(f"/v1/experiments/{name}/delays").json()
        for mine, theirs in zip(twin["delays"]["curves"], delays["curves"], strict=True):
            assert (mine["arm"], mine["observed"], mine["pending"]) == (
                theirs["arm"],
                theirs["observed"],
                theirs["pending"],
            )
            assert mine["seconds"] == theirs["seconds"]
        assert sum(twin["pending_by_age"]["pending"]) == experiment["pending"]
        assert sum(sum(series["decisions"]) for series in twin["traffic"]["series"]) == experiment["decisions"]
        for arm, bracket in zip(experiment["arms"], twin["brackets"], strict=True):
            total = (arm["mean"] or 0.0) * arm["observed"]
            assert bracket["all_fail"] == pytest.approx(total / arm["pulls"])
            assert bracket["all_succeed"] == pytest.approx((total + arm["pending"]) / arm["pulls"])


def test_duplicates_and_conflicts_are_counted(served: LocalServer) -> None:
    with served.client() as http:
        asked = {"name": "colours", "arms": ["red"], "policy": {"name": "UCB"}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        for number in range(3):
            http.post("/v1/experiments/colours/decisions", json={"id": f"d{number}"})
        sent = [("d0", 1), ("d0", 1), ("d0", 0), ("d1", 0), ("d1", 0), ("d1", 0), ("d2", 1)]
        statuses = [http.post(f"/v1/decisions/{id}/feedback", json={"reward": r}).status_code for id, r in sent]
        assert statuses == [201, 200, 409, 201, 200, 200, 201]
        twin = http.get("/experiments/colours.json").json()
        assert twin["feedback"] == {"duplicates": 3, "conflicts": 1}
        page = http.get("/experiments/colours", headers={"Accept": "text/html"}).text
        assert "<dt>Duplicates<sup>*</sup></dt><dd>3</dd>" in page
        assert "<dt>Conflicts<sup>*</sup></dt><dd>1</dd>" in page


def test_fifty_arms_and_arms_that_are_added_later(served: LocalServer) -> None:
    with served.client() as http:
        arms = [f"arm {number}" for number in range(50)]
        asked = {"name": "many", "arms": arms, "policy": {"name": "Thompson"}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        made = http.post("/v1/experiments/many/decisions", json={"count": 200}).json()["decisions"]
        assert http.get("/experiments/many.json").json()["counted"] == 200
        assert http.post("/v1/experiments/many/arms", json={"arm": "new"}).status_code == 201
        made += http.post("/v1/experiments/many/decisions", json={"count": 300}).json()["decisions"]
        twin = http.get("/experiments/many.json").json()
        assert twin["counted"] == 501
        assert len(twin["experiment"]["arms"]) == 51
        assert len(twin["traffic"]["series"]) == MAX_COLOURED
        assert sum(sum(series["decisions"]) for series in twin["traffic"]["series"]) == 500
        assert twin["pending_by_age"]["pending"][0] == 500
        page = http.get("/experiments/many", headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert page.text.count("<pattern") == 7
