"""Index policies: one formula; the arm with the largest index is pulled, ties go to the lowest number.

The index of an arm changes only when the arm is pulled or has feedback, so it is cached. With few arms, the leader is
kept with a bar that no other index exceeds, and searched for only when its own index falls to the bar. With many arms,
a winner tree makes a round cost O(log K); the bar is then NaN, which compares as neither above nor below.

A policy whose leader changes in nearly every round gains nothing from the bar: it may keep scores with ``store_score``
and search for the leader with ``scanned_leader`` when it chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base import interface
from belated.policies._base.policy import Policy, decides_as, ignores_pull_id
from belated.policies._base.state import Arm, Shape, State, view
from belated.policies._mistakes import location_of_class, policy_error

TREE_FROM = 65
"""From this number of arms on, a winner tree is faster than a scan."""

LEADER = 0
"""The register that holds the arm with the largest index."""


@inline
def rescore(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Recompute the cached index of an arm."""
    set_score(state, arm, interface.index(policy, view(state, arm, now)))


@inline
def clear_score(state: State, arm: Any) -> None:
    """Set the index of an arm that has no pulls (any more)."""
    set_score(state, arm, np.inf)


@inline
def set_score(state: State, arm: Any, score: Any) -> None:
    """Set the index of an arm, and change the leader if the arm takes or loses the lead."""
    state.score[arm] = score
    bar = state.score[state.arms + 1]
    leads = np.int64(arm == np.uint32(state.register[LEADER]))
    falls = np.int64(not score > bar)
    rises = np.int64(not score < bar)
    if rises + leads * (falls - rises) != 0:  # falls if it leads, else rises: one branch, rarely taken
        _change_leader(state, arm, score)


@inline
def _change_leader(state: State, arm: Any, score: Any) -> None:
    """The leader fell to the bar, another arm rose to it, or the bar is NaN because there is a tree."""
    leader = np.uint32(state.register[LEADER])
    if state.winner.shape[0] > 0:
        if arm < state.arms:
            _replay(state, arm, score)
            state.register[LEADER] = state.winner[1]
    elif arm == leader:
        _find_leader(state)
    else:
        ahead = state.score[leader]
        if score > ahead or (score == ahead and arm < leader):
            state.register[LEADER] = arm
            score = ahead
        state.score[state.arms + 1] = score


@inline
def _find_leader(state: State) -> None:
    """Find the largest score, the first of equals, and the second largest: the bar that the others do not exceed."""
    arms = np.uint32(state.arms)
    best = state.score[0]
    bar = -np.inf
    leader = np.uint32(0)
    arm = np.uint32(1)
    while arm < arms:  # without a range: half as much code on a GPU
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
def store_score(state: State, arm: Any, score: Any) -> None:
    """Set the index of an arm, for ``scanned_leader``."""
    if state.winner.shape[0] > 0:
        set_score(state, arm, score)
    else:
        state.score[arm] = score


@inline
def scanned_leader(state: State) -> Any:
    """The arm with the largest score, the first of equals: of few arms without a branch, four at a time, so that few
    comparisons wait for each other."""
    if state.winner.shape[0] > 0:
        return state.register[LEADER]
    arms = np.uint32(state.arms)
    best = -np.inf
    leader = np.uint32(0)
    arm = np.uint32(0)
    while arm + np.uint32(3) < arms:
        here, score = _larger(state, arm, arm + np.uint32(1))
        other, other_score = _larger(state, arm + np.uint32(2), arm + np.uint32(3))
        here = other if other_score > score else here
        score = other_score if other_score > score else score
        leader = here if score > best else leader
        best = score if score > best else best
        arm += np.uint32(4)
    while arm < arms:
        score = state.score[arm]
        leader = arm if score > best else leader
        best = score if score > best else best
        arm += np.uint32(1)
    return np.int64(leader)


@inline
def _larger(state: State, first: Any, second: Any) -> Any:
    """(the arm with the larger score, its score)."""
    above = state.score[second] > state.score[first]
    return second if above else first, state.score[second] if above else state.score[first]


@inline
def _replay(state: State, arm: Any, score: Any) -> None:
    """Replay the matches of ``arm`` from its leaf upwards, until one that it neither won before nor wins now."""
    arms = state.arms
    leaves = state.winner.shape[0]
    child = leaves + arm
    ahead = np.int64(arm)  # the winner below ``node`` on this side
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
    """A policy that pulls each arm once, then the arm with the largest index, ties to the lowest number.

    Override :meth:`index`, or :meth:`upper`, which is the index otherwise. Set ``reads_pulls = False`` if the index
    depends only on feedback."""

    supports_retraction = True
    supports_new_arms = True

    @classmethod
    def _derive_flags(cls) -> None:
        super()._derive_flags()
        if cls.index is IndexPolicy.index and cls.upper is Policy.upper:
            raise policy_error(
                f"{cls.__name__} has no formula",
                location_of_class(cls),
                "Write a static method index(policy, arm) or upper(policy, arm), or derive from ConfidencePolicy, too.",
            )
        by_feedback = hasattr(cls, "index_at") and not cls.reads_pulls
        # a policy from outside the package might read the round
        cls.changes_on_feedback_only = by_feedback and cls.is_built_in and decides_as(cls, IndexPolicy)

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        """The index of an arm that was pulled at least once: its upper bound, unless a policy overrides this.

        It is computed when the arm is pulled or has feedback, and cached in between: it must not depend on the round in
        another way."""
        return interface.upper(policy, arm)

    @classmethod
    def shape(cls) -> Shape:
        return Shape(scored=True, tree_from=TREE_FROM)

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
            clear_score(state, arm)
