"""A state machine: whatever is asked of the service in whatever order, it does what a model in plain dictionaries
does, and a restart changes nothing. On both databases."""

from __future__ import annotations

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
from model import CANCELLED, IMPUTED, OBSERVED, PENDING, Made, Model
from postgres import fresh

from belated.errors import Refused
from belated.journal import open_journal
from belated.online import Bandit
from belated.service import clock, operations, session, writer
from belated.service import operations as op
from belated.service.experiment import restored
from belated.service.session import Operation
from belated.service.spec import Silence, Spec, checked_spec
from belated.service.verify import verify
from belated.service.views import experiment_view
from belated.service.writer import Writer
from strategies import examples

SECOND = 1_000_000
SELDOM = writer.SNAPSHOT_EVERY
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # sums of these are exact in any order
NAMES = ("first", "second", "third")
POLICIES: list[dict[str, Any]] = [
    {"name": "UCB", "confidence": 0.1},
    {"name": "OPSE", "confidence": 0.05},
    {"name": "SE", "confidence": 0.05},
    {"name": "PSE", "confidence": 0.01},
    {"name": "Thompson"},
    {"name": "Optimistic-UCB", "confidence": 0.1},
    {"name": "PatientBandits", "alpha": 1.0, "constant": 0.05},
    {"name": "Uniform"},
]
GROWING = {"UCB", "Optimistic-UCB", "Thompson", "PatientBandits", "Uniform"}
SILENCES = [(10.0, 0.0), (3.0, 0.5)]
IDS = st.sampled_from([f"d{number}" for number in range(12)])
UNITS = st.sampled_from([None, "u1", "u2"])


class Machine(RuleBasedStateMachine):
    """Operations through the writer, as the handlers do them."""

    new_db: ClassVar[Callable[[], str]]

    def __init__(self) -> None:
        super().__init__()
        self.db = type(self).new_db()
        self.model = Model()
        self.specs: dict[str, Spec] = {}
        self.bandits: dict[str, tuple[Bandit, dict[str, int]] | None] = {}
        self.time = 1_700_000_000 * SECOND
        self.patches = [mock.patch.object(module, "now", self.now) for module in (clock, operations, session)]
        for patch in self.patches:
            patch.start()
        self.start()

    def now(self) -> int:
        return self.time

    def start(self) -> None:
        self.writer = Writer(lambda: open_journal(self.db))
        self.writer.start()

    def teardown(self) -> None:
        try:
            self.compare()
            self.writer.stop()
            self.verified()
        finally:
            for patch in self.patches:
                patch.stop()

    def verified(self) -> None:
        with closing(open_journal(self.db, make=False)) as journal:
            assert [each.error for each in verify(journal)] == [None] * len(self.specs)
            for stored in journal.experiments():
                replayed = restored(journal, stored, snapshot=False)
                assert restored(journal, stored).same_as(replayed)
                assert replayed.seq == journal.last(stored.id)

    def do(self, operation: Operation) -> Any:
        return self.writer.run(operation)

    def refused(self, operation: Operation, status: int, kind: str) -> None:
        with pytest.raises(Refused) as caught:
            self.do(operation)
        assert (caught.value.status, caught.value.kind) == (status, kind)

    # ---- experiments ----

    @initialize(policy=st.sampled_from(POLICIES), arms=st.integers(1, 4), silence=st.sampled_from(SILENCES))
    def begin(self, policy: dict[str, Any], arms: int, silence: tuple[float, float]) -> None:
        self.create("first", policy, arms, 0, silence)
        self.decide_in("first", None, None, 5)

    @rule(
        name=st.sampled_from(NAMES),
        policy=st.sampled_from(POLICIES),
        arms=st.integers(1, 4),
        seed=st.integers(0, 1),
        silence=st.sampled_from([None, *SILENCES]),
    )
    def create(
        self, name: str, policy: dict[str, Any], arms: int, seed: int, silence: tuple[float, float] | None
    ) -> None:
        names = [f"arm{number}" for number in range(arms)]
        spec = checked_spec(names, policy, seed, Silence(*silence) if silence else None)
        if name not in self.specs:
            _, new = self.do(op.create(name, spec))
            assert new
            self.specs[name] = spec
            self.model.arms[name], self.model.silence[name], self.model.order[name] = names, silence, []
            self.bandits[name] = Bandit(names, spec.make_policy(), seed=seed), {}
        elif self.specs[name] == spec:
            assert self.do(op.create(name, spec))[1] is False
        else:
            self.refused(op.create(name, spec), 409, "experiment-exists")

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), arm=st.sampled_from(["arm0", "new1", "new2"]))
    def add_arm(self, data: st.DataObject, arm: str) -> None:
        name = self.some(data)
        operation = op.add_arm(name, arm)
        if arm in self.specs[name].arms:
            self.refused(operation, 409, "arm-exists")
        elif arm in self.model.arms[name]:
            assert self.do(operation)[1] is False
        elif self.specs[name].policy["name"] not in GROWING:
            self.refused(operation, 409, "policy-is-closed")
        else:
            assert self.do(operation)[1] is True
            self.model.arms[name].append(arm)
            self.bandits[name] = None  # a bandit has the arms that it began with

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), stopped=st.booleans())
    def stop_or_resume(self, data: st.DataObject, stopped: bool) -> None:
        name = self.some(data)
        _, new = self.do(op.set_stopped(name, stopped))
        assert new == (stopped != (name in self.model.stopped))
        (self.model.stopped.add if stopped else self.model.stopped.discard)(name)

    def some(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.specs)))

    # ---- decisions ----

    @rule(data=st.data(), id=st.none() | IDS, unit=UNITS, count=st.none() | st.integers(1, 5))
    def decide(self, data: st.DataObject, id: str | None, unit: str | None, count: int | None) -> None:
        self.decide_in(data.draw(st.sampled_from(["first", *NAMES])), id, unit, count)

    def decide_in(self, name: str, id: str | None, unit: str | None, count: int | None) -> None:
        ids = () if id is None else (id,) if count is None else tuple(f"{id}.{k}" for k in range(count))
        asked = {"unit": unit, "count": count if ids else None}
        operation = op.decide(name, ids, count or 1, asked)
        if name not in self.specs:
            self.refused(operation, 404, "unknown-experiment")
            return
        known = [self.model.made.get(each) for each in ids]
        if any(known):
            if all(each is not None and (each.experiment, each.asked) == (name, asked) for each in known):
                found, new = self.do(operation)
                assert not new
                assert [decision.event.id for _, decision in found] == list(ids)
                arms = self.model.arms[name]
                assert [arms[decision.event.arm] for _, decision in found] == [
                    self.model.made[each].arm for each in ids
                ]
            else:
                self.refused(operation, 409, "id-in-use")
        elif name in self.model.stopped:
            self.refused(operation, 409, "experiment-stopped")
        else:
            found, new = self.do(operation)
            assert new
            assert len(found) == (count or 1)
            for _, decision in found:
                self.note(name, decision.event, asked)

    def note(self, name: str, event: Any, asked: dict[str, Any]) -> None:
        rule_ = self.model.silence[name]
        assert event.at == self.time
        assert event.number == len(self.model.order[name])
        deadline = self.time + round(rule_[0] * SECOND) if rule_ is not None else None
        assert event.deadline == deadline
        arm = self.model.arms[name][event.arm]
        self.model.made[event.id] = Made(name, arm, asked, deadline)
        self.model.order[name].append(event.id)
        bandit = self.bandits[name]
        if bandit is not None:
            chosen = bandit[0].choose()
            assert chosen.arm == arm
            bandit[1][event.id] = chosen.id

    def known_id(self, data: st.DataObject) -> str:
        """An id, as likely in each of the states that there are."""
        states: dict[str, list[str]] = {"unknown": ["nobody"]}
        for id, each in self.model.made.items():
            states.setdefault(each.status, []).append(id)
        return data.draw(st.sampled_from(states[data.draw(st.sampled_from(sorted(states)))]))

    @rule(data=st.data(), reward=REWARDS)
    def feedback(self, data: st.DataObject, reward: float) -> None:
        self.tell(self.known_id(data), reward)

    @precondition(lambda self: any(each.status == IMPUTED for each in self.model.made.values()))
    @rule(data=st.data(), reward=REWARDS)
    def late_feedback(self, data: st.DataObject, reward: float) -> None:
        self.tell(
            data.draw(st.sampled_from([id for id, each in self.model.made.items() if each.status == IMPUTED])), reward
        )

    def tell(self, id: str, reward: float) -> None:
        made = self.model.made.get(id)
        operation = op.feedback(id, reward, None)
        if made is None:
            self.refused(operation, 404, "unknown-decision")
        elif made.status == CANCELLED:
            self.refused(operation, 409, "decision-cancelled")
        elif made.status == OBSERVED and made.reward != reward:
            self.refused(operation, 409, "conflicting-feedback")
        else:
            _, found, result = self.do(operation)
            assert result == {PENDING: "observed", IMPUTED: "late", OBSERVED: "duplicate"}[made.status]
            bandit = self.bandits[made.experiment]
            if bandit is not None and made.status == PENDING:
                bandit[0].observe(bandit[1][id], reward)
            elif made.status == IMPUTED:
                self.bandits[made.experiment] = None  # a bandit's answers are for good
            made.late = made.late or made.status == IMPUTED
            made.status, made.reward = OBSERVED, reward
            assert (found.status, found.reward, found.late) == (made.status, made.reward, made.late)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        id = self.known_id(data)
        made = self.model.made.get(id)
        if made is None:
            self.refused(op.cancel(id), 404, "unknown-decision")
        elif made.status == OBSERVED:
            self.refused(op.cancel(id), 409, "decision-observed")
        else:
            _, found, new = self.do(op.cancel(id))
            assert new == (made.status != CANCELLED)
            made.status, made.reward = CANCELLED, None
            assert (found.status, found.reward) == (CANCELLED, None)
            self.bandits[made.experiment] = None

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        id = self.known_id(data)
        made = self.model.made.get(id)
        if made is None:
            self.refused(op.decision(id), 404, "unknown-decision")
            return
        experiment, found = self.do(op.decision(id))
        assert (experiment.name, found.status, found.reward, found.late) == (
            made.experiment,
            made.status,
            made.reward,
            made.late,
        )

    # ---- time, restarts ----

    @rule(seconds=st.sampled_from([0, 1, 3, 11]), swept=st.booleans())
    def time_passes(self, seconds: int, swept: bool) -> None:
        self.time += seconds * SECOND
        if swept:
            self.sweep()

    def sweep(self) -> None:
        due = {id: each.experiment for id, each in self.model.made.items() if each.status == PENDING}
        expected = self.model.impute(self.time)
        total = 0
        for name in sorted(self.specs):
            while count := self.do(op.impute(name)):
                total += count
        assert total == expected
        for id, name in due.items():
            bandit, made = self.bandits[name], self.model.made[id]
            if made.status == IMPUTED and bandit is not None and made.reward is not None:
                bandit[0].observe(bandit[1][id], made.reward)

    @rule(snapshots=st.sampled_from(["kept", "none", "often", "lost"]))
    def restart(self, snapshots: str) -> None:
        if snapshots == "none":
            with mock.patch.object(Writer, "_keep_snapshots"):
                self.writer.stop()
        else:
            self.writer.stop()
        if snapshots == "lost":
            with closing(open_journal(self.db)) as journal, journal.database.transaction():
                journal.database.execute("DELETE FROM belated_snapshots")
        writer.SNAPSHOT_EVERY = 2 if snapshots == "often" else SELDOM
        self.start()

    @invariant()
    def compare(self) -> None:
        found = self.do(Operation(lambda session: [(each, experiment_view(each)) for each in session.all()]))
        assert [view.name for _, view in found] == list(self.specs)
        for experiment, view in found:
            counts = self.model.counts(view.name)
            assert {key: getattr(view, key) for key in counts} == counts
            assert view.status == ("stopped" if view.name in self.model.stopped else "running")
            state = experiment.learner.state
            arms = [(arm.arm, arm.pulls, arm.observed) for arm in view.arms]
            expected = self.model.arm_counts(view.name)
            assert arms == [each[:3] for each in expected]
            assert state.total[: len(arms)].tolist() == [each[3] for each in expected]
            self.same_as_a_bandit(view)

    def same_as_a_bandit(self, view: Any) -> None:
        bandit = self.bandits[view.name]
        if bandit is not None:
            summary = [vars(each) for each in bandit[0].summary()]
            fields = summary[0].keys()
            assert [{key: getattr(arm, key) for key in fields} for arm in view.arms] == summary


def machine(new_db: Callable[[], str]) -> type[Machine]:
    """The machine over databases of a kind."""
    return type("Machine", (Machine,), {"new_db": staticmethod(new_db)})


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(autouse=True)
def _usual_snapshots() -> Iterator[None]:
    yield
    writer.SNAPSHOT_EVERY = SELDOM


def test_the_service_does_what_the_model_does_on_sqlite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1 << 30))
        found = machine(lambda: str(Path(folder) / f"{next(numbers)}.db"))
        run_state_machine_as_test(
            found, settings=settings(examples(40), stateful_step_count=40, deadline=None, suppress_health_check=QUIET)
        )


def test_the_service_does_what_the_model_does_on_postgresql(postgres: str) -> None:
    found = machine(lambda: fresh(postgres))
    run_state_machine_as_test(
        found, settings=settings(examples(10), stateful_step_count=30, deadline=None, suppress_health_check=QUIET)
    )
