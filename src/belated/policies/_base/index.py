"""Index policies: one formula; the arm with the largest index is pulled, ties go to the lowest number.

The index of an arm changes only when the arm is pulled or answered, so it is cached. Few arms: the leader is remembered
with a bar that no other arm's index is above, and is looked for only when its own index falls to the bar. Many arms: a
winner tree, so that a round costs O(log K); the bar is then NaN, which no index is above or below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base import interface
from belated.policies._base.policy import Policy, decides_as, ignores_pull_id, is_built_in
from belated.policies._base.state import Arm, Shape, State, view

TREE_FROM = 65
"""From this many arms on a winner tree is faster than a scan."""

LEADER = 0
"""The register that holds the arm with the largest index."""


@inline
def rescore(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Recompute the cached index of an arm."""
    set_score(state, arm, interface.index(policy, view(state, arm, now)))


@inline
def forget(state: State, arm: Any) -> None:
    """An arm is as if it had never been pulled."""
    set_score(state, arm, np.inf)


@inline
def set_score(state: State, arm: Any, score: Any) -> None:
    """An arm has another index: see whether it takes or loses the lead."""
    state.score[arm] = score
    bar = state.score[state.arms + 1]
    leads = np.int64(arm == np.uint32(state.register[LEADER]))
    falls = np.int64(not score > bar)
    rises = np.int64(not score < bar)
    if rises + leads * (falls - rises) != 0:  # falls if it leads, else rises: one branch, seldom taken
        _change_leader(state, arm, score)


@inline
def _change_leader(state: State, arm: Any, score: Any) -> None:
    """The leader fell to the bar, or another arm rose to it, or the bar is NaN: there is a tree."""
    leader = np.uint32(state.register[LEADER])
    if state.winner.shape[0] > 0:
        if arm < state.arms:
            _replay(state, arm, score)
            state.register[LEADER] = state.winner[1]
    elif arm == leader:
        _look_for_leader(state)
    else:
        ahead = state.score[leader]
        if score > ahead or (score == ahead and arm < leader):
            state.register[LEADER] = arm
            score = ahead
        state.score[state.arms + 1] = score


@inline
def _look_for_leader(state: State) -> None:
    """Find the largest score, the first of equals, and the second largest: the bar that the others do not pass."""
    arms = np.uint32(state.arms)
    best = state.score[0]
    bar = -np.inf
    leader = np.uint32(0)
    arm = np.uint32(1)
    while arm < arms:  # no range: a GPU's compiler makes half the code of it
        score = state.score[arm]
        above = score > best
        second = best if above else score
        leader = arm if above else leader
        best = score if above else best
        bar = second if second > bar else bar
        arm += np.uint32(1)
    state.register[LEADER] = leader
    state.score[arms + np.uint32(1)] = bar


@inline
def _replay(state: State, arm: Any, score: Any) -> None:
    """Play the matches of ``arm`` again, from its leaf upwards, until one that it neither won before nor wins now."""
    arms = state.arms
    leaves = state.winner.shape[0]
    child = leaves + arm
    ahead = np.int64(arm)  # the winner below ``node`` on our side
    node = child >> 1
    while node > 0:
        holder = np.int64(state.winner[node])
        if holder == arm:
            rival_node = child ^ 1
            rival = rival_node - leaves if rival_node >= leaves else np.int64(state.winner[rival_node])
            if rival < arms:
                rival_score = state.score[rival]
                if rival_score > score or (rival_score == score and rival < ahead):
                    ahead = rival
                    score = rival_score
            state.winner[node] = ahead
        else:
            held = state.score[holder]
            if ahead != arm or not (score > held or (score == held and arm < holder)):
                return
            state.winner[node] = arm
        child = node
        node = child >> 1


@dataclass(frozen=True, kw_only=True)
class IndexPolicy(Policy):
    """A policy that is one formula: override :meth:`index`, and ``reads_pulls`` if the index depends on answers
    alone."""

    supports_retraction = True
    supports_new_arms = True

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        of_answers = hasattr(cls, "index_at") and not cls.reads_pulls
        cls.changes_on_feedback_only = (
            of_answers and decides_as(cls, IndexPolicy) and is_built_in(cls)
        )  # another may read the round

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        """The index of an arm that was pulled at least once: its upper bound, if a policy says nothing else.

        It is computed when the arm is pulled or answered and kept in between, so it must not depend on the round
        otherwise."""
        return interface.upper(policy, arm)

    @classmethod
    def shape(cls) -> Shape:
        return Shape(scored=True, tree_from=TREE_FROM, memory=cls.memory)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return state.register[LEADER]

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        if rank == 0 or interface.reads_pulls(policy):
            rescore(policy, state, arm, now)

    @staticmethod
    @ignores_pull_id
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        rescore(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        if state.pulls[arm] > 0:
            rescore(policy, state, arm, now)
        else:
            forget(state, arm)
