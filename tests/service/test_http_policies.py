"""Every policy over HTTP: which serve, and which are refused."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

JSON = {"Content-Type": "application/json"}


def test_every_policy_serves(http: httpx2.Client) -> None:
    import belated.policies
    from belated.forms.base import POLICIES

    assert set(belated.policies.__all__) == set(POLICIES)
    for key in belated.policies.__all__:
        more = {"alpha": 1.0} if key == "PatientBandits" else {}
        for name in dict.fromkeys((key, POLICIES[key].label, key.lower())):
            asked = {"name": f"policy-{name}", "arms": ["a", "b", "c"], "policy": {"name": name, **more}}
            made = http.post("/v1/experiments", json=asked)
            assert made.status_code == 201, made.text
            assert made.json()["policy"]["name"] == POLICIES[key].label
            decided = http.post(f"/v1/experiments/policy-{name}/decisions", json={"count": 20}).json()["decisions"]
            for place, each in enumerate(decided[:15]):
                reward = {"reward": place % 3 / 2}
                assert http.post(f"/v1/decisions/{each['id']}/feedback", json=reward).status_code == 201
            assert http.post(f"/v1/decisions/{decided[19]['id']}/cancel").status_code == 201
            found = http.get(f"/v1/experiments/policy-{name}").json()
            assert (found["decisions"], found["pulls"], found["observed"], found["pending"]) == (20, 19, 15, 4)
            for arm in found["arms"]:
                assert 0.0 <= arm["lower"] <= arm["upper"] <= 1.0


@pytest.mark.parametrize(
    "policy",
    [
        {"name": "own_policies:PullsUCB"},
        {"name": "os:system"},
        {"name": "PullsUCB"},
        {"name": "Policy"},
        {"name": ""},
        {"name": 7},
        {},
        {"name": "UCB", "alpha": 1},
        {"name": "UCB", "confidence": 0},
        {"name": "UCB", "confidence": "1"},
        {"name": "UCB", "confidence": 1e308},
        {"name": "UCB", "horizon": 2**31},
        {"name": "UCB", "horizon": 1.5},
        {"name": "PatientBandits"},
    ],
    ids=str,
)
def test_other_policies_are_refused(http: httpx2.Client, policy: dict[str, Any]) -> None:
    answer = http.post("/v1/experiments", json={"name": "refused", "arms": ["a"], "policy": policy})
    assert answer.status_code == 422
    assert answer.json()["type"].rpartition(":")[2] in ("unknown-policy", "unknown-parameter", "invalid-policy")


@pytest.mark.parametrize(
    "policy",
    [
        {"name": "UCB", "confidence": 8e307},
        {"name": "OPSE", "confidence": 5e-324},
        {"name": "Thompson", "successes": 1e-100, "failures": 8e307},
        {"name": "Thompson", "successes": 8e307, "failures": 8e307},
        {"name": "Thompson", "successes": 1e-100, "failures": 1e-100},
        {"name": "PatientBandits", "alpha": 8e307, "constant": 8e307, "delta": 5e-324},
        {"name": "PatientBandits", "alpha": 5e-324, "constant": 5e-324, "horizon": 2**31 - 2},
    ],
    ids=str,
)
def test_extreme_parameters_give_numbers(http: httpx2.Client, policy: dict[str, Any]) -> None:
    name = f"extreme-{abs(hash(str(policy)))}"
    asked = {"name": name, "arms": ["a", "b"], "policy": policy, "silence": {"after": 1000, "reward": 0.1}}
    assert http.post("/v1/experiments", json=asked).status_code == 201
    made = http.post(f"/v1/experiments/{name}/decisions", json={"count": 10}).json()["decisions"]
    for each in made[:5]:
        http.post(f"/v1/decisions/{each['id']}/feedback", json={"reward": 0.1})
    for arm in http.get(f"/v1/experiments/{name}").json()["arms"]:
        assert 0.0 <= arm["lower"] <= arm["upper"] <= 1.0
