"""One run round by round: what the policy pulled, what it got, and when it knew."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from belated.engine.environment import Environment
from belated.errors import NotReproducible
from belated.formatting import plural, quantity
from belated.html_table import html_table
from belated.kernel.jit import ignore_overflow
from belated.kernel.rng import run_key, seed_words
from belated.policies import Policy
from belated.policies._base import entry_points
from belated.policies._base.encode import encode_policy, memory_size
from belated.policies._base.state import State, allocate
from belated.policies._check.run_errors import no_such_arm, short_errors
from belated.problem import Problem
from belated.rewards._base import in_unit

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from belated.simulation.animation import Animation
    from belated.simulation.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One run of one policy, round by round: T rounds, K arms. Element t - 1 of an array is round t.

    The feedback of round s with delay d is known at the end of round s + d, so that the policy can use it from round
    s + d + 1 on."""

    label: str
    """The policy."""
    run: int
    """The number of the run."""
    arm: npt.NDArray[np.int64]
    """(T,) the arm that was pulled."""
    reward: npt.NDArray[np.float64]
    """(T,) its reward, also where the policy never learns it. In units other than [0, 1] it is rounded to 14 digits of
    the largest number of the problem's scale."""
    delay: npt.NDArray[np.float64]
    """(T,) the delay of the feedback in rounds; inf if it never comes."""
    eliminated_at: npt.NDArray[np.int64]
    """(K,) the first round without the arm; -1 if it was never eliminated."""
    gaps: npt.NDArray[np.float64]
    """(K,) the best mean minus that of each arm, in the problem of this run."""

    @property
    def horizon(self) -> int:
        """T, the number of rounds."""
        return int(self.arm.size)

    @cached_property
    def round(self) -> npt.NDArray[np.int64]:
        """(T,) 1, 2, ..., T."""
        return np.arange(1, self.horizon + 1)

    @cached_property
    def known_at(self) -> npt.NDArray[np.float64]:
        """(T,) the round at whose end the feedback is known, also if that is after the horizon; inf if never."""
        return self.round + self.delay

    @cached_property
    def pending(self) -> npt.NDArray[np.int64]:
        """(T,) how many rounds have feedback that is still to come, at the end of each round; what is lost counts."""
        known = self.known_at[self.known_at <= self.horizon].astype(np.int64)
        return self.round - np.cumsum(np.bincount(known, minlength=self.horizon + 1))[1:]

    @cached_property
    def pulls(self) -> npt.NDArray[np.int64]:
        """(K,) pulls of each arm."""
        return np.bincount(self.arm, minlength=self.gaps.size)

    @cached_property
    def observed(self) -> npt.NDArray[np.int64]:
        """(K,) pulls of each arm whose feedback was known at the horizon."""
        return np.bincount(self.arm[self.known_at <= self.horizon], minlength=self.gaps.size)

    @cached_property
    def regret(self) -> npt.NDArray[np.float64]:
        """(T,) pseudo-regret at the end of each round."""
        total = np.zeros(self.horizon)
        for arm, gap in enumerate(self.gaps):  # in the engine's order
            total += gap * np.cumsum(self.arm == arm)
        return total

    def to_frame(self) -> pandas.DataFrame:
        """One row for each round: round, arm, reward, delay, known_at, pending, regret."""
        import pandas

        names = ("round", "arm", "reward", "delay", "known_at", "pending", "regret")
        return pandas.DataFrame({name: getattr(self, name) for name in names})

    def plot(self, first: int = 1, last: int | None = None) -> Figure:
        """Feedback on its way: a line for each pull from its round to that in which it is known, arm by arm, and below
        it how much is pending. ``first`` and ``last`` are the rounds to show."""
        from belated.simulation.trace_figures import plot_trace

        return plot_trace(self, first, last)

    def animate(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        first: int = 1,
        last: int | None = None,
        frames: int = 60,
        frames_per_second: int = 12,
    ) -> Animation:
        """A moving picture of feedback in flight, as a GIF: a notebook plays it, ``path`` is the file it is written to.

        ``frames`` frames show the rounds from ``first`` to ``last``.
        """
        from belated.simulation.animation import animate

        return animate(self, path, first, last, frames, frames_per_second)

    def __repr__(self) -> str:
        return f"<Trace of {self.label}, run {self.run:,}: {plural(self.horizon, 'round')}, {self._counts()}>"

    def _counts(self) -> str:
        lost = int(np.isinf(self.delay).sum())
        return (
            f"{int(self.observed.sum()):,} observed, {int(self.pending[-1]) - lost:,} in flight, {lost:,} lost, "
            f"regret {quantity(float(self.regret[-1]))}"
        )

    def _repr_html_(self) -> str:
        shown = sorted({*range(min(self.horizon, 8)), self.horizon - 1})
        rows = []
        for place in shown:
            known = self.known_at[place]
            when = "never" if np.isinf(known) else f"{known:,.0f}"
            numbers = [f"{self.round[place]:,}", str(self.arm[place]), f"{self.reward[place]:.4g}"]
            delay = "never" if np.isinf(known) else f"{self.delay[place]:,.0f}"
            rows.append([*numbers, delay, when, f"{self.pending[place]:,}", quantity(float(self.regret[place]))])
        columns = ["round", "arm", "reward", "delay", "known at", "pending", "regret"]
        title = f"{self.label}, run {self.run:,}: {plural(self.horizon, 'round')}"
        return html_table(
            title, columns, rows, note=self._counts(), text_columns=0, hidden=max(self.horizon - len(shown), 0)
        )


def trace_run(result: Result, policy: str | int, run: int) -> Trace:
    """Replay one run of a result, and make sure that it came out as it did then."""
    number = result.policy_number(policy)
    problem, chosen = result.problem_of_run(run), result.policies[number]
    manifest = result.manifest
    trace = replay(problem, chosen, result.labels[number], result.horizon, manifest.seed, run, manifest.shuffle)
    same = (
        np.array_equal(trace.pulls, result.pulls[number, run])
        and np.array_equal(trace.observed, result.observed[number, run])
        and np.array_equal(trace.eliminated_at, result.eliminated_at[number, run])
        and trace.regret[-1] == result.final[number, run]
    )
    if not same:
        raise NotReproducible(
            f"run {run} of {result.labels[number]} comes out differently now: problem, policy or package have changed "
            f"since the result was made by belated {result.manifest.version}. Simulate again, then trace."
        )
    return trace


def replay(
    problem: Problem, policy: Policy, label: str, horizon: int, seed: int, run: int, shuffle: bool = False
) -> Trace:
    """Play run number ``run`` one round at a time, with the functions by which a live bandit decides."""
    environment = Environment(problem, horizon=horizon, seed=seed, run=run, shuffle=shuffle)
    order = np.array(environment.order)  # the problem's arm of each of the policy's
    decide = entry_points.entry_for(entry_points.decide, type(policy))
    add_feedback = entry_points.entry_for(entry_points.add_feedback, type(policy))
    parameters, state = encode_policy(policy, problem.arms), _state(policy, problem.arms, horizon, seed, run)
    arms, rewards = np.empty(horizon, np.int64), np.empty(horizon)
    delays = np.full(horizon, np.inf)
    due: dict[int, list[tuple[int, float, int, int]]] = defaultdict(list)  # by the round at whose end it is known
    with ignore_overflow(), short_errors(policy):
        for now in range(1, horizon + 1):
            for arm, reward, rank, pulled_at in due.pop(now - 1, ()):
                add_feedback(parameters, state, arm, reward, rank, pulled_at, now)
            arm, rank = (int(number) for number in decide(parameters, state, now))
            if arm < 0:
                raise no_such_arm(policy, problem.arms)
            reward, delay = environment.pull(arm, rank, now)
            arms[now - 1], rewards[now - 1] = arm, reward
            if delay is not None:
                delays[now - 1] = delay
                if now + delay < horizon:
                    due[now + delay].append((arm, reward, rank, now))
    eliminated = np.empty(problem.arms, np.int64)
    eliminated[order] = state.eliminated_at[: problem.arms]
    return Trace(label, run, order[arms], in_unit(rewards, problem.scale), delays, eliminated, problem.gaps)


def _state(policy: Policy, arms: int, horizon: int, seed: int, run: int) -> State:
    """The state of a policy before the first round of a run."""
    state = allocate(arms, policy.shape(), memory_size(policy, arms, horizon))[0]
    words: Any = seed_words(seed)
    with ignore_overflow():
        entry_points.begin(state, words)
        state.key[0], state.key[1] = run_key(words[2], words[3], run)
    return state
