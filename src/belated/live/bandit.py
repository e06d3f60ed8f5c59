"""The live bandit: a policy that makes decisions one at a time while feedback is pending."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, overload

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.errors import (
    BelatedError,
    BelatedWarning,
    ConfigurationError,
    ConflictingFeedback,
    StateError,
    UnknownDecision,
    UnknownName,
)
from belated.formatting import plural
from belated.html_table import cut, html_table
from belated.kernel.rng import check_seed, fresh_seed
from belated.live.arm_names import check_arms, restore_arms, save_arms
from belated.live.learner import Learner, pack_events
from belated.live.types import (
    UNIT_RANGE,
    ArmSummary,
    Decision,
    Name,
    check_reward,
    check_same_reward,
    feedback_pairs,
)
from belated.policies import Policy, default_policy
from belated.policies._base.entry_points import DECIDED, NO_REWARD, OBSERVED
from belated.policies._base.names import superseded_note
from belated.specs.laws import policy_spec, read_policy
from belated.validation import check_integer, check_range, is_integer

FORMAT, NAMED_BY_OBJECTS = 1, 2
"""Versions of the format of a saved bandit: with arms that are strings, as 0.1.0 wrote it, and with others."""


class Bandit(Generic[Name]):
    """A live bandit. Choose arms, and report rewards later, in any order, or never.

    Feedback is accepted at any time, once for each decision; the same feedback again changes nothing, nor does a
    refused call.

    Parameters
    ----------
    arms
        The names of the arms: strings, or any other hashable objects, each once. Decisions refer to arms by these
        objects.
    policy
        The policy; by default :func:`belated.policies.default_policy`, for every kind of delay. Its
        horizon may be unknown.
    seed
        Determines the policy's random choices: the same seed and feedback give the same decisions. By default it is
        drawn from the operating system's entropy, and kept in ``seed`` and in what :meth:`to_dict` returns.
    reward_range
        (low, high), in which rewards lie: revenues in euros, say. Means and bounds are in the same unit; the policy
        meets rewards mapped to [0, 1].

    Examples
    --------
    >>> from belated.policies import UCB
    >>> bandit = Bandit(["red", "green"], UCB())
    >>> first, second = bandit.choose(), bandit.choose()
    >>> first.arm, second.arm
    ('red', 'green')
    >>> bandit.observe(second.id, 1.0)
    >>> [(arm.arm, arm.pulls, arm.observed, arm.pending) for arm in bandit.summary()]
    [('red', 1, 0, 1), ('green', 1, 1, 0)]
    >>> shop = Bandit(["9.90", "12.90"], UCB(confidence=1.0), reward_range=(0, 50))
    >>> shop.observe(shop.choose().id, 19.8)
    >>> shop.summary()[0].mean, shop.summary()[0].upper
    (19.8, 50.0)
    """

    def __init__(
        self,
        arms: Sequence[Name],
        policy: Policy | None = None,
        *,
        seed: int | None = None,
        reward_range: tuple[float, float] = UNIT_RANGE,
    ) -> None:
        self._begin(arms, default_policy() if policy is None else policy, seed, reward_range)
        if note := superseded_note(type(self.policy)):
            BelatedWarning.issue(f"{note} Use {self.policy.superseded_by}, or give no policy for the default.")

    def _begin(self, arms: Sequence[Name], policy: Policy, seed: int | None, reward_range: tuple[float, float]) -> None:
        """Begin without a decision; a bandit that is restored begins here, without a warning."""
        self.arms = check_arms(arms)
        self.reward_range = check_range("reward_range", reward_range)
        self._learner = Learner(len(self.arms), policy, fresh_seed() if seed is None else seed, self.reward_range)
        self.policy, self.seed = self._learner.policy, self._learner.seed
        self._arm_of = array("i")  # by decision
        self._rank_of = array("q")  # by decision: how often its arm was pulled before
        self._reward_of = array("d")  # by decision; NaN while it is pending
        self._observed = array("q")  # the decisions with feedback, in the order of the feedback
        self._decisions_before = array("q")  # by feedback: how many decisions were made before it came

    @property
    def decisions(self) -> int:
        """How many decisions were made."""
        return len(self._arm_of)

    @property
    def pending(self) -> int:
        """How many decisions have no feedback yet."""
        return self.decisions - len(self._observed)

    @overload
    def choose(self) -> Decision[int, Name]: ...

    @overload
    def choose(self, n: int) -> list[Decision[int, Name]]: ...

    def choose(self, n: int | None = None) -> Decision[int, Name] | list[Decision[int, Name]]:
        """Make the next decision, or several.

        Parameters
        ----------
        n
            How many decisions, without feedback in between, as a list; by default a single one.
        """
        if n is None:
            return self._choose_one()
        return [self._choose_one() for _ in range(check_integer("n", n, 0))]

    def _choose_one(self) -> Decision[int, Name]:
        arm, rank = self._learner.decide()
        self._arm_of.append(arm)
        self._rank_of.append(rank)
        self._reward_of.append(math.nan)
        return Decision(self.decisions - 1, self.arms[arm])

    def observe(self, id: int, reward: float) -> None:
        """Report the reward of a decision. The same reward again counts once; another one is an error.

        Parameters
        ----------
        id
            The id of the decision.
        reward
            Its reward, a number in the ``reward_range`` of the bandit, [0, 1] by default.
        """
        number, value = self._checked(id, reward)
        if math.isnan(self._reward_of[number]):
            self._record(number, value)

    def observe_many(self, feedback: Mapping[int, float] | Iterable[tuple[int, float]]) -> int:
        """Report many rewards: all, or none after an error. Return how many were new.

        Parameters
        ----------
        feedback
            ``{id: reward, ...}``, or (id, reward) pairs, in the order in which they count.
        """
        new: dict[int, float] = {}
        for id, reward in feedback_pairs(feedback):
            number, value = self._checked(id, reward)
            check_same_reward(id, value, new.get(number, value))
            if math.isnan(self._reward_of[number]):
                new[number] = value
        for number, value in new.items():
            self._record(number, value)
        return len(new)

    def _checked(self, id: Any, reward: Any) -> tuple[int, float]:
        """Return the decision's number and the reward, or raise the error."""
        if not is_integer(id) or not 0 <= id < self.decisions:
            made = f"decisions from 0 to {self.decisions - 1}" if self.decisions else "no decision yet"
            raise UnknownDecision(
                f"there is no decision {id!r}: this bandit has made {made}. Give the id of a decision that choose() "
                "returned."
            )
        number, value = int(id), check_reward(id, reward, self.reward_range)
        before = self._reward_of[number]
        if not math.isnan(before) and before != value:
            raise ConflictingFeedback(
                f"decision {id} already has the reward {before!r}, not {value!r}; report one reward per decision."
            )
        return number, value

    def _record(self, number: int, value: float) -> None:
        self._learner.observe(self._arm_of[number], value, self._rank_of[number], number)
        self._reward_of[number] = value
        self._observed.append(number)
        self._decisions_before.append(self.decisions)

    def summary(self) -> list[ArmSummary[Name]]:
        """Statistics of each arm."""
        return self._learner.summary(self.arms)

    def __repr__(self) -> str:
        counts = f"{plural(self.decisions, 'decision')}, {self.pending:,} pending"
        return f"<Bandit of {plural(len(self.arms), 'arm')}, {self.policy.describe()}: {counts}>"

    def _repr_html_(self) -> str:
        shown, hidden = cut(len(self.arms))
        rows = []
        for arm in (self._learner.arm_summary(number, self.arms[number]) for number in shown):
            bounds = f"{arm.lower:.3f} to {arm.upper:.3f}"
            state = "active" if arm.eliminated_at is None else f"out since decision {arm.eliminated_at:,}"
            counts = [f"{count:,}" for count in (arm.pulls, arm.observed, arm.pending)]
            means = (arm.mean, *((arm.corrected_mean, arm.dependence) if self.policy.corrects_mean else ()))
            rows.append([str(arm.arm), state, *counts, *("" if x is None else f"{x:.3f}" for x in means), bounds])
        correction = ["corrected mean", "dependence"] if self.policy.corrects_mean else []
        columns = ["arm", "state", "pulls", "observed", "pending", "mean", *correction, "bounds"]
        title = f"{self.policy.describe()}: {plural(self.decisions, 'decision')}, {self.pending:,} pending"
        note = "means and bounds of observed rewards"
        if correction:
            note = (
                "mean of observed rewards; the mean as the policy takes it, with bounds; how sure it is, from 0 to 1, "
                "that delays depend on rewards"
            )
        return html_table(title, columns, rows, note=note, text_columns=2, hidden=hidden)

    def to_dict(self) -> dict[str, Any]:
        """The whole history as plain data for JSON: the arms of the decisions, and the feedback in its order.

        A feedback, in ``answers``, is [how many decisions were made before it, the decision's id, the reward]. Arms
        that are text, numbers, True, False, None or tuples of them come back equal. Of other objects, members of enums
        among them unless they are text, only a description is saved; :meth:`from_dict` then needs the arms again.
        """
        feedback = zip(self._decisions_before, self._observed, strict=True)
        return {
            "format": FORMAT if all(isinstance(arm, str) for arm in self.arms) else NAMED_BY_OBJECTS,
            "version": __version__,
            "arms": save_arms(self.arms),
            "policy": policy_spec(self.policy),
            "seed": self.seed,
            **({"policy_version": self.policy.version} if self.policy.version != 1 else {}),
            **({"reward_range": list(self.reward_range)} if self.reward_range != UNIT_RANGE else {}),
            "decisions": list(self._arm_of),
            "answers": [[before, number, self._reward_of[number]] for before, number in feedback],
        }

    @overload
    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Bandit[Any]: ...

    @overload
    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, arms: Sequence[Name]) -> Bandit[Name]: ...

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, arms: Sequence[Name] | None = None) -> Bandit[Any]:
        """Restore a bandit from :meth:`to_dict`: it replays its history and continues with the same bits. If another
        version of its policy made decisions that this one would not, it continues from them, with a warning.

        Parameters
        ----------
        data
            What :meth:`to_dict` returned.
        arms
            The arms again, in the same order: needed if some are objects for which JSON has no form, such as members of
            an enum.
        """
        given = None if arms is None else check_arms(arms)
        try:
            if data["format"] not in (FORMAT, NAMED_BY_OBJECTS):
                raise StateError(
                    f"the saved bandit has format {data['format']!r}; this version of belated reads formats {FORMAT} "
                    f"and {NAMED_BY_OBJECTS}."
                )
            names, seed = restore_arms(data["arms"], given), check_seed(data["seed"])
            reward_range = data.get("reward_range", UNIT_RANGE)
            bandit = cls.__new__(cls)
            bandit._begin(names, read_policy(data["policy"], saved=True), seed, reward_range)
            version = check_integer("policy_version", data.get("policy_version", 1), 1)
            bandit._replay(data["decisions"], data["answers"], version)
        except StateError:
            raise
        except (ConfigurationError, UnknownName) as error:
            raise StateError(f"the saved bandit's policy cannot be recreated: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, BelatedError) as error:
            raise StateError(
                f"this is not a saved bandit, or it is damaged: {error!r}. Give what to_dict() returned."
            ) from error
        return bandit

    def _replay(self, decisions: Sequence[int], feedback: Sequence[Sequence[Any]], version: int) -> None:
        arms = _integers("decisions", decisions, 0, len(self.arms) - 1)
        ids = _integers("ids", [id for _, id, _ in feedback], 0, arms.size - 1)
        before = _integers("counts of decisions", [count for count, _, _ in feedback], 0, arms.size)
        rewards = np.array([check_reward(id, reward, self.reward_range) for _, id, reward in feedback])
        if np.any(np.diff(before) < 0) or np.any(before <= ids) or np.unique(ids).size != ids.size:
            raise StateError(
                "the feedback is out of order, or belongs to decisions that did not exist or had feedback by then."
            )
        ranks = _ranks(arms)
        events = np.empty((arms.size + ids.size, 4))
        is_feedback = np.zeros(len(events), bool)
        is_feedback[before + np.arange(ids.size)] = True
        events[~is_feedback] = pack_events(DECIDED, arms, np.arange(arms.size), ranks, NO_REWARD)
        events[is_feedback] = pack_events(OBSERVED, arms[ids], ids, ranks[ids], rewards)
        _, other = self._learner.replay(events)
        if other is not None and version != self.policy.version:
            BelatedWarning.issue(
                f"version {version} of {self.policy.label} made the decisions of this bandit; version "
                f"{self.policy.version} would have made others, and continues from these."
            )
        elif other is not None:
            number = int(events[other, 1])
            raise StateError(
                f"decision {number} was {self.arms[int(arms[number])]!r}, and this version of the policy decides "
                "otherwise: the bandit was saved by another version, or is damaged."
            )
        known = np.full(arms.size, np.nan)
        known[ids] = rewards
        self._arm_of, self._rank_of = array("i", arms.tolist()), array("q", ranks.tolist())
        self._reward_of = array("d", known.tolist())
        self._observed, self._decisions_before = array("q", ids.tolist()), array("q", before.tolist())


def _ranks(arms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How often the arm of each decision was pulled before.

    >>> _ranks(np.array([0, 1, 0, 0, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(arms, kind="stable")
    first = np.searchsorted(arms[order], arms[order])
    ranks = np.empty_like(order)
    ranks[order] = np.arange(arms.size) - first
    return ranks


def _integers(name: str, values: Sequence[Any], low: int, high: int) -> npt.NDArray[np.int64]:
    """A list of integers in a range, as an array."""
    for value in values:
        check_integer(f"one of the {name}", value, low, high, error=StateError)
    return np.array(values, np.int64)
