"""Playing rows: paired, the same bits however it is played, as often as is needed, and what Ctrl-C leaves."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from belated import simulate
from belated.errors import ArenaInterrupted, BelatedError, Interrupted, InvalidParameter
from belated.policies import UCB, SuccessiveElimination, ThompsonSampling
from belated.studies.arena import FIRST_RUNS, Scenario, Scores, contestants, labels_of, play
from belated.studies.arena.scenarios import MAX_RUNS
from belated.studies.runner import RunnerStep

MODULE: Any = sys.modules["belated.studies.arena"]
RUNNER: Any = sys.modules["belated.studies.runner"]
POLICIES = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0), ThompsonSampling()]
ARRAYS = ("regret", "stderr", "error", "losing", "runs")
Make = Callable[..., Scenario]


def assert_same(one: Scores, other: Scores) -> None:
    assert one.scenarios == other.scenarios
    assert one.labels == other.labels
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def rows_of_three(row: Make) -> list[Scenario]:
    """Of different lengths, the longest in the middle."""
    return [row("a", horizon=100), row("b", horizon=300), row("c", horizon=200)]


# ---- what is played ----


def test_regrets_are_those_of_a_simulation_whoever_else_enters(row: Make) -> None:
    one = row("one")
    everybody = play([one], POLICIES, runs=12, seed=5)
    for place, policy in enumerate(POLICIES):
        other = POLICIES[place - 1]
        pair = play([one], [other, policy], runs=12, seed=5)
        assert pair.regret[0].tolist() == everybody.regret[0, [place - 1, place]].tolist()
        alone = simulate(one.problem, policy, horizon=200, runs=12, seed=5, shuffle=True, progress=False).final[0]
        assert alone.mean() == everybody.regret[0, place]
        assert everybody.stderr[0, place] == pytest.approx(alone.std(ddof=1) / np.sqrt(12), rel=1e-12)


def test_the_bits_depend_on_the_seed_alone(row: Make) -> None:
    rows = rows_of_three(row)
    first = play(rows, POLICIES, seed=3, workers=1)
    assert_same(first, play(rows, POLICIES, seed=3, workers=3))
    assert_same(first, Scores.joined([play([one], POLICIES, seed=3) for one in rows]))
    assert not np.array_equal(first.regret, play(rows, POLICIES, seed=4).regret)


def test_a_row_stands_where_it_was_given(row: Make) -> None:
    rows = rows_of_three(row)
    forward, backward = play(rows, POLICIES, runs=3), play(rows[::-1], POLICIES, runs=3)
    assert [one.name for one in backward.scenarios] == ["c", "b", "a"]
    assert np.array_equal(forward.regret[::-1], backward.regret)


# ---- how often ----


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every batch that is played: what it was asked, and its regrets."""
    batches: list[Any] = []

    def watched(problem: Any, policies: Any, **given: Any) -> Any:
        result = simulate(problem, policies, **given)
        batches.append(SimpleNamespace(final=result.final, labels=labels_of(policies), **given))
        return result

    monkeypatch.setattr(RUNNER, "simulate", watched)
    return batches


def regrets_of(played: list[Any]) -> list[Any]:
    """The regrets of each of POLICIES, in the order of their batches."""
    batches = sorted(played, key=lambda batch: batch.seed)
    return [
        np.concatenate([batch.final[batch.labels.index(label)] for batch in batches if label in batch.labels])
        for label in labels_of(POLICIES)
    ]


@pytest.mark.usefixtures("needs_batches")
def test_a_row_is_played_until_its_ratios_are_known(row: Make, played: list[Any]) -> None:
    one = row("one", horizon=12)
    scores = play([one], POLICIES)
    assert len(played) >= 2, "the row is too easy for this test"
    assert played[0].runs == FIRST_RUNS
    assert played[0].labels == labels_of(POLICIES)
    final = regrets_of(played)
    assert [regrets.size for regrets in final] == scores.runs[0].tolist()
    assert scores.runs.max() < MAX_RUNS
    assert scores.max_rel_error <= MODULE.PRECISION
    assert scores.regret[0] == pytest.approx([regrets.mean() for regrets in final], rel=1e-12)
    for count in range(1, len(played)):
        before = Scores.of(one, scores.labels, regrets_of(played[:count]), regrets_of(played[:count]))
        short = before.rel_error[0] > MODULE.PRECISION
        assert short.any()
        batch = played[count].labels
        best = scores.labels[int(before.regret[0].argmin())]
        assert set(batch) <= {best, *np.array(scores.labels)[short]}
    last = Scores.of(one, scores.labels, final, final)
    assert np.array_equal(last.error, scores.error)


def test_policies_with_known_ratios_play_no_more(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three needs more runs, and the best of them, by which it is divided."""
    batches: list[tuple[int, int]] = []
    monkeypatch.setattr(RUNNER, "simulate", pretending({"UCB": 0.01, "SE": 0.01, "Thompson": 1.0}, batches))
    scores = play([row("one")], POLICIES)
    assert scores.runs[0, 1] == FIRST_RUNS < scores.runs[0, 0] == scores.runs[0, 2]
    assert scores.max_rel_error <= MODULE.PRECISION


def test_a_policy_plays_the_batches_that_it_missed(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third one has a regret of 50 in the first batch and of 1,000 in the second: then the first is the best, and
    has to catch up with the second, whose ratio is to it now."""
    batches: list[tuple[int, tuple[str, ...]]] = []
    draw = pretending({"UCB": 0.01, "SE": 1.5, "Thompson": 0.01}, [])

    def changing(problem: Any, policies: Any, **given: Any) -> Any:
        result = draw(problem, policies, **given)
        labels = labels_of(policies)
        batches.append((given["seed"], labels))
        if "Thompson" in labels:
            result.final[labels.index("Thompson")] *= (50.0 if given["seed"] == 0 else 1000.0) / 300.0
        return result

    monkeypatch.setattr(RUNNER, "simulate", changing)
    scores = play([row("one", max_runs=5000)], POLICIES)
    later = [labels for seed, labels in batches if seed == 2**64]  # of the second batch
    assert later[0] == ("SE", "Thompson")
    assert later[1] == ("UCB",)
    assert scores.runs[0, 0] == scores.runs[0, 1] > FIRST_RUNS


@pytest.mark.usefixtures("needs_batches")
def test_no_run_is_played_twice(row: Make, played: list[Any]) -> None:
    play([row("one", horizon=12)], POLICIES, seed=11)
    assert len(played) >= 2
    seeds = {label: [batch.seed for batch in played if label in batch.labels] for label in labels_of(POLICIES)}
    for own in seeds.values():
        assert own == [11 + number * 2**64 for number in range(len(own))]
    columns = [tuple(column) for batch in played if len(batch.labels) == 3 for column in batch.final.T]
    assert len(set(columns)) > 0.99 * len(columns)  # problems are drawn, so that hardly two runs are alike


def test_fewer_runs_than_are_needed_are_played_if_they_are_asked_for(row: Make, played: list[Any]) -> None:
    scores = play([row("one", horizon=60)], POLICIES, runs=2)
    assert [batch.runs for batch in played] == [2]
    assert scores.runs.tolist() == [[2, 2, 2]]
    assert scores.max_rel_error > MODULE.PRECISION


def pretending(noise: dict[str, float], batches: list[tuple[int, int]]) -> Callable[..., Any]:
    """In place of simulate: regrets of 100, 200 and 300, each run off by a factor of its own, as large as the noise of
    the policy; (runs, seed) are noted."""
    means = {label: 100.0 * (place + 1) for place, label in enumerate(noise)}

    def draw(problem: Any, policies: Any, *, runs: int, seed: int, **more: Any) -> Any:
        batches.append((runs, seed))
        rng = np.random.default_rng(seed)
        drawn = {label: means[label] * np.exp(rng.normal(0.0, noise[label], runs)) for label in noise}
        final = np.array([drawn[label] for label in labels_of(policies)])
        rounds = np.array(more["checkpoints"])
        curves = np.stack([0.99 * final, final], axis=2)
        manifest = SimpleNamespace(seconds=0.0, seed=seed)
        return SimpleNamespace(final=final, curves=curves, rounds=rounds, runs=runs, horizon=200, manifest=manifest)

    return draw


def test_what_can_not_be_known_is_given_up_at_the_most(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[tuple[int, int]] = []
    monkeypatch.setattr(RUNNER, "simulate", pretending({"UCB": 2.5, "SE": 2.5}, batches))
    scores = play([row("one", max_runs=10_000)], POLICIES[:2])
    totals = np.cumsum([runs for runs, _ in batches])
    assert scores.runs.tolist() == [[10_000, 10_000]]
    assert totals[-1] == 10_000
    assert totals[0] == FIRST_RUNS
    assert len({seed for _, seed in batches}) == len(batches) > 3
    assert np.all(totals[1:-1] == 4 * totals[:-2])  # four times as many at the most
    assert float((scores.error / scores.ratio).max()) > MODULE.PRECISION


def test_what_is_known_at_once_is_not_played_again(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[tuple[int, int]] = []
    monkeypatch.setattr(RUNNER, "simulate", pretending({"UCB": 0.1, "SE": 0.1}, batches))
    assert play([row("one")], POLICIES[:2]).runs.tolist() == [[FIRST_RUNS] * 2]
    assert [runs for runs, _ in batches] == [FIRST_RUNS]


def test_not_many_more_runs_are_played_than_are_needed(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two independent policies of relative spread s need (1.414 s / 0.05)^2 runs."""
    batches: list[tuple[int, int]] = []
    monkeypatch.setattr(RUNNER, "simulate", pretending({"UCB": 0.56, "SE": 0.56}, batches))
    spread = np.sqrt(np.exp(0.56**2) - 1.0)
    needed = 2.0 * (spread / MODULE.PRECISION) ** 2
    assert 0.7 * needed < play([row("one")], POLICIES[:2]).runs[0, 0] < 1.6 * needed


# ---- what is refused ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenarios": []}, "scenarios is empty; give at least one"),
        ({"policies": POLICIES[:1]}, "policies has 1; give at least two"),
        ({"policies": []}, "policies has 0; give at least two"),
        ({"runs": 1}, "runs is 1; give a whole number >= 2"),
        ({"runs": 0}, "runs is 0; give"),
        ({"runs": True}, "runs is True; give"),
        ({"runs": 2.5}, "runs is 2.5; give"),
        ({"seed": -1}, "seed is -1; give a whole number >= 0"),
        ({"workers": 0}, "workers is 0; give"),
        ({"device": "tpu"}, "device is 'tpu'; give 'cpu' or 'cuda'"),
        ({"policies": [UCB, ThompsonSampling()]}, "policies[0] is"),
        ({"policies": ["UCB", "SE"]}, "policies[0] is 'UCB'; give a policy"),
    ],
)
def test_mistakes_are_refused(row: Make, change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"scenarios": [row("one")], "policies": POLICIES, "runs": 2} | change
    with pytest.raises(InvalidParameter) as caught:
        play(given.pop("scenarios"), given.pop("policies"), **given)
    assert message in str(caught.value)


def test_a_row_in_which_there_is_nothing_to_regret_is_refused(row: Make) -> None:
    alike = {"rewards": {"law": "Bernoulli", "mean": 0.5, "repeat": 3}, "delays": {"law": "Fixed", "rounds": 0}}
    with pytest.raises(InvalidParameter, match="row 'alike': the regret of UCB and of SE and of Thompson is 0"):
        play([row("alike", spec=alike)], POLICIES)


# ---- on the way ----


def test_watchers_hear_which_row_is_played_and_how_far_it_is(row: Make) -> None:
    steps: list[RunnerStep] = []
    play(rows_of_three(row), POLICIES, runs=6, watch=steps.append)
    assert list(dict.fromkeys((step.study, step.finished, step.runs) for step in steps)) == [
        ("a", 0, 6),
        ("b", 1, 6),
        ("c", 2, 6),
    ]
    last = {step.study: step.progress for step in steps}
    assert {name: (one.done, one.total) for name, one in last.items()} == {
        "a": (1800, 1800),
        "b": (5400, 5400),
        "c": (3600, 3600),
    }


# ---- Ctrl-C ----


def interrupting(name: str, rows: list[Scenario]) -> Callable[..., Any]:
    """In place of simulate: Ctrl-C in a row."""
    horizon = next(row.horizon for row in rows if row.name == name)

    def stop(problem: Any, policies: Any, **given: Any) -> Any:
        if given["horizon"] == horizon:
            raise Interrupted("interrupted after 1 of 2 runs.", None)
        return simulate(problem, policies, **given)

    return stop


def test_an_interruption_keeps_the_finished_rows(row: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of_three(row)
    whole = play(rows, POLICIES, runs=4)
    monkeypatch.setattr(RUNNER, "simulate", interrupting("c", rows))
    with pytest.raises(ArenaInterrupted, match=r"^interrupted after 2 of 3 scenarios\.$") as caught:
        play(rows, POLICIES, runs=4)
    assert caught.value.scores is not None
    assert_same(caught.value.scores, whole.select(lambda one: one.name in "ab"))
    monkeypatch.setattr(RUNNER, "simulate", interrupting("a", rows))
    with pytest.raises(ArenaInterrupted, match=r"^interrupted after 0 of 3 scenarios\.$") as caught:
        play(rows, POLICIES, runs=4)
    assert caught.value.scores is None
    assert isinstance(caught.value, KeyboardInterrupt)
    assert isinstance(caught.value, BelatedError)


# ---- on a device, several rows at a time ----


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A device that is the processor: what is asked of "cuda" is played here; ``at_once`` is how many rows it had, and
    ``horizons`` are those of the batches that it began."""
    state = SimpleNamespace(at_once=0, now=0, horizons=[], hold=threading.Event())
    state.hold.set()
    lock = threading.Lock()

    def on_device(problem: Any, policies: Any, **given: Any) -> Any:
        assert given.pop("device") == "cuda"
        with lock:
            state.now += 1
            state.horizons.append(given["horizon"])
            state.at_once = max(state.at_once, state.now)
        state.hold.wait(20.0)
        try:
            return simulate(problem, policies, **given)
        finally:
            with lock:
                state.now -= 1

    monkeypatch.setattr(RUNNER, "simulate", on_device)
    monkeypatch.setattr(RUNNER, "check_device", lambda name: None)
    return state


@pytest.mark.parametrize("runs", [None, 5])
def test_a_device_gives_the_scores_of_the_processor_in_the_same_order(
    row: Make, device: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, runs: int | None
) -> None:
    rows = rows_of_three(row)
    found = play(rows, POLICIES, runs=runs, seed=2, device="cuda")
    monkeypatch.setattr(RUNNER, "simulate", simulate)
    assert_same(found, play(rows, POLICIES, runs=runs, seed=2))


def test_a_device_plays_several_rows_at_a_time(row: Make, device: SimpleNamespace) -> None:
    device.hold.clear()
    threading.Timer(0.3, device.hold.set).start()
    steps: list[RunnerStep] = []
    play([row(f"row-{number}") for number in range(6)], POLICIES, runs=2, device="cuda", watch=steps.append)
    assert device.at_once == 6
    assert {step.study for step in steps} == {f"row-{number}" for number in range(6)}
    assert all(0 <= step.finished < 6 for step in steps)


def test_a_device_begins_with_the_long_rows(
    row: Make, device: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "SCENARIOS_ON_DEVICE", 1)
    play(rows_of_three(row), POLICIES, runs=2, device="cuda")
    assert device.horizons == [300, 200, 100]


def test_a_device_plays_long_rows_too(row: Make, device: SimpleNamespace) -> None:
    long = RUNNER.MAX_HORIZON_ON_DEVICE + 1
    play([row("long", horizon=long)], POLICIES[:2], runs=2, device="cuda")
    assert device.horizons == [long]


@pytest.mark.usefixtures("needs_batches")
def test_a_row_is_played_at_most_as_often_as_it_says(row: Make) -> None:
    assert play([row("one", horizon=12, max_runs=130)], POLICIES).runs.max() == 130
    assert play([row("one", horizon=12, max_runs=5)], POLICIES).runs.tolist() == [[5] * 3]


def test_an_interruption_of_a_device_keeps_the_finished_rows_and_begins_no_other_batch(
    row: Make, device: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of_three(row)
    whole = play(rows, POLICIES, runs=4, device="cuda")

    def two_then_stop(futures: dict[Any, Scenario]) -> Iterator[Any]:
        by_name = {futures[future].name: future for future in futures}
        for name in ("c", "a"):
            by_name[name].result()
            yield by_name[name]
        raise KeyboardInterrupt

    monkeypatch.setattr(RUNNER, "as_completed", two_then_stop)
    with pytest.raises(ArenaInterrupted, match=r"^interrupted after 2 of 3 scenarios\.$") as caught:
        play(rows, POLICIES, runs=4, device="cuda")
    assert caught.value.scores is not None
    assert_same(caught.value.scores, whole.select(lambda one: one.name in "ac"))

    def stop_at_once(futures: dict[Any, Scenario]) -> Iterator[Any]:
        threading.Timer(0.2, device.hold.set).start()
        raise KeyboardInterrupt
        yield

    device.hold.clear()
    device.horizons.clear()
    monkeypatch.setattr(RUNNER, "as_completed", stop_at_once)
    hard = [row(f"row-{number}", horizon=60) for number in range(3)]  # they would need a second batch
    with pytest.raises(ArenaInterrupted) as caught:
        play(hard, POLICIES, device="cuda")
    assert caught.value.scores is None
    assert device.horizons == [60] * 3
    assert device.now == 0  # nothing is left behind at work


def test_a_mistake_in_one_row_of_a_device_is_told(row: Make, device: SimpleNamespace) -> None:
    alike = {"rewards": {"law": "Bernoulli", "mean": 0.5, "repeat": 3}, "delays": {"law": "Fixed", "rounds": 0}}
    with pytest.raises(InvalidParameter, match="row 'alike'"):
        play([row("a"), row("alike", spec=alike), row("c")], POLICIES, device="cuda")
    assert device.now == 0


def test_all_policies_enter_a_row_together(row: Make) -> None:
    everybody = contestants()
    scores = play([row("one")], everybody, runs=2)
    assert len(scores.labels) == len(set(scores.labels)) == len(everybody)
    assert np.all(scores.ratio >= 1.0)
    assert scores.ratio.min() == 1.0
