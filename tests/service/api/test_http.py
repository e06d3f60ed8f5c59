"""HTTP to the letter: the same again is the same, and answers are what the document says."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx2
from refusals import COLOURS, for_each, refusal

JSON = {"Content-Type": "application/json"}


# ---- decisions ----


def test_ids_are_texts(http: httpx2.Client) -> None:
    def check(id: str) -> None:
        made = http.post("/v1/experiments/colours/decisions", json={"id": id})
        assert (made.status_code, made.json()["id"]) == (201, id)
        again = http.post("/v1/experiments/colours/decisions", json={"id": id})
        assert (again.status_code, again.json()) == (200, made.json())
        path = f"/v1/decisions/{quote(id, safe='')}"
        assert http.get(path).json()["id"] == id
        assert http.post(f"{path}/feedback", json={"reward": 0.5}).status_code == 201
        batch = http.post("/v1/feedback", json={"feedback": [{"id": id, "reward": 0.5}]})
        assert batch.json() == {"results": [{"id": id, "status": 200}]}
        refusal(http.post(f"{path}/cancel"), 409, "decision-observed")

    for_each(
        [
            "plain",
            "with space",
            "50%",
            "100%25",
            "é",
            "🟢 ok",
            "'; DROP TABLE x; --",
            '"q"',
            "a.b",
            "x" * 128,
            "\\",
            "?#&+",
        ],
        check,
    )


def test_other_ids_are_refused(http: httpx2.Client) -> None:
    def check(id: Any) -> None:
        answer = http.post("/v1/experiments/colours/decisions", json={"id": id})
        if id is None:
            assert answer.status_code == 201
        else:
            refusal(answer, 422, "invalid-body")

    for_each(
        [
            "",
            "x" * 129,
            "a/b",
            "a\nb",
            "ab\n",
            "ab\n\n",
            "\n",
            ".\n",
            "ab\r\n",
            "a\x00b",
            "\x7f",
            ".",
            "..",
            7,
            None,
            True,
        ],
        check,
    )


def test_a_line_break_at_the_end_belongs_to_a_text(http: httpx2.Client) -> None:
    asked = {**COLOURS, "name": "broken-line"}
    refusal(http.post("/v1/experiments", json={**asked, "name": "broken-line\n"}), 422, "invalid-body")
    assert http.get("/v1/experiments/broken-line").status_code == 404
    refusal(http.get("/v1/experiments/colours%0A"), 404, "unknown-experiment")
    assert http.post("/v1/experiments/colours/decisions", json={"id": "ab"}).status_code == 201
    refusal(http.get("/v1/decisions/ab%0A"), 404, "unknown-decision")
    batch = http.post("/v1/feedback", json={"feedback": [{"id": "ab\n", "reward": 1}]}).json()["results"]
    assert [(each["id"], each["status"]) for each in batch] == [("ab\n", 422)]
    late = {"reward": 1, "observed_at": "2026-01-31T12:00:00Z\n"}
    refusal(http.post("/v1/decisions/ab/feedback", json=late), 422, "invalid-time")
    assert http.get("/v1/decisions/ab").json()["status"] == "pending"
    arms = ["red", "red\n"]
    made = http.post("/v1/experiments", json={**asked, "arms": arms})
    assert (made.status_code, [each["arm"] for each in made.json()["arms"]]) == (201, arms)
    assert http.post("/v1/experiments/broken-line/arms", json={"arm": "red\n\n"}).status_code == 201
    found = http.get("/v1/experiments/broken-line").json()
    assert [each["arm"] for each in found["arms"]] == [*arms, "red\n\n"]


def test_an_id_is_used_once(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    assert http.post("/v1/experiments", json={**COLOURS, "name": "other"}).status_code in (200, 201)
    first = {"id": "mine", "unit": "u1", "metadata": {"a": 1, "b": [1.5, None, True]}}
    assert http.post(path, json=first).status_code == 201
    assert http.post(path, json={**first, "metadata": {"b": [1.5, None, True], "a": 1}}).status_code == 200
    for other in ({"unit": "u2"}, {"metadata": {"a": 2}}, {"metadata": None}, {"unit": None}):
        refusal(http.post(path, json={**first, **other}), 409, "id-in-use")
    found = http.get("/v1/decisions/mine").json()
    assert (found["unit"], found["metadata"]) == ("u1", {"a": 1, "b": [1.5, None, True]})


def test_a_thousand_at_once_and_no_more(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    made = http.post(path, json={"count": 1000})
    assert made.status_code == 201
    assert len({each["id"] for each in made.json()["decisions"]}) == 1000
    for count in (0, 1001, -1, 1.5, "3", True):
        refusal(http.post(path, json={"count": count}), 422, "invalid-body")
    assert len(http.post(path, content=b'{"count": 3.0}', headers=JSON).json()["decisions"]) == 3


def test_a_batch_with_an_id_is_made_once(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    id = "y" * 128
    made = http.post(path, json={"id": id, "count": 3, "unit": "u"})
    assert made.status_code == 201
    assert [each["id"] for each in made.json()["decisions"]] == [f"{id}.{number}" for number in range(3)]
    again = http.post(path, json={"id": id, "count": 3, "unit": "u"})
    assert (again.status_code, again.json()) == (200, made.json())
    for other in ({"count": 2}, {"count": 4}, {"unit": "v"}):
        refusal(http.post(path, json={"id": id, "count": 3, "unit": "u", **other}), 409, "id-in-use")
    told = http.post("/v1/feedback", json={"feedback": [{"id": f"{id}.2", "reward": 1}]}).json()
    assert told["results"][0]["status"] == 201


def test_an_id_is_used_in_one_form(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    assert http.post("/v1/experiments", json={**COLOURS, "name": "forms"}).status_code in (200, 201)
    many = http.post(path, json={"id": "several", "count": 2})
    assert many.status_code == 201
    told = refusal(http.post(path, json={"id": "several"}), 409, "id-in-use")
    assert "the id 'several' belongs to another request" in told
    assert http.post(path, json={"id": "several", "count": 2}).json() == many.json()
    one = http.post(path, json={"id": "one of them"})
    assert one.status_code == 201
    for count in (1, 2):
        told = refusal(http.post(path, json={"id": "one of them", "count": count}), 409, "id-in-use")
        assert "the id 'one of them' belongs to another request" in told
    assert http.get("/v1/decisions/one%20of%20them.0").status_code == 404
    again = http.post(path, json={"id": "one of them"})
    assert (again.status_code, again.json()) == (200, one.json())
    forms = "/v1/experiments/forms/decisions"
    assert http.post(forms, json={"id": "several"}).status_code == 201
    http.post("/v1/experiments/forms/stop")
    refusal(http.post(forms, json={"id": "several", "count": 2}), 409, "id-in-use")
    http.post("/v1/experiments/forms/resume")


def test_ids_of_two_experiments_are_told_apart(http: httpx2.Client) -> None:
    names = ("twin-1", "twin-2")
    for seed, name in enumerate(names):
        assert http.post("/v1/experiments", json={**COLOURS, "name": name, "seed": seed}).status_code in (200, 201)
        made = http.post(f"/v1/experiments/{name}/decisions", json={"id": "shared", "unit": name})
        assert (made.status_code, made.json()["experiment"]) == (201, name)
        again = http.post(f"/v1/experiments/{name}/decisions", json={"id": "shared", "unit": name})
        assert (again.status_code, again.json()) == (200, made.json())
    for answer in (
        http.get("/v1/decisions/shared"),
        http.post("/v1/decisions/shared/feedback", json={"reward": 1}),
        http.post("/v1/decisions/shared/cancel"),
    ):
        told = refusal(answer, 409, "ambiguous-id")
        assert "twin-1, twin-2" in told
        assert "?experiment=NAME" in told
    path = "/v1/decisions/shared"
    assert http.post(f"{path}/feedback?experiment=twin-1", json={"reward": 1}).json()["experiment"] == "twin-1"
    found = [http.get(f"{path}?experiment={name}").json() for name in names]
    assert [(each["unit"], each["status"]) for each in found] == [("twin-1", "observed"), ("twin-2", "pending")]
    curves = [http.get(f"/v1/experiments/{name}/delays").json()["curves"] for name in names]
    assert [sum(arm["observed"] for arm in each) for each in curves] == [1, 0]
    ages = {line.split('"')[1]: float(line.split()[-1]) for line in metric(http, "belated_oldest_pending_seconds")}
    assert ages["twin-1"] == 0.0
    assert ages["twin-2"] > 0.0
    assert http.post(f"{path}/cancel?experiment=twin-2").status_code == 201
    assert http.get(f"{path}?experiment=twin-2").json()["status"] == "cancelled"
    assert http.get("/v1/experiments/twin-1").json()["pending"] == 0
    refusal(http.get(f"{path}?experiment=colours"), 404, "unknown-decision")
    refusal(http.get(f"{path}?experiment=nobody"), 404, "unknown-experiment")
    refusal(http.get(f"{path}?experiment=-"), 422, "invalid-query")
    refusal(http.get(f"{path}?experiment=twin-1&experiment=twin-2"), 422, "invalid-query")


def metric(http: httpx2.Client, name: str) -> list[str]:
    return [line for line in http.get("/metrics").text.splitlines() if line.startswith(f"{name}{{")]


def test_items_of_batch_feedback_may_name_their_experiment(http: httpx2.Client) -> None:
    for seed, name in enumerate(("pair-1", "pair-2")):
        assert http.post("/v1/experiments", json={**COLOURS, "name": name, "seed": seed}).status_code in (200, 201)
        assert http.post(f"/v1/experiments/{name}/decisions", json={"id": "both", "count": 3}).status_code == 201
    item = {"id": "both.0", "reward": 1}

    def results(query: str, *items: dict[str, Any]) -> list[int]:
        told = http.post(f"/v1/feedback{query}", json={"feedback": list(items)}).json()["results"]
        return [each["status"] for each in told]

    assert results("", item, {**item, "experiment": "pair-2"}) == [409, 201]
    assert results("?experiment=pair-1", item, {**item, "id": "both.1", "experiment": "pair-2"}) == [201, 201]
    assert results("?experiment=pair-1", {**item, "experiment": "nobody"}, {**item, "experiment": "-"}) == [404, 422]
    for name, seen in {"pair-1": ["observed", "pending"], "pair-2": ["observed", "observed"]}.items():
        found = [http.get(f"/v1/decisions/both.{each}?experiment={name}").json()["status"] for each in (0, 1)]
        assert found == seen


def test_many_at_once_agree_on_one_form(http: httpx2.Client) -> None:
    def ask(place: int) -> tuple[str, int]:
        body = {"id": "at once", "count": 2} if place % 2 else {"id": "at once"}
        answer = http.post("/v1/experiments/colours/decisions", json=body)
        return "several" if place % 2 else "one", answer.status_code

    with ThreadPoolExecutor(16) as pool:
        found = Counter(pool.map(ask, range(40)))
    (won,) = [form for form, status in found if status == 201]
    lost = "one" if won == "several" else "several"
    assert found == {(won, 201): 1, (won, 200): 19, (lost, 409): 20}


def test_ids_that_only_look_like_those_of_a_batch_are_free(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    assert http.post(path, json={"id": "look.0"}).status_code == 201
    assert http.post(path, json={"id": "look"}).status_code == 201
    refusal(http.post(path, json={"id": "look", "count": 1}), 409, "id-in-use")
    assert http.post(path, json={"id": "inner", "count": 3}).status_code == 201
    assert http.post(path, json={"id": "inner.0", "count": 3}).status_code == 201
    refusal(http.post(path, json={"id": "inner.0"}), 409, "id-in-use")
    refusal(http.post(path, json={"id": "inner.1"}), 409, "id-in-use")
    assert http.post(path, json={"id": "inner.3"}).status_code == 201


def test_a_part_of_another_total_is_another_request(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"
    part = {"id": "part", "count": 3, "of": 5}
    made = http.post(path, json=part)
    assert made.status_code == 201
    assert [each["id"] for each in made.json()["decisions"]] == ["part.0", "part.1", "part.2"]
    again = http.post(path, json=part)
    assert (again.status_code, again.json()) == (200, made.json())
    for other in ({"of": 6}, {"of": None}, {"count": 2}):
        refusal(http.post(path, json={**part, **other}), 409, "id-in-use")
    for wrong in (0, -1, 1.5, "5", True):
        refusal(http.post(path, json={**part, "of": wrong}), 422, "invalid-body")


def test_metadata_may_be_deep_but_not_endless(http: httpx2.Client) -> None:
    path = "/v1/experiments/colours/decisions"

    def nested(levels: int) -> dict[str, Any]:
        inner: Any = 1
        for level in range(levels):
            inner = [inner] if level % 2 else {"x": inner}
        return {"inner": inner}

    assert http.post(path, json={"id": "deep", "metadata": nested(64)}).status_code == 201
    assert http.get("/v1/decisions/deep").json()["metadata"] == nested(64)
    refusal(http.post(path, json={"metadata": nested(65)}), 422, "invalid-body")
    body = json.dumps({"metadata": nested(900)})
    assert http.post(path, content=body.encode(), headers=JSON).status_code in (400, 422)
    body = '{"metadata": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}"
    refusal(http.post(path, content=body.encode(), headers=JSON), 400, "malformed-json")
    large = {"n": 2**80, "tiny": 5e-324, "text": "\x00\u2028🟢", "big": 1.7976931348623157e308}
    assert http.post(path, json={"id": "large", "metadata": large}).status_code == 201
    assert http.get("/v1/decisions/large").json()["metadata"] == large


def test_a_stopped_experiment_decides_nothing_and_takes_feedback(http: httpx2.Client) -> None:
    http.post("/v1/experiments", json={**COLOURS, "name": "stopping"})
    path = "/v1/experiments/stopping"
    http.post(f"{path}/decisions", json={"id": "before"})
    assert http.post(f"{path}/stop").json()["status"] == "stopped"
    assert http.post(f"{path}/stop").status_code == 200
    refusal(http.post(f"{path}/decisions"), 409, "experiment-stopped")
    assert http.post(f"{path}/decisions", json={"id": "before"}).status_code == 200
    assert http.post("/v1/decisions/before/feedback", json={"reward": 1}).status_code == 201
    assert http.post(f"{path}/resume").json()["status"] == "running"
    assert http.post(f"{path}/decisions").status_code == 201


def test_a_reward_and_a_cancellation_are_new_once(http: httpx2.Client) -> None:
    http.post("/v1/experiments/colours/decisions", json={"id": "once", "count": 2})
    for path, body in (("once.0/feedback", {"reward": 1}), ("once.1/cancel", None)):
        answers = [http.post(f"/v1/decisions/{path}", json=body) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [201, 200, 200]
        assert answers[0].json() == answers[1].json() == answers[2].json()


def test_a_batch_of_feedback_is_told_apart_in_order(http: httpx2.Client) -> None:
    http.post("/v1/experiments/colours/decisions", json={"id": "batch", "count": 4})
    http.post("/v1/decisions/batch.3/cancel")
    items: list[dict[str, Any]] = [
        {"id": "batch.0", "reward": 1},
        {"id": "nobody", "reward": 1},
        {"id": "batch.0", "reward": 1},
        {"id": "batch.0", "reward": 0},
        {"id": "batch.1", "reward": 0, "observed_at": "2026-01-01T00:00:00+01:00"},
        {"id": "batch.3", "reward": 0},
        {"id": "batch.2", "reward": 0.25},
    ]
    answer = http.post("/v1/feedback", json={"feedback": items})
    results = answer.json()["results"]
    assert [each["id"] for each in results] == [each["id"] for each in items]
    assert [each["status"] for each in results] == [201, 404, 200, 409, 201, 409, 201]
    kinds = [each.get("type", "").rpartition(":")[2] for each in results]
    assert kinds == ["", "unknown-decision", "", "conflicting-feedback", "", "decision-cancelled", ""]
    assert http.get("/v1/decisions/batch.1").json()["observed_at"] == "2025-12-31T23:00:00.000000Z"
    for count in (0, 1001):
        many = [{"id": f"n{number}", "reward": 1} for number in range(count)]
        refusal(http.post("/v1/feedback", json={"feedback": many}), 422, "invalid-body")


def test_times_are_rfc_3339(http: httpx2.Client) -> None:
    def check(given: str, shown: str | None) -> None:
        id = http.post("/v1/experiments/colours/decisions").json()["id"]
        answer = http.post(f"/v1/decisions/{id}/feedback", json={"reward": 1, "observed_at": given})
        if shown is None:
            refusal(answer, 422, "invalid-time")
            assert http.get(f"/v1/decisions/{id}").json()["status"] == "pending"
        else:
            assert (answer.status_code, answer.json()["observed_at"]) == (201, shown)
            assert http.get(f"/v1/decisions/{id}").json()["observed_at"] == shown
        assert http.get("/v1/experiments/colours/delays").status_code == 200
        assert http.get("/v1/experiments/colours/events?limit=100000").status_code == 200

    for_each(
        [
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"),
            ("2026-01-31t12:00:00.123456789z", "2026-01-31T12:00:00.123456Z"),
            ("2026-01-31T12:00:00-23:59", "2026-02-01T11:59:00.000000Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", None),
            ("9999-12-31T23:59:59-00:01", None),
            ("0001-01-01T00:00:00+00:01", None),
            ("2026-02-29T00:00:00Z", None),
            ("2026-01-31T12:00:00", None),
            ("2026-01-31 12:00:00Z", None),
            ("1767182400", None),
            ("٢٠٢٦-01-31T12:00:00Z", None),
        ],
        check,
    )


def test_experiments_are_made_once(http: httpx2.Client) -> None:
    asked = {"name": "once", "arms": ["a", "b"], "policy": {"name": "UCB"}, "silence": {"after": 60, "reward": 0}}
    assert http.post("/v1/experiments", json={**asked, "seed": 0}).status_code == 201
    for same in (
        {},
        {"seed": None},
        {"seed": 0},
        {"seed": 0.0},
        {"policy": {"name": "ucb"}},
        {"policy": {"name": "UCB", "horizon": None}},
    ):
        assert http.post("/v1/experiments", json={**asked, **same}).status_code == 200
    for other in ({"seed": 1}, {"arms": ["b", "a"]}, {"policy": {"name": "OPSE"}}, {"silence": None}):
        refusal(http.post("/v1/experiments", json={**asked, **other}), 409, "experiment-exists")
    for wrong in ({"name": "a/b"}, {"name": ""}, {"name": "x" * 65}, {"name": "-a"}, {"name": "a\n"}, {"seed": -1}):
        assert http.post("/v1/experiments", json={**asked, **wrong}).status_code == 422
    for wrong in ({"arms": []}, {"arms": ["a", "a"]}, {"arms": [""]}, {"arms": ["x" * 257]}, {"arms": "ab"}):
        assert http.post("/v1/experiments", json={**asked, "name": "new", **wrong}).status_code == 422
    for silence in ({"after": 0, "reward": 0}, {"after": 1e12, "reward": 0}, {"after": 1, "reward": 2}, {"after": 1}):
        assert http.post("/v1/experiments", json={**asked, "name": "new", "silence": silence}).status_code == 422


def test_events_are_read_page_by_page(http: httpx2.Client) -> None:
    http.post("/v1/experiments", json={**COLOURS, "name": "paged"})
    path = "/v1/experiments/paged"
    assert http.get(f"{path}/events").content == b""
    http.post(f"{path}/decisions", json={"id": "page", "count": 7})
    http.post("/v1/decisions/page.0/feedback", json={"reward": 0.5, "observed_at": "2026-01-01T00:00:00Z"})
    http.post("/v1/decisions/page.1/cancel")
    http.post(f"{path}/arms", json={"arm": "blue"})
    whole = http.get(f"{path}/events")
    assert whole.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in whole.text.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, 11))
    assert [line["kind"] for line in lines] == ["decided"] * 7 + ["observed", "cancelled", "arm-added"]
    assert lines[7]["reward"] == 0.5
    assert lines[7]["observed_at"] == "2026-01-01T00:00:00.000000Z"
    assert lines[9]["name"] == "blue"
    cursor, found = "0", []
    while page := http.get(f"{path}/events", params={"cursor": cursor, "limit": 3}).text.splitlines():
        answer = http.get(f"{path}/events", params={"cursor": cursor, "limit": 3})
        found += [json.loads(line) for line in page]
        cursor = answer.headers["belated-cursor"]
    assert found == lines
    assert http.get(f"{path}/events", params={"cursor": cursor}).headers["belated-cursor"] == cursor


def test_arms_are_added_where_the_policy_allows_it(http: httpx2.Client) -> None:
    http.post("/v1/experiments", json={**COLOURS, "name": "growing"})
    http.post("/v1/experiments", json={**COLOURS, "name": "closed", "policy": {"name": "OPSE"}})
    path = "/v1/experiments/growing/arms"
    assert http.post(path, json={"arm": "blue"}).status_code == 201
    assert http.post(path, json={"arm": "blue"}).status_code == 200
    refusal(http.post(path, json={"arm": "red"}), 409, "arm-exists")
    refusal(http.post(path, json={"arm": ""}), 422, "invalid-body")
    refusal(http.post("/v1/experiments/closed/arms", json={"arm": "blue"}), 409, "policy-is-closed")
    assert [arm["arm"] for arm in http.get("/v1/experiments/growing").json()["arms"]] == ["red", "green", "blue"]


def test_head_is_get_without_a_body(http: httpx2.Client) -> None:
    answer = http.head("/v1/experiments/colours")
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_page_from_elsewhere_cannot_use_it(http: httpx2.Client) -> None:
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "", "10.0.0.1", "[2001:db8::1]:8000"):
        refusal(http.get("/v1/experiments", headers={"Host": host}), 421, "other-host")
        refusal(http.get("/openapi.json", headers={"Host": host}), 421, "other-host")
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "127.0.0.2", "[::1]", "[::1]:8000"):
        assert http.get("/v1/experiments", headers={"Host": host}).status_code == 200
    for origin in ("http://evil.example", "null", "http://localhost.evil.example:8000"):
        answer = http.post("/v1/experiments/colours/stop", headers={"Origin": origin})
        refusal(answer, 403, "other-origin")
    for origin in ("http://localhost:8000", "http://127.0.0.1", "http://[::1]:8000"):
        assert http.post("/v1/experiments/colours/resume", headers={"Origin": origin}).status_code == 200
