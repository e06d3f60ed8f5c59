"""Every policy over HTTP: which serve, and which are refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from refusals import for_each
from serving import PATIENCE

from belated.live.learner import Learner
from belated.policies import POLICIES, PendingUCB, PrefixPolicy, default_policy
from belated.policies._base.defaults import DEFAULT_POLICY
from belated.policies._base.names import superseded_note
from belated.service.core.spec import make_policy
from belated.validation import fields_of


def test_every_policy_serves(http: httpx2.Client) -> None:
    import belated.policies

    assert set(POLICIES) < set(belated.policies.__all__)
    for key, policy in POLICIES.items():
        more = {parameter.name: 1.0 for parameter in fields_of(policy) if parameter.required}
        for name in dict.fromkeys((key, policy.label, key.lower())):
            asked = {
                "name": f"policy-{name}".replace(" ", "-"),
                "arms": ["a", "b", "c"],
                "policy": {"name": name, **more},
            }
            made = http.post("/v1/experiments", json=asked)
            assert made.status_code == 201, made.text
            assert made.json()["policy"]["name"] == policy.label
            if name != key:
                continue
            decided = http.post(f"/v1/experiments/policy-{name}/decisions", json={"count": 20}).json()["decisions"]
            rewards = [{"id": each["id"], "reward": place % 3 / 2} for place, each in enumerate(decided[:15])]
            results = http.post("/v1/feedback", json={"feedback": rewards}).json()["results"]
            assert [each["status"] for each in results] == [201] * 15
            assert http.post(f"/v1/decisions/{decided[19]['id']}/cancel").status_code == 201
            found = http.get(f"/v1/experiments/policy-{name}").json()
            assert (found["decisions"], found["pulls"], found["observed"], found["pending"]) == (20, 19, 15, 4)
            for arm in found["arms"]:
                assert 0.0 <= arm["lower"] <= arm["upper"] <= 1.0
                first = {arm["lower_from"], arm["upper_from"]}
                assert first <= set(range(1, arm["pulls"] + 1)) if issubclass(policy, PrefixPolicy) else first == {None}


USUAL = {"name": "Imputed-UCB", "confidence": "anytime", "delta": 0.05}
USUAL_WITH_SILENCE = {"name": "Prefix-UCB", "confidence": 1.0, "delta": 0.05, "spread": True}


def without_defaults(policy: dict[str, Any]) -> dict[str, Any]:
    """The policy without the parameters that may be left out."""
    return {key: value for key, value in policy.items() if (key, value) not in {("delta", 0.05), ("confidence", 1.0)}}


def test_a_policy_may_be_left_out(http: httpx2.Client) -> None:
    """It is written down as if it had been given; what silence means decides which one it is."""

    def check(usual: dict[str, Any], silence: dict[str, Any] | None, others: list[dict[str, Any]]) -> None:
        name = "usual" if silence is None else f"usual-{silence['reward']}"
        asked = {"name": name, "arms": ["a", "b"], "silence": silence}
        made = http.post("/v1/experiments", json=asked)
        assert (made.status_code, made.json()["policy"]) == (201, usual)
        for same in ({}, {"policy": None}, {"policy": usual}, {"policy": without_defaults(usual)}):
            again = http.post("/v1/experiments", json=asked | same)
            assert (again.status_code, again.json()) == (200, made.json())
        for other in others:
            assert http.post("/v1/experiments", json={**asked, "policy": other}).status_code == 409
        assert http.get(f"/v1/experiments/{name}").json()["policy"] == usual

    for_each(
        [
            (USUAL, None, [USUAL_WITH_SILENCE, {"name": "Imputed-UCB"}]),
            (USUAL_WITH_SILENCE, {"after": 60, "reward": 0}, [{"name": "Pending-UCB"}, {"name": "PrefixUCB"}]),
            (USUAL_WITH_SILENCE, {"after": 60, "reward": 1}, [{"name": "Pending-UCB"}]),
        ],
        check,
    )


def test_a_new_experiment_with_a_superseded_policy_is_in_the_log(http: httpx2.Client) -> None:
    def create(name: str, policy: str) -> list[Any]:
        asked = {"name": name, "arms": ["a", "b"], "policy": {"name": policy}, "seed": 1}
        with structlog.testing.capture_logs() as log:
            assert http.post("/v1/experiments", json=asked).status_code in (200, 201)
        return [
            (each["log_level"], each["experiment"], each["detail"]) for each in log if each["event"] == "superseded"
        ]

    told = [("warning", "old", superseded_note(PendingUCB))]
    assert create("old", "Pending-UCB") == told
    assert create("old", "Pending-UCB") == []  # it exists already
    assert create("new", "Imputed-UCB") == []
    listed = {
        each["title"]: each for each in http.get("/openapi.json").json()["components"]["schemas"]["Policy"]["anyOf"]
    }
    assert superseded_note(PendingUCB) in listed["PendingUCB"]["description"]
    assert [name for name, each in listed.items() if each.get("deprecated")] == ["PendingUCB"]


def test_the_words_for_the_usual_policy_are_true(http: httpx2.Client) -> None:
    """The document, the reference page and the program say what left out means, and the same."""
    without, with_silence = DEFAULT_POLICY.split("With silence")
    for words, policy in ((without, default_policy()), (with_silence, default_policy(silence=True))):
        assert words.removeprefix(" it is ").startswith(type(policy).label)
        assert ("Prefix-UCB with spread, as" in words) == getattr(policy, "spread", False)
    request = http.get("/openapi.json").json()["components"]["schemas"]["ExperimentRequest"]
    assert f"Default: {DEFAULT_POLICY}" in request["properties"]["policy"]["description"]
    page = (Path(__file__).parents[3] / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
    for usual in (USUAL, USUAL_WITH_SILENCE):
        assert f"`{json.dumps(without_defaults(usual))}`" in page


def test_a_bandit_that_moves_says_which_policy_it_has(http: httpx2.Client) -> None:
    moved = {"arms": ["a"], "decisions": [], "answers": []}
    assert http.post("/v1/experiments/moved/history", json=moved).status_code == 422


def test_the_document_has_every_parameter_of_every_policy(http: httpx2.Client) -> None:
    schemas = http.get("/openapi.json").json()["components"]["schemas"]
    listed = {each["title"]: each["properties"] for each in schemas["Policy"]["anyOf"]}
    assert set(listed) == set(POLICIES)
    for key, properties in listed.items():
        assert set(properties) == {"name", *(parameter.name for parameter in fields_of(POLICIES[key]))}
    assert listed["PrefixUCB"]["spread"]["type"] == "boolean"
    for name in ("ImputedUCB", "SafeImputedUCB", "PendingUCB"):
        assert "decisions of the experiment" in listed[name]["patience"]["description"]
    assert listed["UCB"]["confidence"]["anyOf"][1:] == [{"enum": ["theory"]}, {"type": "null"}]
    assert all(
        each["description"] for properties in listed.values() for key, each in properties.items() if key != "name"
    )
    assert "policy" not in schemas["ExperimentRequest"]["required"]
    assert "policy" in schemas["HistoryRequest"]["required"]
    assert {"lower_from", "upper_from"} <= set(schemas["ArmAnswer"]["properties"])


def test_policies_with_memory_take_silence_for_an_answer(http: httpx2.Client) -> None:
    """Silence becomes an answer, the true one comes late, what was imputed is cancelled; the counts say so, and the
    bounds are those of a learner that was told the same."""
    for policy in ({"name": "Prefix-UCB"}, {"name": "Prefix-SE"}, {"name": "Pending-UCB", "patience": 5}):
        name = f"silent-{policy['name']}"
        asked = {"name": name, "arms": ["a", "b"], "policy": policy, "silence": {"after": 0.05, "reward": 0.25}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        made = http.post(f"/v1/experiments/{name}/decisions", json={"count": 12}).json()["decisions"]
        end = time.monotonic() + PATIENCE
        while (found := http.get(f"/v1/experiments/{name}").json())["imputed"] < 12:
            assert time.monotonic() < end, found
            time.sleep(0.05)
        learner = Learner(2, make_policy(policy), 0)
        pulls = [(*learner.decide(), number) for number in range(12)]
        for arm, rank, number in pulls:
            learner.observe(arm, 0.25, rank, number)
        for place in range(6):
            late = http.post(f"/v1/decisions/{made[place]['id']}/feedback", json={"reward": 1})
            assert (late.status_code, late.json()["late"]) == (201, True)
            learner.replace_reward(*pulls[place], 0.25, 1.0)
        for place in range(6, 9):
            assert http.post(f"/v1/decisions/{made[place]['id']}/cancel").status_code == 201
            learner.retract(*pulls[place], 0.25)
        found = http.get(f"/v1/experiments/{name}").json()
        assert (found["pulls"], found["observed"], found["imputed"], found["late"]) == (9, 9, 3, 6)
        for number, arm in enumerate(found["arms"]):
            assert (arm["lower"], arm["upper"], arm["lower_from"], arm["upper_from"]) == learner.bounds(number)
        again = http.post(f"/v1/experiments/{name}/decisions", json={"count": 10}).json()["decisions"]
        assert [each["arm"] for each in again] == ["ab"[learner.decide()[0]] for _ in range(10)]


def test_other_policies_are_refused(http: httpx2.Client) -> None:
    def check(policy: dict[str, Any]) -> None:
        answer = http.post("/v1/experiments", json={"name": "refused", "arms": ["a"], "policy": policy})
        assert answer.status_code == 422
        assert answer.json()["type"].rpartition(":")[2] in ("unknown-policy", "unknown-parameter", "invalid-policy")

    for_each(
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
            {"name": "PrefixUCB", "spread": 1},
            {"name": "PrefixUCB", "spread": None},
            {"name": "PrefixUCB", "patience": 3},
            {"name": "PrefixSE"},
            {"name": "PendingUCB", "patience": 0},
            {"name": "PendingUCB", "patience": True},
        ],
        check,
    )


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("Imputed-UCB anytime", 'It is Imputed-UCB with confidence = "anytime".'),
        ("prefix-ucb spread", "It is Prefix-UCB with spread = true."),
    ],
)
def test_labels_of_variants_are_explained(http: httpx2.Client, label: str, meant: str) -> None:
    answer = http.post("/v1/experiments", json={"name": "variant", "arms": ["a"], "policy": {"name": label}})
    assert answer.status_code == 422
    said = f"policy.name is {label!r}, which is not a policy. {meant} Give one of Imputed-UCB, "
    assert answer.json()["detail"].startswith(said)


def test_none_is_null_in_a_refusal(http: httpx2.Client) -> None:
    policy = {"name": "Imputed-UCB", "patience": 1e308}
    answer = http.post("/v1/experiments", json={"name": "refused", "arms": ["a"], "policy": policy})
    assert answer.json()["detail"] == "ImputedUCB: patience is 1e+308; give a number > 0 and below 8.9e307, or null."


def test_extreme_parameters_give_numbers(http: httpx2.Client) -> None:
    def check(policy: dict[str, Any]) -> None:
        name = f"extreme-{abs(hash(str(policy)))}"
        asked = {"name": name, "arms": ["a", "b"], "policy": policy, "silence": {"after": 1000, "reward": 0.1}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        made = http.post(f"/v1/experiments/{name}/decisions", json={"count": 10}).json()["decisions"]
        for each in made[:5]:
            http.post(f"/v1/decisions/{each['id']}/feedback", json={"reward": 0.1})
        for each in made[5:7]:
            assert http.post(f"/v1/decisions/{each['id']}/cancel").status_code == 201
        assert http.post(f"/v1/experiments/{name}/decisions", json={"count": 10}).status_code == 201
        for arm in http.get(f"/v1/experiments/{name}").json()["arms"]:
            assert 0.0 <= arm["lower"] <= 1.0
            assert 0.0 <= arm["upper"] <= 1.0
            assert arm["lower"] <= arm["upper"] or arm["lower_from"] is not None  # those of prefixes may cross

    for_each(
        [
            {"name": "UCB", "confidence": 8e307},
            {"name": "OPSE", "confidence": 5e-324},
            {"name": "Thompson", "successes": 1e-100, "failures": 8e307},
            {"name": "Thompson", "successes": 8e307, "failures": 8e307},
            {"name": "Thompson", "successes": 1e-100, "failures": 1e-100},
            {"name": "PatientBandits", "alpha": 8e307, "constant": 8e307, "delta": 5e-324},
            {"name": "PatientBandits", "alpha": 5e-324, "constant": 5e-324, "horizon": 2**31 - 2},
            {"name": "Prefix-UCB", "confidence": 8e307},
            {"name": "Prefix-UCB", "confidence": 5e-324, "spread": True},
            {"name": "Prefix-SE", "confidence": 1e-18},
            {"name": "Pending-UCB", "confidence": 5e-324, "patience": 8e307},
            {"name": "Pending-UCB", "confidence": 8e307, "patience": 5e-324},
        ],
        check,
    )
