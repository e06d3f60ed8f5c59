"""One run round by round is the run that the engine played, to the bit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from belated import Problem, Result, simulate
from belated.delays import Batch, ByReward, Fixed, Geometric, Mixture, Never, PacketLoss, Pareto
from belated.errors import InvalidParameter, NotReproducible
from belated.policies import UCB, PendingUCB, Policy, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta, Scaled
from belated.simulation.trace import Trace
from families import drawn
from new_user import QPMD
from support.policies import selected, variants_of

PROBLEMS: dict[str, Any] = {
    "one delay": Problem([Bernoulli(0.6), Bernoulli(0.4), Bernoulli(0.5)], Fixed(7)),
    "random": Problem([Bernoulli(0.3), Bernoulli(0.7)], [Geometric(9), Mixture([(0.7, Pareto(0.7)), (0.3, Never())])]),
    "by reward": Problem([Beta(2, 3), Beta(3, 2)], ByReward(lambda reward: Fixed(int(20 * reward)))),
    "batches": Problem([Bernoulli(0.3), Bernoulli(0.7)], [Batch(13, offset=4), PacketLoss(0.5)]),
    "family": drawn,
}


def same_as_engine(result: Result, number: int, run: int) -> None:
    """The run as the trace tells it, against all that the result keeps of it."""
    trace = result.trace(number, run)
    rounds = np.arange(1, result.horizon + 1)
    assert trace.round.tolist() == rounds.tolist()
    assert np.array_equal(trace.pulls, result.pulls[number, run])
    assert np.array_equal(trace.observed, result.observed[number, run])
    assert np.array_equal(trace.eliminated_at, result.eliminated_at[number, run])
    lost = np.bincount(trace.arm[np.isinf(trace.delay)], minlength=trace.gaps.size)
    assert np.array_equal(lost, result.lost[number, run])
    assert trace.regret[-1] == result.final[number, run]
    assert np.array_equal(trace.regret[result.rounds - 1], result.curves[number, run])
    known = np.sort(trace.known_at)
    expected = [int(now - np.searchsorted(known, now, side="right")) for now in rounds]
    assert trace.pending.tolist() == expected


@pytest.mark.parametrize("policy", selected(), ids=lambda policy: policy.__name__)
def test_a_trace_is_the_run_of_the_engine(policy: type[Policy]) -> None:
    variants = variants_of(policy)
    for place, problem in enumerate(PROBLEMS.values()):
        result = simulate(problem, variants[place % len(variants)], horizon=90, runs=3, seed=place)
        for run in (0, 2):
            same_as_engine(result, 0, run)


def test_rewards_are_shown_as_they_were_stated() -> None:
    arms = [Scaled(Bernoulli(0.6), 0, 50), Scaled(Bernoulli(0.3), 0, 10)]
    problem = Problem(arms, Fixed(3), reward_range=(-10, 60))
    rewards = simulate(problem, UCB(), horizon=200, runs=1).trace().reward
    assert set(rewards.tolist()) == {0.0, 10.0, 50.0}
    assert set(problem.sample(0, 100, seed=1)[0].tolist()) == {0.0, 50.0}
    third = Problem([Scaled(Bernoulli(0.5), -0.1, 1 / 3)], Fixed(0))
    assert set(third.sample(0, 100, seed=1)[0].tolist()) == {-0.1, 1 / 3}, "the ends are exact"


def test_shuffled_arms_have_the_numbers_of_the_problem() -> None:
    policies = [UCB(confidence=1.0), SuccessiveElimination(confidence=0.1), ThompsonSampling()]
    for problem in PROBLEMS.values():
        result = simulate(problem, policies, horizon=90, runs=4, shuffle=True)
        for number in range(3):
            same_as_engine(result, number, 3)


@pytest.mark.parametrize("policy", [PendingUCB(confidence=1.0), QPMD()], ids=["constant", "by the horizon"])
def test_policies_with_memory_are_traced_to_the_end(policy: Policy) -> None:
    result = simulate(PROBLEMS["random"], policy, horizon=5000, runs=1, check=False)
    same_as_engine(result, 0, 0)


def test_a_saved_result_is_traced(tmp_path: Path) -> None:
    result = simulate(PROBLEMS["random"], UCB(confidence=1.0), horizon=60, runs=2)
    again = Result.load(result.save(tmp_path / "kept"))
    assert np.array_equal(again.trace("UCB", 1).arm, result.trace("UCB", 1).arm)


def test_another_run_than_that_of_the_result_is_an_error() -> None:
    result = simulate(PROBLEMS["random"], UCB(confidence=1.0), horizon=60, runs=2)
    result.pulls[0, 1, 0] += 1
    with pytest.raises(NotReproducible, match="run 1 of UCB comes out differently now"):
        result.trace(0, 1)


@pytest.fixture(scope="module")
def trace() -> Trace:
    result = simulate(PROBLEMS["random"], SuccessiveElimination(confidence=0.1), horizon=200, runs=3)
    return result.trace("SE", 2)


def test_the_table_has_a_row_for_each_round(trace: Trace) -> None:
    frame = trace.to_frame()
    assert list(frame.columns) == ["round", "arm", "reward", "delay", "known_at", "pending", "regret"]
    assert len(frame) == 200
    assert (frame["known_at"] == frame["round"] + frame["delay"]).all()
    assert repr(trace).startswith("<Trace of SE, run 2: 200 rounds, ")
    assert trace._repr_html_().count("<tr") == 11


def test_the_picture_shows_each_pull_and_the_eliminations(trace: Trace) -> None:
    flights, pending = trace.plot(first=1, last=100).axes
    assert len(flights.collections[0].get_segments()) == 100  # type: ignore[attr-defined]
    assert flights.get_xlim() == (0.5, 100.5)
    gone = [at for at in trace.eliminated_at if 1 <= at <= 100]
    assert len(gone) == 1
    assert [text.get_text() for text in flights.texts] == [f"eliminated in round {gone[0]}"]
    assert pending.get_lines()[0].get_ydata().tolist() == trace.pending[:100].tolist()  # type: ignore[union-attr]
    with pytest.raises(InvalidParameter, match="last round that is not before the first"):
        trace.plot(first=9, last=3)


def test_the_moving_picture_is_a_gif(trace: Trace, tmp_path: Path) -> None:
    animation = trace.animate(tmp_path / "run.gif", last=40, frames=4)
    assert (tmp_path / "run.gif").read_bytes() == animation.gif
    picture = Image.open(io.BytesIO(animation.gif))
    assert (picture.format, picture.n_frames) == ("GIF", 4)  # type: ignore[attr-defined]
    frames = []
    for number in range(4):
        picture.seek(number)
        frames.append(np.asarray(picture.convert("RGB")).astype(int))
    coloured = [int((np.ptp(frame, axis=2) > 60).sum()) for frame in frames]
    assert coloured == sorted(coloured)  # more pulls are on their way, or have arrived
    assert coloured[0] < coloured[-1]
    assert (frames[0][0, 0] == 255).all()
    assert animation._repr_html_().startswith("<img ")
    assert repr(animation).startswith("<Animation of SE, run 2: 4 frames, ")
    with pytest.raises(InvalidParameter, match=r"ends with \.gif"):
        animation.save(tmp_path / "run.mp4")


def test_runs_that_are_not_there_are_refused() -> None:
    result = simulate(PROBLEMS["random"], UCB(confidence=1.0), horizon=20, runs=2)
    with pytest.raises(InvalidParameter, match="run is 2; give a whole number from 0 to 1"):
        result.trace(0, 2)
