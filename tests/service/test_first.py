"""The life of a decision, over HTTP, on both databases."""

from __future__ import annotations

from serving import Server


def test_a_decision_lives(served: Server) -> None:
    with served.client() as http:
        asked = {"name": "colours", "arms": ["red", "green"], "policy": {"name": "OPSE"}}
        assert http.post("/v1/experiments", json=asked).status_code == 201
        assert http.post("/v1/experiments", json=asked).status_code == 200
        made = http.post("/v1/experiments/colours/decisions", json={"id": "one"})
        assert (made.status_code, made.json()["arm"]) == (201, "red")
        assert http.post("/v1/decisions/one/feedback", json={"reward": 1}).status_code == 201
        assert http.post("/v1/decisions/one/feedback", json={"reward": 1}).status_code == 200
        assert http.post("/v1/decisions/one/feedback", json={"reward": 0}).status_code == 409
        found = http.get("/v1/experiments/colours").json()
        assert (found["pulls"], found["observed"], found["pending"]) == (1, 1, 0)
