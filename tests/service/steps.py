"""What can be asked of the service, each with what the model says of it; and how several are asked for together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from model import CANCELLED, IMPUTED, OBSERVED, PENDING, Made, Model

from belated.errors import ApiError
from belated.live.bandit import Bandit
from belated.service.core import operations
from belated.service.core.spec import Silence, Spec, checked_spec, make_policy
from belated.service.core.transaction import Operation, Transaction
from belated.service.core.writer import Writer

SECOND = 1_000_000


class Step(NamedTuple):
    """An operation, and what is made of its result and its error: they are compared with the model, which follows."""

    operation: Operation
    check: Callable[[Any, BaseException | None], None]


def refused(error: BaseException | None, status: int, kind: str) -> None:
    """It was refused, and for this reason."""
    assert isinstance(error, ApiError), error
    assert (error.status, error.kind) == (status, kind)


class Verbs:
    """The model, and beside it bandits that see the same; the steps in which both go on with the service."""

    def __init__(self) -> None:
        self.model = Model()
        self.specs: dict[str, Spec] = {}
        self.bandits: dict[str, tuple[Bandit, dict[str, int]] | None] = {}
        self.time = 1_700_000_000 * SECOND

    def now(self) -> int:
        """The time, which only moves when it is told to."""
        return self.time

    # ---- experiments ----

    def create(
        self, name: str, policy: dict[str, Any] | None, arms: int, seed: int, silence: tuple[float, float] | None
    ) -> Step:
        names = [f"arm{number}" for number in range(arms)]
        spec = checked_spec(names, policy, seed, Silence(*silence) if silence else None)

        def check(result: Any, error: BaseException | None) -> None:
            if name not in self.specs:
                assert result[1] is True
                self.specs[name] = spec
                self.model.arms[name], self.model.silence[name], self.model.order[name] = names, silence, []
                self.bandits[name] = Bandit(names, make_policy(spec.policy), seed=seed), {}
            elif self.specs[name] == spec:
                assert result[1] is False
            else:
                refused(error, 409, "experiment-exists")

        return Step(operations.create(name, spec), check)

    def add_arm(self, name: str, arm: str) -> Step:
        def check(result: Any, error: BaseException | None) -> None:
            if name not in self.specs:
                refused(error, 404, "unknown-experiment")
            elif arm in self.specs[name].arms:
                refused(error, 409, "arm-exists")
            elif arm in self.model.arms[name]:
                assert result[1] is False
            elif not make_policy(self.specs[name].policy).supports_new_arms:
                refused(error, 409, "policy-is-closed")
            else:
                assert result[1] is True
                self.model.arms[name].append(arm)
                self.bandits[name] = None  # a bandit has the arms that it began with

        return Step(operations.add_arm(name, arm), check)

    def stop_or_resume(self, name: str, stopped: bool) -> Step:
        def check(result: Any, error: BaseException | None) -> None:
            if name not in self.specs:
                refused(error, 404, "unknown-experiment")
                return
            assert result[1] == (stopped != (name in self.model.stopped))
            (self.model.stopped.add if stopped else self.model.stopped.discard)(name)

        return Step(operations.set_stopped(name, stopped), check)

    # ---- decisions ----

    def decide(self, name: str, id: str | None, unit: str | None, count: int | None) -> Step:
        ids = () if id is None else (id,) if count is None else tuple(f"{id}.{k}" for k in range(count))
        asked = {"unit": unit, "count": count if ids else None}

        def check(result: Any, error: BaseException | None) -> None:
            if name not in self.specs:
                refused(error, 404, "unknown-experiment")
                return
            known = [self.model.made.get((name, each)) for each in ids]
            if any(known):
                if not all(each is not None and each.asked == asked for each in known):
                    refused(error, 409, "id-in-use")
                    return
                found, new = result
                assert not new
                assert [decision.event.id for _, decision in found] == list(ids)
                arms = self.model.arms[name]
                assert [arms[decision.event.arm] for _, decision in found] == [
                    self.model.made[name, each].arm for each in ids
                ]
            elif id is not None and self.in_another_form(name, id, count):
                refused(error, 409, "id-in-use")
            elif name in self.model.stopped:
                refused(error, 409, "experiment-stopped")
            else:
                found, new = result
                assert new
                assert len(found) == (count or 1)
                for _, decision in found:
                    self.note(name, decision.event, asked)

        return Step(operations.decide(name, ids, count or 1, asked), check)

    def in_another_form(self, name: str, id: str, count: int | None) -> bool:
        """Whether the id was used for a batch, and now for one decision, or the other way round."""
        other = self.model.made.get((name, f"{id}.0" if count is None else id))
        return other is not None and (other.asked["count"] is None) != (count is None)

    def note(self, name: str, event: Any, asked: dict[str, Any]) -> None:
        rule_ = self.model.silence[name]
        assert event.at == self.time
        assert event.number == len(self.model.order[name])
        deadline = self.time + round(rule_[0] * SECOND) if rule_ is not None else None
        assert event.deadline == deadline
        arm = self.model.arms[name][event.arm]
        self.model.made[name, event.id] = Made(name, arm, asked, deadline)
        self.model.order[name].append(event.id)
        bandit = self.bandits[name]
        if bandit is not None:
            chosen = bandit[0].choose()
            assert chosen.arm == arm
            bandit[1][event.id] = chosen.id

    def found(self, id: str, name: str | None, error: BaseException | None) -> Made | None:
        """The decision with an id, in an experiment or in all; None if it was refused because there is not just one."""
        if name is not None and name not in self.specs:
            refused(error, 404, "unknown-experiment")
            return None
        found = self.model.with_id(id, name)
        if len(found) == 1:
            return found[0]
        refused(error, *((409, "ambiguous-id") if found else (404, "unknown-decision")))
        return None

    def feedback(self, id: str, reward: float, name: str | None = None) -> Step:
        def check(result: Any, error: BaseException | None) -> None:
            made = self.found(id, name, error)
            if made is None:
                return
            if made.status == CANCELLED:
                refused(error, 409, "decision-cancelled")
            elif made.status == OBSERVED and made.reward != reward:
                refused(error, 409, "conflicting-feedback")
            else:
                _, found, what = result
                assert what == {PENDING: "observed", IMPUTED: "late", OBSERVED: "duplicate"}[made.status]
                bandit = self.bandits[made.experiment]
                if bandit is not None and made.status == PENDING:
                    bandit[0].observe(bandit[1][id], reward)
                elif made.status == IMPUTED:
                    self.bandits[made.experiment] = None  # a bandit's answers are for good
                made.late = made.late or made.status == IMPUTED
                made.status, made.reward = OBSERVED, reward
                assert (found.status, found.reward, found.late) == (made.status, made.reward, made.late)

        return Step(operations.feedback(id, reward, None, name), check)

    def cancel(self, id: str, name: str | None = None) -> Step:
        def check(result: Any, error: BaseException | None) -> None:
            made = self.found(id, name, error)
            if made is None:
                return
            if made.status == OBSERVED:
                refused(error, 409, "decision-observed")
            else:
                _, found, new = result
                assert new == (made.status != CANCELLED)
                made.status, made.reward = CANCELLED, None
                assert (found.status, found.reward) == (CANCELLED, None)
                self.bandits[made.experiment] = None

        return Step(operations.cancel(id, name), check)

    def look(self, id: str, name: str | None = None) -> Step:
        def check(result: Any, error: BaseException | None) -> None:
            made = self.found(id, name, error)
            if made is None:
                return
            experiment, found = result
            assert (experiment.name, found.status, found.reward, found.late) == (
                made.experiment,
                made.status,
                made.reward,
                made.late,
            )

        return Step(operations.decision(id, name), check)

    def impute(self, name: str) -> Step:
        """Silence becomes an answer; there are never so many that one operation would not do."""

        def check(result: Any, error: BaseException | None) -> None:
            if name not in self.specs:
                refused(error, 404, "unknown-experiment")
                return
            due = [id for id in self.model.order[name] if self.model.made[name, id].status == PENDING]
            assert result == self.model.impute(name, self.time)
            bandit = self.bandits[name]
            for id in due:
                made = self.model.made[name, id]
                if made.status == IMPUTED and bandit is not None and made.reward is not None:
                    bandit[0].observe(bandit[1][id], made.reward)

        return Step(operations.impute(name), check)


def in_one_transaction(chosen: Writer, steps: Sequence[Step]) -> list[tuple[Any, BaseException | None]]:
    """Have a writer do all of it together; what the callers are told, in their order."""
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    told: list[tuple[Any, BaseException | None]] = []
    transactions: list[Transaction] = []

    def wait(_: Transaction) -> None:  # while the writer is busy with this one, the others gather
        begun.set()
        go.wait()

    def answer(result: Any, error: BaseException | None) -> None:
        told.append((result, error))
        if len(told) == len(steps):
            done.set()

    def noted(operation: Operation) -> Operation:
        def act(tx: Transaction) -> Any:
            transactions.append(tx)
            return operation.act(tx)

        return msgspec.structs.replace(operation, act=act)

    chosen.enqueue(Operation(wait), lambda result, error: None)
    begun.wait()
    for step in steps:
        chosen.enqueue(noted(step.operation), answer)
    go.set()
    done.wait()
    assert len(transactions) == len(steps), "something was tried again"
    assert len({id(each) for each in transactions}) == 1, "it was not one transaction"
    return told
