"""A state machine: whatever is asked of the service in whatever order, one at a time or many to a transaction, it does
what a model in plain dictionaries does, and a restart changes nothing. On SQLite with its one writer, and on PostgreSQL
with two, of which any may be asked."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from model import IMPUTED, PENDING
from postgres import fresh
from steps import SECOND, Step, Verbs, in_one_transaction

from belated.service import timestamps
from belated.service.api.experiments import experiment_view
from belated.service.api.messages import ExperimentAnswer
from belated.service.core import writer
from belated.service.core.experiment import Experiment, restore
from belated.service.core.transaction import Operation, Transaction
from belated.service.core.verify import verify
from belated.service.core.writer import Writer
from belated.service.storage.journal import open_journal
from strategies import number_of_examples

SELDOM = writer.SNAPSHOT_EVERY
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # sums of these are exact in any order
NAMES = ("first", "second", "third")
POLICIES: list[dict[str, Any] | None] = [
    None,
    {"name": "UCB", "confidence": 0.1},
    {"name": "OPSE", "confidence": 0.05},
    {"name": "SE", "confidence": 0.05},
    {"name": "PSE", "confidence": 0.01},
    {"name": "Thompson"},
    {"name": "Optimistic-UCB", "confidence": 0.1},
    {"name": "PatientBandits", "alpha": 1.0, "constant": 0.05},
    {"name": "Uniform"},
    {"name": "Prefix-UCB", "confidence": 0.1},
    {"name": "Prefix-UCB", "delta": 0.3, "spread": True},
    {"name": "Prefix-SE", "confidence": 0.05},
    {"name": "Pending-UCB", "confidence": 0.1},
    {"name": "Pending-UCB", "confidence": 0.1, "patience": 3},
]
SILENCES = [(10.0, 0.0), (3.0, 0.5)]
IDS = st.sampled_from([f"d{number}" for number in range(12)])
PERHAPS = ["d0", "d1", "d2", "d0.0", "d1.0", "d2.1"]
VERBS = ("create", "add_arm", "stop_or_resume", "decide", "decide", "impute", "feedback", "feedback", "cancel", "look")
UNITS = st.sampled_from([None, "u1", "u2"])


def views(tx: Transaction) -> list[tuple[Experiment, ExperimentAnswer]]:
    """Every experiment, and what is told of it."""
    found, damaged = tx.all()
    assert not damaged
    return [(each, experiment_view(each)) for each in found]


class Machine(RuleBasedStateMachine):
    """Operations through the writer, as the handlers do them."""

    new_db: ClassVar[Callable[[], str]]

    def __init__(self) -> None:
        super().__init__()
        self.db = type(self).new_db()
        self.verbs = Verbs()
        self.chance = random.Random(0)
        self.clock = mock.patch.object(timestamps, "now", self.verbs.now)
        self.clock.start()
        self.writers = [self.started() for _ in range(2 if "://" in self.db else 1)]

    def started(self) -> Writer:
        found = Writer(lambda: open_journal(self.db))
        found.start()
        return found

    def teardown(self) -> None:
        try:
            for each in self.writers:
                self.compare_with(each)
        finally:
            for each in self.writers:
                each.stop()
            self.clock.stop()
        self.verified()

    def verified(self) -> None:
        with closing(open_journal(self.db, create=False)) as journal:
            assert [each.error for each in verify(journal)] == [None] * len(self.verbs.specs)
            for stored in journal.experiments():
                replayed = restore(journal, stored, snapshot=False)
                assert restore(journal, stored).equals(replayed)
                assert replayed.seq == journal.last(stored.id)

    def do(self, *steps: Step) -> None:
        """Have steps done by some writer, all in one transaction, and compare each with the model after those before
        it."""
        told = in_one_transaction(self.chance.choice(self.writers), steps)
        for step, (result, error) in zip(steps, told, strict=True):
            step.check(result, error)

    @initialize(
        policy=st.sampled_from(POLICIES),
        arms=st.integers(1, 4),
        silence=st.sampled_from(SILENCES),
        seed=st.integers(0, 2**16),
    )
    def begin(self, policy: dict[str, Any] | None, arms: int, silence: tuple[float, float], seed: int) -> None:
        self.chance.seed(seed)
        self.do(self.verbs.create("first", policy, arms, 0, silence))
        self.do(self.verbs.decide("first", None, None, 5))

    # ---- one at a time, and several at once ----

    def drawn(self, data: st.DataObject, kind: str) -> Step:
        """Something that can be asked for."""
        name = data.draw(st.sampled_from(["first", *NAMES]))
        if kind == "create":
            policy, arms, seed = (
                data.draw(each) for each in (st.sampled_from(POLICIES), st.integers(1, 4), st.integers(0, 1))
            )
            return self.verbs.create(name, policy, arms, seed, data.draw(st.sampled_from([None, *SILENCES])))
        if kind == "add_arm":
            return self.verbs.add_arm(name, data.draw(st.sampled_from(["arm0", "new1", "new2"])))
        if kind == "stop_or_resume":
            return self.verbs.stop_or_resume(name, data.draw(st.booleans()))
        if kind == "decide":
            count = data.draw(st.none() | st.integers(1, 5))
            return self.verbs.decide(name, data.draw(st.none() | IDS), data.draw(UNITS), count)
        if kind == "impute":
            return self.verbs.impute(name)
        of, id = self.known_id(data)
        named = data.draw(st.sampled_from([None, of, of or name]))
        if kind == "feedback":
            return self.verbs.feedback(id, data.draw(REWARDS), named)
        return self.verbs.cancel(id, named) if kind == "cancel" else self.verbs.look(id, named)

    def known_id(self, data: st.DataObject) -> tuple[str | None, str]:
        """(experiment, id) of a decision, as likely in each of the states that there are; or an id that may be made,
        perhaps just before."""
        perhaps: list[tuple[str | None, str]] = [(None, id) for id in PERHAPS]
        states: dict[str, list[tuple[str | None, str]]] = {"unknown": [(None, "nobody")], "perhaps": perhaps}
        for pair, each in self.verbs.model.made.items():
            states.setdefault(each.status, []).append(pair)
        return data.draw(st.sampled_from(states[data.draw(st.sampled_from(sorted(states)))]))

    @rule(data=st.data(), kind=st.sampled_from(VERBS))
    def one(self, data: st.DataObject, kind: str) -> None:
        self.do(self.drawn(data, kind))

    @rule(data=st.data(), kinds=st.lists(st.sampled_from(VERBS), min_size=2, max_size=8))
    def several(self, data: st.DataObject, kinds: list[str]) -> None:
        self.do(*[self.drawn(data, kind) for kind in kinds])

    @rule(data=st.data(), id=IDS, reward=REWARDS, other=REWARDS)
    def a_whole_life(self, data: st.DataObject, id: str, reward: float, other: float) -> None:
        """Decided, answered and taken back in one transaction, in any order."""
        name = data.draw(st.sampled_from(NAMES))
        named = data.draw(st.sampled_from([None, name]))
        steps = [
            self.verbs.decide(name, id, None, None),
            self.verbs.feedback(id, reward, named),
            self.verbs.feedback(id, other, named),
            self.verbs.cancel(id, named),
        ]
        self.do(*data.draw(st.permutations([*steps, self.verbs.decide(name, id, None, None), self.verbs.impute(name)])))

    @precondition(lambda self: self.waiting())
    @rule(data=st.data(), reward=REWARDS)
    def answered_when_silence_ends(self, data: st.DataObject, reward: float) -> None:
        """The answer, or that it was never shown, comes in the transaction in which silence becomes one."""
        name, id = data.draw(st.sampled_from(self.waiting()))
        made = self.verbs.model.made[name, id]
        assert made.deadline is not None
        self.verbs.time = max(self.verbs.time, made.deadline)
        come = self.verbs.feedback(id, reward, name) if data.draw(st.booleans()) else self.verbs.cancel(id, name)
        steps = [come, self.verbs.impute(made.experiment), self.verbs.impute(made.experiment)]
        self.do(*data.draw(st.permutations(steps)))

    def waiting(self) -> list[tuple[str, str]]:
        """(experiment, id) of decisions for which silence will become an answer."""
        made = self.verbs.model.made
        return [pair for pair, each in made.items() if each.status == PENDING and each.deadline is not None]

    @precondition(lambda self: any(each.status == IMPUTED for each in self.verbs.model.made.values()))
    @rule(data=st.data(), reward=REWARDS)
    def late_feedback(self, data: st.DataObject, reward: float) -> None:
        imputed = [pair for pair, each in self.verbs.model.made.items() if each.status == IMPUTED]
        name, id = data.draw(st.sampled_from(imputed))
        self.do(self.verbs.feedback(id, reward, name))

    # ---- time, restarts ----

    @rule(seconds=st.sampled_from([0, 1, 3, 11]), swept=st.booleans())
    def time_passes(self, seconds: int, swept: bool) -> None:
        self.verbs.time += seconds * SECOND
        if swept:
            self.sweep()

    def sweep(self) -> None:
        self.do(*[self.verbs.impute(name) for name in sorted(self.verbs.specs)])

    @rule(snapshots=st.sampled_from(["kept", "none", "often", "lost"]))
    def restart(self, snapshots: str) -> None:
        place = self.chance.randrange(len(self.writers))
        if snapshots == "none":
            with mock.patch.object(Writer, "_save_snapshots"):
                self.writers[place].stop()
        else:
            self.writers[place].stop()
        if snapshots == "lost":
            with closing(open_journal(self.db)) as journal, journal.database.transaction():
                journal.database.execute("DELETE FROM belated_snapshots")
        writer.SNAPSHOT_EVERY = 2 if snapshots == "often" else SELDOM
        self.writers[place] = self.started()

    @invariant()
    def compare(self) -> None:
        self.compare_with(self.chance.choice(self.writers))  # the other falls behind, and must catch up

    def compare_with(self, chosen: Writer) -> None:
        found = chosen.run(Operation(views))
        assert [view.name for _, view in found] == list(self.verbs.specs)
        for experiment, view in found:
            counts = self.verbs.model.counts(view.name)
            assert {key: getattr(view, key) for key in counts} == counts
            assert view.status == ("stopped" if view.name in self.verbs.model.stopped else "running")
            total = experiment.learner.counts().total
            arms = [(arm.arm, arm.pulls, arm.observed) for arm in view.arms]
            expected = self.verbs.model.arm_counts(view.name)
            assert arms == [each[:3] for each in expected]
            assert total.tolist() == [each[3] for each in expected]
            self.same_as_a_bandit(view)

    def same_as_a_bandit(self, view: Any) -> None:
        bandit = self.verbs.bandits[view.name]
        if bandit is not None:
            summary = [vars(each) for each in bandit[0].summary()]
            fields = summary[0].keys()
            assert [{key: getattr(arm, key) for key in fields} for arm in view.arms] == summary


def machine(new_db: Callable[[], str]) -> type[Machine]:
    """The machine over databases of a kind."""
    return type("Machine", (Machine,), {"new_db": staticmethod(new_db)})


def lives(count: int, steps: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=number_of_examples(count), stateful_step_count=steps, deadline=None, suppress_health_check=quiet
    )


@pytest.fixture(autouse=True)
def _usual_snapshots() -> Iterator[None]:
    yield
    writer.SNAPSHOT_EVERY = SELDOM


@pytest.mark.examples
def test_the_service_does_what_the_model_does_on_sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1 << 30))
        found = machine(lambda: str(Path(folder) / f"{next(numbers)}.db"))
        run_state_machine_as_test(found, settings=lives(40, steps=40))


@pytest.mark.examples
def test_the_service_does_what_the_model_does_on_postgresql(postgres: str) -> None:
    found = machine(lambda: fresh(postgres))
    run_state_machine_as_test(found, settings=lives(10, steps=30))
