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


def made(http: httpx2.Client, name: str, arms: list[str], policy: str = "UCB", **more: Any) -> None:
    """An experiment."""
    asked = {"name": name, "arms": arms, "policy": {"name": policy}, **more}
    assert http.post("/v1/experiments", json=asked).status_code == 201


def decided(http: httpx2.Client, name: str, id: str) -> str:
    """The arm of a new decision."""
    answer = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
    assert answer.status_code == 201
    arm: str = answer.json()["arm"]
    return arm


def told(http: httpx2.Client, id: str, reward: float) -> int:
    return int(http.post(f"/v1/decisions/{id}/feedback", json={"reward": reward}).status_code)
