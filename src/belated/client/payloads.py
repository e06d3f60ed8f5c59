"""Policies and bandits as the server takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from belated.client.responses import Data
from belated.errors import InvalidParameter
from belated.live.bandit import Bandit
from belated.policies._base.policy import Policy
from belated.specs import policy_spec

MOVED_AT_A_TIME = 10_000
"""Decisions and answers of one request that moves a bandit."""


def policy_body(policy: Any) -> Data:
    """A policy."""
    if isinstance(policy, Policy):
        return _named(policy_spec(policy))
    if not isinstance(policy, Mapping):
        raise InvalidParameter(f"policy is {policy!r}; give a policy, such as UCB(), or {{'name': 'UCB'}}.")
    return dict(policy)


def _named(spec: Data) -> Data:
    return {"name": spec["policy"], **{key: value for key, value in spec.items() if key != "policy"}}


def bandit_parts(bandit: Bandit | Mapping[str, Any]) -> Iterator[Data]:
    """What happened to a bandit in its order, cut into parts that a request can hold."""
    saved = (bandit if isinstance(bandit, Bandit) else Bandit.from_dict(bandit)).to_dict()
    about = {"arms": saved["arms"], "seed": saved["seed"], "policy": _named(saved["policy"])}
    for part in _parts(saved["decisions"], saved["answers"]):
        yield {**about, **part}


def _parts(decisions: list[int], answers: list[list[Any]]) -> Iterator[Data]:
    first = told_of = 0
    while True:
        start, after = first, first + told_of
        mine: list[list[Any]] = []
        while first + told_of < after + MOVED_AT_A_TIME:
            if told_of < len(answers) and answers[told_of][0] <= first:
                mine.append(answers[told_of])
                told_of += 1
            elif first < len(decisions):
                first += 1
            else:
                break
        more = first + told_of < len(decisions) + len(answers)
        yield {"after": after, "first": start, "decisions": decisions[start:first], "answers": mine, "more": more}
        if not more:
            return
