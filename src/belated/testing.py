"""The contract of a policy as one call, for the tests of those who write one.

::

    from belated.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy(eps=0.2))

The built-in policies pass the same function. It needs no test framework."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.delays import Fixed, Geometric, Mixture, Never, PacketLoss, Pareto
from belated.engine.environment import Environment
from belated.live.bandit import Bandit
from belated.live.learner import Learner
from belated.policies import Policy
from belated.policies._base.encode import check_registered, supports_replacement, supports_retraction
from belated.policies._check.game import CheckedGame
from belated.policies._check.play import LONG_ROUNDS, check_code, check_play
from belated.policies._mistakes import location_of, policy_error
from belated.problem import Problem
from belated.rewards import Bernoulli, Beta, Categorical, Uniform
from belated.simulation.result import Result
from belated.simulation.simulate import simulate

HORIZON, RUNS, CORRECTIONS = 120, 2, 80
COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")


def default_problems() -> dict[str, Problem]:
    """The problems that :func:`check_policy` plays: every kind of delay and reward, one arm, many arms."""
    coins = [Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.72)]
    others = [Beta(2.0, 3.0), Uniform(0.1, 0.7), Bernoulli(0.55), Categorical([0.1, 0.25, 1.0], [0.3, 0.5, 0.2])]
    late = [Geometric(9), Pareto(0.5), Mixture([(2, Fixed(20)), (1, Never())]), PacketLoss(0.6)]
    return {
        "without delays": Problem(coins, Fixed(0)),
        "with a fixed delay": Problem(coins, Fixed(7)),
        "with random delays and losses": Problem(others, late),
        "without feedback": Problem(coins, Never()),
        "with one arm": Problem([Bernoulli(0.5)], Geometric(3)),
        "with many arms": Problem([Bernoulli(0.3 + 0.006 * arm) for arm in range(70)], Geometric(20)),
    }


def check_policy(
    policy: Policy, *, problems: Mapping[str, Problem] | None = None, horizon: int = HORIZON, seed: int = 0
) -> None:
    """Check that a policy keeps the contract of all policies; an error says what differs, and where.

    - As plain Python, every step of it is right: indices, numbers, arms, own randomness only (see
      :class:`~belated.errors.PolicyError`), with 1, 2, 3 and 7 arms.
    - Plain Python, the compiled simulator and a live bandit make the same choices on ``problems`` (name: problem; by
      default :func:`default_problems`), to the last bit.
    - The same seed gives the same result: again, with several threads, and with fewer runs.
    - A live bandit that is saved and restored goes on as if nothing had happened.
    - Where the policy supports it, pulls are retracted, feedback is replaced and arms are added. A reward that is
      replaced, or retracted with its pull, leaves nothing behind in the policy's memory and indices.

    >>> from belated.policies import UCB
    >>> check_policy(UCB(confidence=1.0), problems={"coins": Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(2))})
    """
    check_registered(policy)
    check_code(policy)
    knowing = policy.for_horizon(horizon)
    for arms in (1, 2, 3, 7):
        check_play(knowing, arms, horizon)
    check_play(policy.for_horizon(LONG_ROUNDS), 3, LONG_ROUNDS)
    for name, problem in (default_problems() if problems is None else problems).items():
        where = f"{policy!r} {name}"
        plain = [_play_plain(knowing, problem, horizon, seed, run) for run in range(RUNS)]
        _check_simulated(knowing, problem, plain, where, seed)
        _check_live(knowing, problem, plain[0], where, seed)
    if supports_retraction(policy):
        _check_corrections(knowing, seed)
    if supports_replacement(policy):
        _check_undone(knowing, seed)
    if policy.supports_new_arms and Learner(2, knowing, seed).supports_new_arms:
        _check_new_arms(knowing, seed)


def _clipped(bounds: tuple[float, ...]) -> tuple[float, ...]:
    """Bounds on a mean as a live bandit gives them."""
    return tuple(min(max(bound, 0.0), 1.0) for bound in bounds)


def _differ(where: str, what: str, first: Any, second: Any) -> AssertionError:
    """The error for two things that should be the same."""
    return AssertionError(f"{where}: {what}: {first} and {second}.")


# ---- plain Python, compiled, live ----


@dataclass
class _Record:
    """What happened in one run."""

    choices: list[int] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)
    arrivals: list[list[tuple[int, float]]] = field(default_factory=list)  # (pulled at, reward), before each round
    pulls: list[int] = field(default_factory=list)
    observed: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    eliminated_at: list[int] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)

    @property
    def in_flight(self) -> list[int]:
        return [m - n - gone for m, n, gone in zip(self.pulls, self.observed, self.lost, strict=True)]


def _play_plain(policy: Policy, problem: Problem, horizon: int, seed: int, run: int) -> _Record:
    """One run as plain, checked Python, with the rewards and delays of the simulator."""
    environment = Environment(problem, horizon=horizon, seed=seed, run=run)
    game = CheckedGame(policy, problem.arms, horizon, seed, run)
    arms = problem.arms
    record = _Record(pulls=[0] * arms, observed=[0] * arms, lost=[0] * arms)
    due: dict[int, list[tuple[int, float, int, int]]] = {}
    for now in range(1, horizon + 1):
        record.arrivals.append([])
        for arm, reward, rank, pulled_at in due.pop(now - 1, []):
            game.observe(arm, reward, rank, pulled_at)
            record.arrivals[-1].append((pulled_at, reward))
            record.observed[arm] += 1
        arm, rank = game.choose()
        reward, delay = environment.pull(arm, rank, now)
        record.choices.append(arm)
        record.pulls[arm] += 1
        if delay is None:
            record.lost[arm] += 1
        else:
            due.setdefault(now + delay, []).append((arm, reward, rank, now))
        record.curve.append(_regret(problem, record.pulls))
    for arm, *_ in due.pop(horizon, []):
        record.observed[arm] += 1
    record.eliminated_at = [int(at) for at in game.state.eliminated_at]
    record.bounds = [game.bounds(arm) for arm in range(arms)]
    return record


def _regret(problem: Problem, pulls: list[int]) -> float:
    total = 0.0
    for gap, count in zip(problem.gaps, pulls, strict=True):
        total += float(gap) * count
    return total


def _check_simulated(policy: Policy, problem: Problem, plain: list[_Record], where: str, seed: int) -> None:
    horizon = len(plain[0].choices)

    def play(runs: int, workers: int) -> Result:
        options: dict[str, Any] = {"seed": seed, "checkpoints": horizon, "progress": False, "check": False}
        return simulate(problem, policy, horizon=horizon, runs=runs, workers=workers, **options)

    result = play(RUNS, 1)
    for run, expected in enumerate(plain):
        unequal = np.flatnonzero(result.curves[0, run] != expected.curve)
        if unequal.size:
            now = int(unequal[0])
            raise _differ(
                where,
                f"plain Python and compiled code differ from round {now + 1} of run {run} on, where plain Python "
                f"chooses arm {expected.choices[now]}; regrets",
                expected.curve[now],
                result.curves[0, run, now],
            )
        for name in COUNTS:
            found = getattr(result, name)[0, run].tolist()
            if found != getattr(expected, name):
                what = f"{name} of run {run} in plain Python and in compiled code"
                raise _differ(where, what, getattr(expected, name), found)
    for other, how in ((play(RUNS, 1), "again"), (play(RUNS, 2), "in two threads"), (play(1, 1), "with fewer runs")):
        runs = other.curves.shape[1]
        if not np.array_equal(other.curves, result.curves[:, :runs]):
            means = result.curves[0, :runs].mean(), other.curves.mean()
            raise _differ(where, f"the same seed gives another result {how}; mean regrets", *means)


def _check_live(policy: Policy, problem: Problem, plain: _Record, where: str, seed: int) -> None:
    """A live bandit with the same feedback, which is saved and restored now and then."""
    names = [str(arm) for arm in range(problem.arms)]
    bandit = Bandit(names, policy, seed=seed)
    for number, arrived in enumerate(plain.arrivals):
        if number % 37 == 5:
            bandit = _restored(bandit, where)
        for pulled_at, reward in arrived:
            bandit.observe(pulled_at - 1, reward)
        chosen = int(bandit.choose().arm)
        if chosen != plain.choices[number]:
            what = f"plain Python and a live bandit choose different arms in round {number + 1}"
            raise _differ(where, what, plain.choices[number], chosen)
    summary = bandit.summary()
    gone = [-1 if arm.eliminated_at is None else arm.eliminated_at for arm in summary]
    if gone != plain.eliminated_at:
        raise _differ(where, "eliminated_at in plain Python and in a live bandit", plain.eliminated_at, gone)
    for arm, bounds in zip(summary, plain.bounds, strict=True):
        expected = _clipped(bounds)
        if (arm.lower, arm.upper) != expected:
            what = f"the bounds of arm {arm.arm} in plain Python and in a live bandit"
            raise _differ(where, what, expected, (arm.lower, arm.upper))


def _restored(bandit: Bandit, where: str) -> Bandit:
    data = json.loads(json.dumps(bandit.to_dict()))
    try:
        return Bandit.from_dict(data)
    except Exception as error:
        raise AssertionError(f"{where}: a saved bandit cannot be restored: {error}") from error


# ---- corrections ----


@dataclass
class _Pull:
    """A pull of a live policy that can be corrected."""

    arm: int
    rank: int
    number: int
    reward: float | None = None


def _history(learner: Learner, seed: int, steps: int) -> Iterator[tuple[str, _Pull, float]]:
    """Steps of a live service: (what to do, with which pull, with which reward)."""
    chance = random.Random(seed)
    replaces = supports_replacement(learner.policy)
    pulls: list[_Pull] = []
    for _ in range(steps):
        step = chance.choice(["decide", "decide", "observe", "observe", "replace", "retract"])
        pending = [pull for pull in pulls if pull.reward is None]
        known = [pull for pull in pulls if pull.reward is not None]
        reward = chance.choice([0.0, 1.0, chance.random()])
        if step == "observe" and pending:
            yield step, (pull := chance.choice(pending)), reward
            pull.reward = reward
        elif step == "replace" and known and replaces:
            yield step, (pull := chance.choice(known)), reward
            pull.reward = reward
        elif step == "retract" and (removable := pulls if replaces else pending):
            yield step, (pull := chance.choice(removable)), reward
            pulls.remove(pull)
        else:
            arm, rank = learner.decide()
            pulls.append(pull := _Pull(arm, rank, learner.decisions - 1))
            yield "decide", pull, reward


def _apply(learner: Learner, step: str, pull: _Pull, reward: float) -> None:
    if step == "observe":
        learner.observe(pull.arm, reward, pull.rank, pull.number)
    elif step == "replace" and pull.reward is not None:
        learner.replace_reward(pull.arm, pull.rank, pull.number, pull.reward, reward)
    elif step == "retract":
        learner.retract(pull.arm, pull.rank, pull.number, pull.reward)


def _check_corrections(policy: Policy, seed: int) -> None:
    """Retract pulls and replace feedback, compiled and in plain Python; a state that is saved is the state."""
    where, arms = f"{policy!r} with corrections", 3
    learner = Learner(arms, policy, seed)
    game = CheckedGame(policy, arms, policy.horizon, seed)
    for step, pull, reward in _history(learner, seed, CORRECTIONS):
        change = _change(learner, step, pull, reward)
        _apply(learner, step, pull, reward)
        if step == "decide":
            chosen = game.choose()
            if chosen != (pull.arm, pull.rank):
                what = f"plain Python and a live policy differ in decision {pull.number + 1}, (arm, rank)"
                raise _differ(where, what, chosen, (pull.arm, pull.rank))
        elif step == "observe":
            game.observe(pull.arm, reward, pull.rank, pull.number + 1)
        else:
            game.correct(pull.arm, pull.rank, pull.number + 1, *change)
        for arm in range(arms):
            found, expected = learner.bounds(arm)[:2], _clipped(game.bounds(arm))
            if found != expected:
                raise _differ(where, f"bounds of arm {arm} in plain Python and compiled, after {step}", expected, found)
    _check_saved(learner, where)


def _check_undone(policy: Policy, seed: int) -> None:
    """A reward that is replaced, or retracted with its pull, leaves nothing behind in the memory and the indices. What
    else was learnt from the feedback, such as its delay, may stay."""
    for rounds in range(1, 13):
        replaced = _after(policy, seed, rounds, 1.0, (0, 0.0, -0.75))
        at_once = _after(policy, seed, rounds, 0.25)
        _check_same_memory(policy, replaced, at_once, "feedback 1 is replaced by 0.25", "0.25 comes at once")
        first, second = (_after(policy, seed, rounds, x, (-1, -1.0, -x)) for x in (1.0, 0.25))
        _check_same_memory(policy, first, second, "a pull with feedback 1 is retracted", "its feedback was 0.25")


def _after(
    policy: Policy, seed: int, rounds: int, reward: float, correction: tuple[int, float, float] | None = None
) -> CheckedGame:
    """A short game, whose last pull has this feedback and is then corrected."""
    game = CheckedGame(policy, 3, policy.horizon, seed)
    arm, rank = game.choose()
    for now in range(1, rounds):
        game.observe(arm, now % 3 / 2.0, rank, now)
        arm, rank = game.choose()
    game.observe(arm, reward, rank, rounds)
    if correction is not None:
        game.correct(arm, rank, rounds, *correction)
    return game


def _check_same_memory(policy: Policy, corrected: CheckedGame, expected: CheckedGame, what: str, other: str) -> None:
    for name in ("memory",) if policy.cached_memory else ("memory", "score"):
        rows = None if name == "memory" else corrected.arms  # its last row is shared by all arms
        found, right = (np.asarray(getattr(game.state, name))[:rows] for game in (corrected, expected))
        differs = ~np.isclose(found, right, rtol=1e-9, atol=1e-9, equal_nan=True)
        if name == "memory":
            differs[:, list(policy.cached_memory)] = False
        wrong = np.argwhere(differs)
        if wrong.size:
            place = tuple(int(number) for number in wrong[0])
            raise policy_error(
                f"{type(policy).__name__}: after {what}, state.{name}[{', '.join(map(str, place))}] is "
                f"{found[place]:g}, and {right[place]:g} if {other}",
                location_of(type(policy).on_correction),
                "Let on_correction put right what on_feedback wrote to state.memory (it gets what to add to the pulls, "
                "the feedback and its sum); or set supports_retraction = False.",
            ) from None


def _change(learner: Learner, step: str, pull: _Pull, reward: float) -> tuple[int, float, float]:
    """What a correction adds to the pulls, the feedback and the sum of an arm."""
    if step == "replace" and pull.reward is not None:
        return 0, 0.0, learner.change_of_total(pull.arm, 0.0, reward - pull.reward)
    if pull.reward is None:
        return -1, 0.0, 0.0
    return -1, -1.0, learner.change_of_total(pull.arm, -1.0, -pull.reward)


def _check_saved(learner: Learner, where: str) -> None:
    """A copy from the saved state decides as the original does."""
    copy = Learner(learner.arms, learner.policy, learner.seed)
    copy.load(learner.to_bytes())
    choices = [learner.decide() for _ in range(10)]
    found = [copy.decide() for _ in range(10)]
    if found != choices:
        raise _differ(where, "(arm, rank) of a live policy and of its copy from the saved state", choices, found)


def _check_new_arms(policy: Policy, seed: int) -> None:
    """Add an arm to a live policy, twice in the same history; save it."""
    where = f"{policy!r} with a new arm"
    records = []
    for _ in range(2):
        learner = Learner(2, policy, seed)
        chosen: list[tuple[int, int]] = []
        for number in range(CORRECTIONS):
            if number == CORRECTIONS // 3:
                learner.add_arm()
            arm, rank = learner.decide()
            chosen.append((arm, rank))
            if number % 3:
                learner.observe(arm, float((arm + number) % 2), rank, number)
        records.append(chosen)
        for arm in range(learner.arms):
            learner.bounds(arm)
        _check_saved(learner, where)
    if records[0] != records[1]:
        raise _differ(where, "the same history gives other decisions, (arm, rank)", *records)
