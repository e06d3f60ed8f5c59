"""The look at a database that all torture ends with: whatever is lost, made up or miscounted is seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledger import Asked, Ledger, compare
from work import StepWriter, Work, open_small

from belated.live.learner import Learner
from belated.service.api.experiments import experiment_view
from belated.service.api.messages import ExperimentAnswer
from belated.service.core import operations
from belated.service.core.experiment import Experiment
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal


@pytest.fixture
def worked(tmp_path: Path) -> Iterator[tuple[Journal, StepWriter, Ledger]]:
    """A journal in which much has happened, all of it asked for."""
    ledger = Ledger()
    work = Work(random.Random(1), ledger)
    writer = StepWriter(lambda: open_small(tmp_path / "bandits.db"))
    writer.start()
    while len(ledger) < 300:
        assert work.transaction(writer)
    journal = open_small(tmp_path / "bandits.db")
    yield journal, writer, ledger
    journal.close()
    writer.stop()


def test_what_was_asked_for_is_fine(worked: tuple[Journal, StepWriter, Ledger]) -> None:
    journal, _, ledger = worked
    found = compare(journal, ledger)
    assert found.fine, str(found)
    assert not ledger.unanswered
    silent = found.tallies["silent"].counts()
    assert min(silent[key] for key in ("observed", "pending", "cancelled", "imputed", "late")) > 0, silent


def pending(ledger: Ledger) -> str:
    """A decision without an answer."""
    return next(id for id in ledger.arms if id[0] == "p" and id not in ledger.rewards and id not in ledger.cancelled)


UNASKED = {
    "decided": lambda ledger: (operations.decide("plain", ("odd",), 1, {}), Asked(Kind.DECIDED, "odd")),
    "observed": lambda ledger: (
        operations.feedback(pending(ledger), 0.5, None),
        Asked(Kind.OBSERVED, pending(ledger), 0.5),
    ),
    "cancelled": lambda ledger: (operations.cancel(pending(ledger)), Asked(Kind.CANCELLED, pending(ledger))),
}


@pytest.mark.parametrize("kind", UNASKED)
def test_what_nobody_asked_for_is_seen(worked: tuple[Journal, StepWriter, Ledger], kind: str) -> None:
    journal, writer, ledger = worked
    operation, asked = UNASKED[kind](ledger)
    ((_, error),) = writer.together([operation])
    assert error is None
    found = compare(journal, ledger)
    assert not found.lost
    (said,) = found.wrong
    assert said.startswith(f"{asked.id} is {kind}")
    assert said.endswith("nobody asked for that")
    ledger.asks([asked])  # and got no answer
    assert compare(journal, ledger).fine


def test_an_answer_with_another_reward_than_was_asked_for_is_seen(
    worked: tuple[Journal, StepWriter, Ledger],
) -> None:
    journal, writer, ledger = worked
    id = pending(ledger)
    ledger.asks([Asked(Kind.OBSERVED, id, 1.0)])
    writer.together([operations.feedback(id, 0.0, None)])
    assert compare(journal, ledger).wrong == [f"{id} is observed with 0.0, and nobody asked for that"]


LOSSES: dict[str, Callable[[Ledger], None]] = {
    "decision gone": lambda ledger: ledger.decided("gone", "a"),
    "the reward of": lambda ledger: ledger.observed(pending(ledger), 1.0),
    "the cancellation of": lambda ledger: ledger.was_cancelled(pending(ledger)),
    "experiment gone": lambda ledger: ledger.experiments.add("gone"),
}


@pytest.mark.parametrize("what", LOSSES)
def test_what_is_lost_is_seen(worked: tuple[Journal, StepWriter, Ledger], what: str) -> None:
    journal, _, ledger = worked
    LOSSES[what](ledger)
    found = compare(journal, ledger)
    assert not found.wrong
    (said,) = found.lost
    assert said.startswith(what)


@pytest.mark.parametrize("key", ["decisions", "pulls", "observed", "pending", "cancelled", "imputed", "late"])
def test_every_count_is_compared_with_the_events(
    worked: tuple[Journal, StepWriter, Ledger], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    journal, _, ledger = worked

    def miscounted(experiment: Experiment) -> ExperimentAnswer:
        found = experiment_view(experiment)
        setattr(found, key, getattr(found, key) + 1)
        return found

    monkeypatch.setattr("ledger.experiment_view", miscounted)
    assert [each.partition(" ")[0] for each in compare(journal, ledger).wrong] == [key, key]


def test_an_answer_that_counts_twice_is_seen(
    worked: tuple[Journal, StepWriter, Ledger], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal has it once, and the state twice: live and in a replay alike."""
    once = Learner.observe

    def twice(self: Learner, arm: int, reward: float, rank: int, number: int) -> None:
        once(self, arm, reward, rank, number)
        once(self, arm, reward, rank, number)

    monkeypatch.setattr(Learner, "observe", twice)
    journal, _, ledger = worked
    found = compare(journal, ledger)
    assert any("add up to" in each for each in found.wrong), str(found)
