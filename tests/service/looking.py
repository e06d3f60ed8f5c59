"""What tests of the dashboard share: pages, and something to look at on them."""

from __future__ import annotations

from typing import Any

import httpx2

PAGES = ["/", "/experiments/checkout", "/experiments/newsletter", "/experiments/front-page"]

LETTERS = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const card = chart.closest('.card').getBoundingClientRect();
  return [...chart.querySelectorAll('text, .label div')].filter(one => one.getClientRects().length).map(one => {
    const box = one.getBoundingClientRect();
    return {chart: chart.getAttribute('class'), text: one.textContent, axis: one.matches('.tick, .value'),
            size: parseFloat(getComputedStyle(one).fontSize) * chart.getScreenCTM().a,
            left: box.left - card.left, right: card.right - box.right, box: box.toJSON()};
  });
})
"""


def made(http: httpx2.Client, name: str, arms: list[str], policy: str | dict[str, Any] = "UCB", **more: Any) -> None:
    """An experiment."""
    spec = {"name": policy} if isinstance(policy, str) else policy
    asked = {"name": name, "arms": arms, "policy": spec, **more}
    assert http.post("/v1/experiments", json=asked).status_code == 201


def decided(http: httpx2.Client, name: str, id: str) -> str:
    """The arm of a new decision."""
    answer = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
    assert answer.status_code == 201
    arm: str = answer.json()["arm"]
    return arm


def told(http: httpx2.Client, id: str, reward: float) -> int:
    return int(http.post(f"/v1/decisions/{id}/feedback", json={"reward": reward}).status_code)


LATE = {"high late": {1.0: 30, 0.0: 0}, "low late": {1.0: 0, 0.0: 30}, "fair": {1.0: 3, 0.0: 3}, "silent": {}}
"""Arms, and after how many batches of decisions their rewards are reported; not at all if it is not said."""


def made_with_late_rewards(http: httpx2.Client, name: str, batches: int = 60, arms: dict[str, Any] = LATE) -> None:
    """An experiment with Imputed-UCB whose arms succeed in every second pull, in batches of 20 decisions."""
    made(http, name, list(arms), policy={"name": "Imputed-UCB", "confidence": "anytime"})
    pulls = dict.fromkeys(arms, 0)
    coming: dict[int, list[dict[str, Any]]] = {}
    for batch in range(batches):
        answer = http.post(f"/v1/experiments/{name}/decisions", json={"count": 20})
        for decision in answer.json()["decisions"]:
            arm = decision["arm"]
            pulls[arm] += 1
            reward = float(pulls[arm] % 2)
            if reward in arms[arm]:
                coming.setdefault(batch + arms[arm][reward], []).append({"id": decision["id"], "reward": reward})
        if batch in coming:
            assert http.post("/v1/feedback", json={"feedback": coming.pop(batch)}).status_code == 200
