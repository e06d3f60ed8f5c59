"""The dashboard of policies that know more than counts: reasons of eliminations, and where bounds come from."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looking import decided, made, told
from serving import LocalServer

from belated.service.api.experiments import experiment_view
from belated.service.api.messages import ArmAnswer, ExperimentAnswer
from belated.service.core.experiment import Experiment
from belated.service.core.spec import Silence, checked_spec
from belated.service.core.transaction import ExperimentCache, Transaction
from belated.service.dashboard import queries
from belated.service.dashboard.charts import estimates_chart
from belated.service.dashboard.counters import Counters, brackets
from belated.service.dashboard.queries import WatchedExperiment
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal, open_journal

MEANS = (0.15, 0.8, 0.35, 0.6)
SILENCE = 0.25
Lived = tuple[Journal, int, ExperimentAnswer]


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Lived]:
    """A journal, the number of an experiment with Prefix-SE in it, and the experiment. Answers come late and out of
    order, some never; some pulls are taken back, some answers are silence, and some of those are replaced."""
    journal = open_journal(str(tmp_path / "prefix.db"))
    spec = checked_spec(list("abcd"), {"name": "Prefix-SE", "confidence": 0.3}, 0, Silence(60.0, SILENCE))
    stored = journal.create("prefix", spec.text(), 1)
    chance = random.Random(7)
    waiting: list[tuple[str, dict[str, Any]]] = []
    with journal.database.transaction():
        tx = Transaction(journal, ExperimentCache(), [])
        experiment = tx.experiment("prefix")
        for number in range(2_000):
            arm, rank = experiment.learner.decide()
            pull = {"id": str(number), "number": number, "arm": arm, "rank": rank}
            tx.write(experiment, Kind.DECIDED, applied=True, at=number + 2, **pull)
            if chance.random() < 0.9:
                waiting.append((Kind.DECIDED, pull))
            while waiting and chance.random() < 0.55:
                before, first = waiting.pop(chance.randrange(len(waiting)))
                write(tx, experiment, before, first, chance, waiting, number + 2)
        journal.append(tx.events)
    yield journal, stored.id, experiment_view(experiment)
    journal.close()


def write(
    tx: Transaction,
    experiment: Experiment,
    before: str,
    pull: dict[str, Any],
    chance: random.Random,
    waiting: list[tuple[str, dict[str, Any]]],
    at: int,
) -> None:
    """What comes of a decision that is pending, or whose answer is silence."""
    reward = float(chance.random() < MEANS[pull["arm"]])
    kind = chance.choices([Kind.OBSERVED, Kind.IMPUTED, Kind.CANCELLED], [0.8, 0.15, 0.05])[0]
    if before == Kind.IMPUTED:
        kind = Kind.REPLACED if kind == Kind.OBSERVED else Kind.CANCELLED
    if kind == Kind.IMPUTED:
        waiting.append((Kind.IMPUTED, pull))
    taken_back = SILENCE if before == Kind.IMPUTED else None
    tx.write(
        experiment, kind, at=at, reward={Kind.IMPUTED: SILENCE, Kind.CANCELLED: taken_back}.get(kind, reward), **pull
    )


def watched(number: int) -> WatchedExperiment:
    return WatchedExperiment(Counters(number, len(MEANS), SILENCE))


def test_reasons_are_the_bounds_that_the_policy_had(lived: Lived) -> None:
    """A replay of the events stops before each elimination and asks the policy itself."""
    journal, number, view = lived
    found = watched(number)
    found.advance(journal, view)
    told = {each.arm: each for each in found.eliminated}
    gone = {arm.arm: arm.eliminated_at for arm in view.arms if arm.eliminated_at is not None}
    assert len(gone) == 3
    assert {arm: each.decision for arm, each in told.items()} == gone
    replay = Experiment(journal.experiment_by_id(number))
    for event in journal.events(number):
        for arm, decision in gone.items():
            if event.kind == Kind.DECIDED and event.number == decision - 1:
                each = told[arm]
                assert each.upper == replay.learner.bounds("abcd".index(arm)).upper
                assert each.lower == replay.learner.bounds("abcd".index(each.by)).lower
                assert each.upper < each.lower
                assert re.search(r"its upper bound, 0\.\d+, was below the lower bound of \w, 0\.\d+\.", each.sentence)
        replay.apply(event)


def test_a_long_journal_is_read_in_several_looks(lived: Lived, monkeypatch: pytest.MonkeyPatch) -> None:
    """The life that is lived again goes along, a part at each look, and no further than there is something to find."""
    journal, number, view = lived
    whole = watched(number)
    whole.advance(journal, view)
    monkeypatch.setattr(queries, "COUNT_BATCH", 50)
    monkeypatch.setattr(queries, "COUNT_SECONDS", 1e-9)
    found = watched(number)
    last = max(arm.eliminated_at or 0 for arm in view.arms)
    while found.counters.seq < view.last_event:
        before = found._replay.seq if found._replay is not None else 0
        found.advance(journal, view)
        assert found._replay is not None
        assert found._replay.seq - before <= 50
        assert found._replay.learner.decisions <= last + 50
    assert found.eliminated == whole.eliminated
    assert found._replay is not None
    assert found._replay.seq < view.last_event


def test_policies_that_only_count_are_not_lived_again(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "counts.db"))
    for name in ("OPSE", "UCB", "Prefix-UCB", "Pending-UCB"):
        spec = checked_spec(["a", "b"], {"name": name}, 0, None)
        with journal.database.transaction():
            stored = journal.create(name, spec.text(), 1)
            tx = Transaction(journal, ExperimentCache(), [])
            experiment = tx.experiment(name)
            for number in range(30):
                arm, rank = experiment.learner.decide()
                pull = {"id": f"{name}{number}", "number": number, "arm": arm, "rank": rank}
                tx.write(experiment, Kind.DECIDED, applied=True, at=2, **pull)
                tx.write(experiment, Kind.OBSERVED, at=2, reward=float(arm), **pull)
            journal.append(tx.events)
        found = WatchedExperiment(Counters(stored.id, 2, None))
        found.advance(journal, experiment_view(experiment))
        assert found.counters.seq == 60
        assert found._replay is None
    journal.close()


@pytest.mark.parametrize("name", ["Prefix-SE", "UCB"])
def test_all_that_is_drawn_of_an_arm_is_in_the_picture(name: str) -> None:
    """Also where the bounds, of its first pulls, are not around the bracket of all."""
    arms = [
        ArmAnswer("a", 100, 40, 60, 0.5, 0.45, 0.55, True, None, 40, 40),
        ArmAnswer("b", 100, 0, 100, None, 0.3, 0.4, True, None, 10, 10),
        ArmAnswer("c", 10, 10, 0, 0.95, 0.5, 0.6, True, None, 2, 2),
    ]
    if name == "UCB":
        arms = [
            ArmAnswer("a", 3, 3, 0, 0.93, 0.91, 0.97, True, None),
            ArmAnswer("b", 0, 0, 0, None, 0.9, 1.0, True, None),
        ]
    drawn = str(estimates_chart(arms, brackets(arms), {0: 0, 1: 1, 2: 2}))
    places = [float(each) for each in re.findall(r'(?:x1|x2|x|cx)="(-?[\d.]+)%"', drawn)]
    ends = [float(x) + float(w) for x, w in re.findall(r'x="(-?[\d.]+)%"[^>]* width="([\d.]+)%"', drawn)]
    assert len(places) > 20
    assert ends
    assert all(0.0 <= each <= 100.01 for each in [*places, *ends])


HOLDS = "which hold whatever the pending feedback will be"


PROMISES: list[tuple[dict[str, Any] | None, str, str]] = [
    ({"name": "OPSE", "confidence": "theory"}, f"OPSE's bounds, {HOLDS}.", "guide"),
    ({"name": "Prefix-SE", "confidence": "theory", "horizon": 1000}, f"Prefix-SE's bounds, {HOLDS}.", "guide"),
    ({"name": "Prefix-UCB", "confidence": "theory", "spread": True}, f"Prefix-UCB's bounds, {HOLDS}.", "guide"),
    ({"name": "OPSE"}, "OPSE's bounds at c = 1, a guide without guarantee.", HOLDS),
    ({"name": "OPSE", "confidence": 2}, "OPSE's bounds at c = 2, a guide without guarantee.", HOLDS),
    (None, "Imputed-UCB's bounds at a level that grows with time, a guide without guarantee.", HOLDS),
    ({"name": "Pending-UCB"}, "Pending-UCB's bounds at c = 1, a guide without guarantee.", HOLDS),
    ({"name": "Prefix-UCB", "confidence": 0.25}, "Prefix-UCB's bounds at c = 0.25, a guide without guarantee.", HOLDS),
    ({"name": "UCB", "confidence": None}, "UCB's bounds. Dashed", HOLDS),
    (
        {"name": "Imputed-UCB", "confidence": "anytime"},
        "Imputed-UCB's bounds at a level that grows with time, a guide without guarantee.",
        HOLDS,
    ),
]


def test_the_page_promises_no_more_than_the_bounds_keep(empty: LocalServer) -> None:
    """Bounds hold at their own level; at a confidence that somebody chose nothing is proven."""
    with empty.client() as http:
        for number, (policy, said, unsaid) in enumerate(PROMISES):
            name = f"promises{number}"
            asked = {"name": name, "arms": ["a", "b"], "policy": policy}
            assert http.post("/v1/experiments", json=asked).status_code == 201
            decided(http, name, f"first{number}")
            page = html.unescape(http.get(f"/experiments/{name}", headers={"Accept": "text/html"}).text)
            assert said in page
            assert unsaid not in page


def test_the_table_says_which_pulls_a_bound_comes_from(empty: LocalServer) -> None:
    with empty.client() as http:
        for name, policy in (("prefix", "Prefix-UCB"), ("other", "UCB")):
            made(http, name, ["a"], policy)
            for number in range(40):
                decided(http, name, f"{name}-{number}")
                if number < 20:
                    told(http, f"{name}-{number}", 0.5)
        (arm,) = http.get("/v1/experiments/prefix").json()["arms"]
        assert 18 <= arm["upper_from"] < 40
        page = http.get("/experiments/prefix", headers={"Accept": "text/html"}).text
        table = page[page.index('id="arms"') :]
        assert f'title="from the first {arm["upper_from"]} pulls">{arm["upper"]:.3f}</td>' in table
        assert f">{arm['lower']:.3f}</td>" in table
        assert f"{arm['upper']:.3f} (from the first {arm['upper_from']} pulls), if all pending fail" in page
        assert "from the first" not in http.get("/experiments/other", headers={"Accept": "text/html"}).text
