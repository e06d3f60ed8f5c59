"""Play a policy of one's own as plain Python, every step checked, before it is compiled.

Compiled code checks nothing: an index out of bounds overwrites other numbers, 0/0 is NaN, and a cached index goes on
being used. So the code of a policy that is not built in is read (:mod:`belated.policies._check.scan`), and it plays
some hundred rounds (:mod:`belated.policies._check.game`) under several kinds of delay; a policy with statistics of its
own plays longer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from belated.errors import PolicyError
from belated.kernel.helpers import reached_functions
from belated.own_code import is_own
from belated.policies._base.changes import unchanged_code
from belated.policies._base.definition import kernel_methods
from belated.policies._base.encode import encode_policy, memory_size, supports_replacement, supports_retraction
from belated.policies._base.policy import Policy
from belated.policies._check.game import ROUNDS, CheckedGame, caches_indices, formula_of
from belated.policies._check.scan import reads, scan
from belated.policies._mistakes import location_of, missing_arm, policy_error

LONG_ROUNDS = 601
"""Rounds of the game of a policy that keeps statistics of its own."""
MAX_ARMS = 12
"""Games of problems with more arms are played with this many, if that goes well."""
MAX_ROUNDS_OF_ARMS = 61_000
"""Rounds times arms of a game that is played with more arms."""
MOST_TRIES = 8
"""How often a policy that uses an arm that does not exist plays again, with that arm."""

Delay = Callable[[random.Random], int | None]
"""Draws a delay; None is never."""
DELAYS: dict[str, Delay] = {
    "without delays": lambda _: 0,
    "with a fixed delay": lambda _: 3,
    "without any feedback": lambda _: None,
    "with random delays and losses": lambda chance: None if chance.random() < 0.2 else int(chance.random() ** 3 * 40),
}


def check_once(policy: Policy, arms: int, horizon: int | None, *, plays: bool = True) -> None:
    """Check a policy that is not built in, unless the same game was played before in this process; PolicyError if it is
    wrong, or changed since it was compiled, which is all that is tested without ``plays``."""
    if type(policy).is_built_in:
        return
    code = unchanged_code(type(policy))
    if not plays:
        return
    size, rounds = memory_size(policy, arms, horizon), min(ROUNDS, horizon or ROUNDS)
    key = type(policy), repr(policy), code, size, rounds
    if _checked.isdisjoint([(*key, arms), (*key, min(arms, MAX_ARMS))]):
        check_code(policy)
        _checked.add((*key, check_play(policy, arms, horizon)))


_checked: set[tuple[Any, ...]] = set()
"""What was checked, and with how many arms."""


def check_code(policy: Policy) -> None:
    """Read the code of the policy's methods and of all that they call."""
    cls: Any = type(policy)
    scan(cls, reached_functions(kernel_methods(cls)))
    if caches_indices(cls):
        for where in reads(reached_functions([cls.index, cls.upper, cls.bonus]), "now"):
            raise policy_error(
                f"{cls.__name__}.{formula_of(cls)} reads the round, arm.now, and is computed only when the arm is "
                "pulled or has feedback",
                where,
                'Leave arm.now out, such as by confidence="theory" for bounds valid at all times; or derive from '
                "Policy and compute all indices in choose(policy, state, now).",
            )


def check_play(policy: Policy, arms: int, horizon: int | None) -> int:
    """Play under each kind of delay, with at most MAX_ARMS arms; return with how many. A policy that has the number of
    an arm, or of all arms, among its parameters plays with as many as it needs, which counts as all."""
    fewer = playing = min(arms, MAX_ARMS)
    try:
        encode_policy(policy, playing), memory_size(policy, playing, horizon)
    except Exception:
        playing = arms
    for _ in range(MOST_TRIES):
        try:
            _check_games(policy, playing, horizon)
            return fewer if playing == fewer else arms
        except PolicyError as error:
            missing = missing_arm(error)
            if missing is None or not playing <= missing < arms:
                raise
            mistake, playing = error, missing + 1
    raise mistake  # it is wrong with any number of arms


def _check_games(policy: Policy, arms: int, horizon: int | None) -> None:
    """Play under each kind of delay, up to the horizon; under the last one twice, and longer if the policy keeps
    statistics of its own: their places may depend on the round, or on the rank of a pull."""
    rounds = min(max(ROUNDS, 3 * arms if arms > MAX_ARMS else 0), max(5, MAX_ROUNDS_OF_ARMS // arms))
    rounds = min(rounds, horizon or rounds)
    if str(encode_policy(policy, arms)) != str(encode_policy(policy, arms)):
        raise policy_error(
            f"{type(policy).__name__}.kernel_params gives other numbers when it is called again",
            location_of(type(policy).kernel_params),
            "Compute them from the policy's parameters and the number of arms alone: no random numbers, no time.",
        )
    if memory_size(policy, arms, horizon) > 0 and arms <= MAX_ARMS:
        _play(policy, arms, horizon, min(LONG_ROUNDS, horizon or LONG_ROUNDS), DELAYS["with a fixed delay"])
    for delay in DELAYS.values():
        record = _play(policy, arms, horizon, rounds, delay)
    if _play(policy, arms, horizon, rounds, delay) != record:
        raise policy_error(
            f"{type(policy).__name__} does not play the same game twice",
            location_of(type(policy).choose if is_own(type(policy).choose) else type(policy).upper),
            "Let its choices depend on state alone: no global variables that change, no randomness but that of "
            "word(state.key[0], state.key[1], now, j).",
        )


def _play(policy: Policy, arms: int, horizon: int | None, rounds: int, delay: Delay) -> list[Any]:
    """One game; a record of it. Where pulls can be retracted, some are."""
    chance = random.Random(1)
    game = CheckedGame(policy, arms, horizon)
    due: dict[int, list[tuple[int, float, int, int]]] = {}
    retracts, replaces = supports_retraction(policy), supports_replacement(policy)
    record: list[Any] = []
    for now in range(1, rounds + 1):
        for arm, reward, rank, pulled_at in due.pop(now - 1, []):
            game.observe(arm, reward, rank, pulled_at)
            if replaces and pulled_at % 7 == 3:
                game.correct(arm, rank, pulled_at, 0, 0.0, 0.5 - reward)
        arm, rank = game.choose()
        record.append(arm)
        late = delay(chance)
        if late is not None:
            due.setdefault(now + late, []).append((arm, float(chance.random() < 0.3 + 0.4 * arm / arms), rank, now))
        elif retracts and now % 5 == 0:
            game.correct(arm, rank, now, -1, 0.0, 0.0)
        if now % 16 == 0 or now == rounds:
            record += [game.bounds(each) for each in range(0, arms, -(-arms // MAX_ARMS))]
    return [*record, game.written()]
